"""The output of a tool as a component shows it to people."""

import json
from typing import Any

from tools.schemas.json_pointer import value_at
from tools.text.texts import map_texts, without_surrogates

# of an output, as JSON
MAX_SHOWN_BYTES = 65_536


# lists and objects within each other: events can be read again by all that read JSON
MAX_SHOWN_LEVELS = 32


class UnshownError(Exception):
    """An output cannot be shown."""


def read_shown(output: str, pointer: str | None) -> tuple[Any, str]:
    """Return an output as JSON, and what of it models get: the part that a pointer names.

    Raises:
        UnshownError: it is no JSON, too large, or has no such part.
    """
    if len(output.encode()) > MAX_SHOWN_BYTES:
        raise UnshownError(f"the output has more than {MAX_SHOWN_BYTES:,} bytes")
    try:
        data = json.loads(output, parse_constant=_refuse_constant)
    except (ValueError, RecursionError):
        raise UnshownError("the output is no JSON") from None
    if _depth(data) > MAX_SHOWN_LEVELS:
        raise UnshownError(f"the output is nested more than {MAX_SHOWN_LEVELS} levels deep")
    data = map_texts(data, without_surrogates)
    if pointer is None:
        return data, output
    try:
        part = value_at(data, pointer)
    except KeyError:
        raise UnshownError(f"the output has nothing at {pointer}") from None
    return data, part if isinstance(part, str) else json.dumps(part, ensure_ascii=False)


def _refuse_constant(text: str) -> Any:
    raise ValueError(f"{text} is no JSON")


def _depth(data: Any) -> int:
    depth, level = 0, [data]
    while level and depth <= MAX_SHOWN_LEVELS:
        inner = [one for one in level if isinstance(one, dict | list)]
        depth += bool(inner)
        level = [
            value for one in inner for value in (one.values() if isinstance(one, dict) else one)
        ]
    return depth
