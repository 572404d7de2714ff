"""Texts that are changed: all of a JSON value, and what would command a terminal."""

import re
from collections.abc import Callable
from typing import Any

# C0 but for tab and line feed, DEL, C1, line and paragraph separators, and what changes the
# direction of text
UNSAFE = re.compile(
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]"
)


def visible(text: str) -> str:
    r"""A text in which such characters stand as `\x1b`, `\u202e`."""
    return UNSAFE.sub(lambda found: repr(found[0])[1:-1], text)


def visible_json(text: str) -> str:
    r"""JSON that means the same, in which such characters stand as `\u202e`."""
    return UNSAFE.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def without_surrogates(text: str) -> str:
    """A text that has UTF-8: halves of surrogate pairs stand as `?`."""
    return text.encode(errors="replace").decode()


def map_texts(value: Any, change: Callable[[str], str]) -> Any:
    """A JSON value with each of its texts changed, keys too."""
    match value:
        case str():
            return change(value)
        case dict():
            return {change(key): map_texts(part, change) for key, part in value.items()}
        case list():
            return [map_texts(part, change) for part in value]
        case _:
            return value
