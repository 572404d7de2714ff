"""Whether values are as they must be; pure."""

import re
from collections.abc import Mapping, Sequence
from difflib import SequenceMatcher
from typing import Any

from pydantic_core import from_json

from crew.rehearsal.keys.texts import TextCheck

# of a text in a message
MAX_SHOWN = 200


def is_like(wanted: Any, given: Any) -> bool:
    """Return whether a value is as it must be.

    Args:
        wanted: a value; a mapping is a part of it. {matches: a regular expression}, {min, max} and
            {any: true} stand for values.
        given: JSON.
    """
    if isinstance(wanted, Mapping) and wanted:
        keys = set(wanted)
        if keys == {"any"} and wanted["any"] is True:
            return given is not None
        if keys == {"matches"} and isinstance(wanted["matches"], str):
            return isinstance(given, str) and re.search(wanted["matches"], given) is not None
        if keys <= {"min", "max"} and not isinstance(given, Mapping):
            return _is_between(wanted, given)
    if isinstance(wanted, Mapping):
        return isinstance(given, Mapping) and all(
            key in given and is_like(inner, given[key]) for key, inner in wanted.items()
        )
    if isinstance(wanted, list):
        return (
            isinstance(given, list | tuple)
            and len(wanted) == len(given)
            and all(is_like(one, other) for one, other in zip(wanted, given, strict=True))
        )
    if isinstance(wanted, bool) or isinstance(given, bool):
        return wanted is given
    return bool(wanted == given)


def _is_between(wanted: Mapping[str, Any], given: Any) -> bool:
    if isinstance(given, bool) or not isinstance(given, int | float):
        return False
    return bool(wanted.get("min", given) <= given <= wanted.get("max", given))


def wrong_in(check: TextCheck, text: str) -> str | None:
    """Return what is wrong with a text; None where it is as it must be."""
    if check.is_ is not None and text != check.is_:
        return f"is {shown(text)}, not {shown(check.is_)}"
    for one in check.contains:
        if one not in text:
            return f"lacks {shown(one)}: {shown(text)}"
    for one in check.lacks:
        if one in text:
            return f"has {shown(one)}: {shown(text)}"
    if check.matches is not None and re.search(check.matches, text) is None:
        return f"does not match {check.matches!r}: {shown(text)}"
    if check.min_chars is not None and len(text) < check.min_chars:
        return f"has {len(text)} characters, fewer than {check.min_chars}"
    if check.max_chars is not None and len(text) > check.max_chars:
        return f"has {len(text)} characters, more than {check.max_chars}"
    if check.similar is not None:
        found = SequenceMatcher(None, check.similar.text, text, autojunk=False).ratio()
        if found < check.similar.at_least:
            wanted = check.similar.at_least
            return f"is alike by {found:.2f}, less than {wanted:g}: {shown(text)}"
    return _wrong_json(check.json_, text) if check.json_ is not None else None


def _wrong_json(wanted: Any, text: str) -> str | None:
    try:
        given = from_json(text)
    except ValueError:
        return f"is no JSON: {shown(text)}"
    return None if is_like(wanted, given) else f"is JSON, but not so: {shown(text)}"


def shown(text: str) -> str:
    """Return a text as messages show it, in quotation marks and not too long."""
    words = " ".join(text.split())
    cut = words if len(words) <= MAX_SHOWN else f"{words[: MAX_SHOWN - 1]}…"
    return f'"{cut}"'


def occur_in_order(wanted: Sequence[Any], given: Sequence[Any]) -> int:
    """Return how many of some values occur among others in their order."""
    place = 0
    for one in given:
        if place < len(wanted) and is_like(wanted[place], one):
            place += 1
    return place
