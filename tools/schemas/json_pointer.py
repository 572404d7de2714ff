"""Parts of JSON values by pointers (RFC 6901)."""

from typing import Any

POINTER = r"(/([^~]|~[01])*)?"


def value_at(document: Any, pointer: str) -> Any:
    """Return the part of a JSON value that a pointer names; raises KeyError where there is none."""
    value = document
    for token in pointer.split("/")[1:]:
        key = token.replace("~1", "/").replace("~0", "~")
        match value:
            case dict() if key in value:
                value = value[key]
            case list() if _is_place(key) and int(key) < len(value):
                value = value[int(key)]
            case _:
                raise KeyError(pointer)
    return value


def _is_place(key: str) -> bool:
    """Return whether it is digits of ASCII without leading zeros, no longer than a list can be."""
    return key.isascii() and key.isdecimal() and len(key) < 10 and key == str(int(key))
