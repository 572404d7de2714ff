"""The cassette of a rehearsal, below what the rehearsal itself says."""

from pathlib import Path
from posixpath import dirname, join, normpath
from typing import Any

from crew.rehearsal.cassettes.lines import MAX_CASSETTE_BYTES, WrongCassette, read_cassette
from crew.rehearsal.cassettes.said import said_in
from crew.rehearsal.files.nodes import Node, merged


class NoCassette(Exception):
    """A rehearsal cannot be read from a cassette; the text says why."""


def over_cassette(folder: Path, node: Node) -> Node:
    """Return a rehearsal over the cassette that it names; itself, where it names none.

    Raises:
        NoCassette: there is no such file, or it is no cassette.
    """
    given = node.value.get("cassette")
    if given is None or not isinstance(given.value, str):
        return node
    name = normpath(join(dirname(given.place.file), given.value))
    if name.startswith(("..", "/")):
        raise NoCassette("name a file of the crew's folder")
    path = folder / name
    try:
        if not path.resolve().is_relative_to(folder.resolve()):
            raise NoCassette(f"{name} leads out of the crew's folder")
        if not path.is_file():
            raise NoCassette(f"there is no file {name}")
        with path.open("rb") as file:
            packed = file.read(MAX_CASSETTE_BYTES + 1)
    except OSError as error:
        raise NoCassette(f"{name} cannot be read: {error.strerror}") from None
    except (RuntimeError, ValueError):
        raise NoCassette(f"{given.value!r} is the name of no file") from None
    if len(packed) > MAX_CASSETTE_BYTES:
        raise NoCassette(f"{name} is longer than {MAX_CASSETTE_BYTES:,} bytes")
    try:
        cassette = read_cassette(packed.decode())
    except UnicodeDecodeError:
        raise NoCassette(f"{name} is no text in UTF-8") from None
    except WrongCassette as error:
        raise NoCassette(f"{name}:{error.line}: {error}; crew record writes it anew") from None
    return merged(_at(said_in(cassette, exact=True), given), node)


def _at(value: Any, given: Node) -> Node:
    """Return a value of a cassette: it is where the cassette is named, and need not be used."""
    match value:
        case dict():
            value = {key: _at(one, given) for key, one in value.items()}
        case list():
            value = [_at(one, given) for one in value]
    return Node(value, given.place, given.key_place, is_default=True)
