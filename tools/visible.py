"""Text for a terminal or a log: what would command it, or hide what is written, is made visible."""

import re
from typing import Any

# C0 but for tab and line feed, DEL, C1, line and paragraph separators, and what changes the
# direction of text
UNSAFE = re.compile(
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]"
)


def visible(text: str) -> str:
    r"""A text in which such characters stand as `\x1b`, `\u202e`."""
    return UNSAFE.sub(lambda found: repr(found[0])[1:-1], text)


def visible_in(value: Any) -> Any:
    """The same in all texts of a JSON value."""
    match value:
        case str():
            return visible(value)
        case dict():
            return {visible(key): visible_in(part) for key, part in value.items()}
        case list():
            return [visible_in(part) for part in value]
        case _:
            return value
