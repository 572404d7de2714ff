"""Texts that are changed: all of a JSON value, and what would command a terminal."""

import re
from collections.abc import Callable
from typing import Any

# C0 but for tab and line feed, DEL, C1, line and paragraph separators, what changes the direction
# of text, and what has no width: soft hyphen, joiners, fillers, tags. The joiners of emoji and of
# scripts such as Persian stand between two letters that are not ASCII, and stay.
UNSAFE = re.compile(
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180e\u200b\u200e\u200f"
    r"\u2028-\u202e\u2060-\u206f\u3164\ufeff\uffa0\ufff0-\ufffb\U000e0000-\U000e007f]"
    r"|(?:(?<=[\x00-\x7f])|^)[\u200c\u200d]|[\u200c\u200d](?=[\x00-\x7f]|$)"
    r"|(?<=[A-Za-z])[\ufe00-\ufe0f]"
)


def visible(text: str) -> str:
    r"""Return a text in which such characters stand as `\x1b`, `\u202e`."""
    return UNSAFE.sub(lambda found: ascii(found[0])[1:-1], text)


def visible_json(text: str) -> str:
    r"""Return JSON that means the same, in which such characters stand as `\u202e`."""
    return UNSAFE.sub(lambda found: _json_escape(found[0]), text)


def _json_escape(character: str) -> str:
    units = character.encode("utf-16-be")
    return "".join(f"\\u{units[at : at + 2].hex()}" for at in range(0, len(units), 2))


def without_surrogates(text: str) -> str:
    """Return a text that has UTF-8: halves of surrogate pairs stand as `?`."""
    return text.encode(errors="replace").decode()


def map_texts(value: Any, change: Callable[[str], str]) -> Any:
    """Return a JSON value with each of its texts changed, keys too."""
    match value:
        case str():
            return change(value)
        case dict():
            return {change(key): map_texts(part, change) for key, part in value.items()}
        case list():
            return [map_texts(part, change) for part in value]
        case _:
            return value
