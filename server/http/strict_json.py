"""JSON of clients: bounded before it is made into objects, and without keys that stand twice."""

import re
from math import isfinite
from typing import Any

from pydantic_core import from_json

# keys and items of a whole document, and how deep it is nested
MAX_PARTS = 20_000
MAX_DEPTH = 32
# also one without an end: to look for it again from each quotation mark would take quadratic time
STRING = re.compile(rb'"(?:[^"\\]++|\\.?+)*+"?+', re.DOTALL)
BRACKET = re.compile(rb"[\[\]{}]")


def parse_json(content: bytes) -> Any:
    """Parse what a document says.

    Raises:
        ValueError: it is not JSON, too large in keys, items or depth, or has a key twice; the text
            says which.
    """
    # in one pass each, so that a hostile document costs no more than a plain one
    bare = STRING.sub(b"", content)
    if bare.count(b",") + bare.count(b"[") + bare.count(b"{") > MAX_PARTS:
        raise ValueError(f"has more than {MAX_PARTS:,} keys and items")
    depth = 0
    for bracket in BRACKET.findall(bare):
        depth += 1 if bracket in b"[{" else -1
        if depth > MAX_DEPTH:
            raise ValueError(f"is nested more than {MAX_DEPTH} deep")
    try:
        data = from_json(content, allow_inf_nan=False)
    except ValueError as error:
        raise ValueError(f"is not JSON: {error}") from None
    if not _is_finite(data):
        raise ValueError("has a number that is too large")
    # outside of strings a colon stands behind each key, and nowhere else
    if bare.count(b":") != _count_keys(data):
        raise ValueError("has a key twice in one object")
    return data


def _is_finite(value: Any) -> bool:
    """Return whether no number is read as infinite, as 1e999 is."""
    if isinstance(value, dict):
        return all(map(_is_finite, value.values()))
    if isinstance(value, list):
        return all(map(_is_finite, value))
    return not isinstance(value, float) or isfinite(value)


def _count_keys(value: Any) -> int:
    if isinstance(value, dict):
        return len(value) + sum(_count_keys(part) for part in value.values())
    return sum(_count_keys(part) for part in value) if isinstance(value, list) else 0
