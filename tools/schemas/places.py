"""`{argument}` in the texts of an entry of tools.yaml, replaced once; pure."""

import json
import re
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from tools.errors import ArgumentsError, ToolDefinitionError
from tools.text.suggest import nearest

PLACE = re.compile(r"(?<!\\\{)\{([A-Za-z_][A-Za-z0-9_-]*)\}")
# what stands for the text {{name}} itself, of an API with templates of its own
ESCAPED = re.compile(r"\\(\{\{[^{}]*\}\})")
PLACE_OR_ESCAPED = re.compile(f"{PLACE.pattern}|{ESCAPED.pattern}")
# C0, DEL and C1, and halves of surrogate pairs, which have no UTF-8
CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff]")
# the same without what a text of several lines has
CONTROL_IN_LINES = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff]")
# what no program can be given
NUL_OR_SURROGATE = re.compile(r"[\x00\ud800-\udfff]")
Arguments = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Template:
    """A text with `{argument}` in it."""

    text: str

    def is_filled(self, arguments: Collection[str]) -> bool:
        """Return whether all its arguments are given."""
        return all(name in arguments for name in PLACE.findall(self.text))

    def fill(
        self,
        arguments: Arguments,
        encode: Callable[[str, Any], str],
        encode_text: Callable[[str], str] = str,
    ) -> str:
        r"""Fill in the arguments.

        Args:
            arguments: by name.
            encode: writes one (name, value).
            encode_text: writes `{{name}}`, which stands there as `\{{name}}`.
        """

        def part(found: re.Match[str]) -> str:
            if found[1] is None:
                return encode_text(found[2])
            return encode(found[1], arguments[found[1]])

        return PLACE_OR_ESCAPED.sub(part, self.text)


def as_text(name: str, value: Any, refused: re.Pattern[str] = CONTROL) -> str:
    """Return a scalar as text.

    Args:
        name: the argument's.
        value: a JSON value.
        refused: characters that cannot stand there.

    Raises:
        ArgumentsError: it is no scalar, or has such a character.
    """
    if isinstance(value, (dict, list)):
        raise ArgumentsError(f"{name}: a list or an object cannot stand within a text")
    text = value if isinstance(value, str) else json.dumps(value)
    if found := refused.search(text):
        raise ArgumentsError(f"{name}: has the character U+{ord(found[0]):04X}")
    return text


def texts_in(value: Any) -> Iterator[str]:
    """Yield all texts of a JSON value, keys too."""
    match value:
        case str():
            yield value
        case dict():
            for key, inner in value.items():
                yield key
                yield from texts_in(inner)
        case list():
            for inner in value:
                yield from texts_in(inner)


def names_in(*values: Any) -> list[str]:
    """Return the arguments in the texts of JSON values, each once, in their order.

    Raises:
        ToolDefinitionError: one stands in a key, where none is replaced.
    """
    found = [name for value in values for name in _names(value)]
    return list(dict.fromkeys(found))


def _names(value: Any) -> Iterator[str]:
    match value:
        case str():
            yield from PLACE.findall(value)
        case dict():
            for key, inner in value.items():
                if PLACE.search(key):
                    text = f"an argument cannot stand in the key {key!r}"
                    raise ToolDefinitionError(text, "kind", "bad-value")
                yield from _names(inner)
        case list():
            for inner in value:
                yield from _names(inner)


def own_parameters(names: list[str]) -> dict[str, Any]:
    """Return the schema of an entry without one: each argument is a text that must be given."""
    properties = {name: {"type": "string"} for name in names}
    return {"type": "object", "properties": properties, "required": names}


def require_scalars(places: list[str], parameters: dict[str, Any], where: str) -> None:
    """Refuse arguments that are always lists or objects where only a text can stand.

    Args:
        places: the arguments that stand there.
        parameters: the schema of the arguments.
        where: in words.

    Raises:
        ToolDefinitionError: one can never be sent.
    """
    for name in places:
        kind = parameters["properties"].get(name, {}).get("type")
        if kind in ("array", "object"):
            text = f"{name} is {'a list' if kind == 'array' else 'an object'}, which can never"
            raise ToolDefinitionError(f"{text} stand in {where}", "parameters", "bad-value")


def require_places(places: list[str], required: list[str], parameters: dict[str, Any]) -> None:
    """Check that each argument has a place, and each place an argument.

    Args:
        places: the arguments in an entry's texts.
        required: those among them that must be given.
        parameters: the schema of the arguments.

    Raises:
        ToolDefinitionError: one has none.
    """
    known = parameters["properties"]
    for name in places:
        if name not in known:
            near = nearest(name, known)
            hint = f"; did you mean {near!r}?" if near else ""
            text = f"{{{name}}} has a place here, and parameters does not describe it"
            raise ToolDefinitionError(text + hint, "parameters", "bad-value")
    for name in required:
        if name not in parameters.get("required", ()):
            text = f"{name} cannot be left out where it stands, so parameters must require it"
            raise ToolDefinitionError(text, "parameters", "bad-value")
    for name in known:
        if name not in places:
            text = f"{name} has no place; write {{{name}}} where it belongs"
            raise ToolDefinitionError(text, "parameters", "bad-value")
