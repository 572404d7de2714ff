"""How an argument is written in each place of a request; pure.

In a path and a query as RFC 6570 says (level 1), but for what some servers read as another path.
"""

import re
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

from tools.errors import ArgumentsError
from tools.schemas.places import (
    CONTROL_IN_LINES,
    ESCAPED,
    PLACE,
    Arguments,
    Template,
    as_text,
    texts_in,
)

# what some servers decode twice, and read as a dot or a separator
DECODED_TWICE = re.compile(r"%(2e|2f|5c)", re.IGNORECASE)
PRINTABLE_ASCII = re.compile(r"[ -~]*")
UNRESERVED = ""
# in place of a value whose argument is absent
ABSENT = object()


def in_path(name: str, value: Any) -> str:
    """Return as a part of a path's segment; raises ArgumentsError."""
    text = as_text(name, value)
    if "\\" in text or DECODED_TWICE.search(text):
        raise ArgumentsError(f"{name}: a backslash, %2e, %2f or %5c cannot stand in a path")
    if any(part in ("", ".", "..") for part in text.split("/")):
        raise ArgumentsError(f"{name}: an empty, '.' or '..' segment cannot stand in a path")
    return quote(text, safe=UNRESERVED)


def require_segments(path: str) -> None:
    """Check a filled path with segments that may have been put together; raises ArgumentsError."""
    if any(part in (".", "..") for part in path.split("/")):
        raise ArgumentsError("the arguments make a '.' or '..' segment of the path")


def in_query(name: str, value: Any) -> str:
    """Return as a part of a query's or a form's value; raises ArgumentsError."""
    return quote(as_text(name, value), safe=UNRESERVED)


def in_header(name: str, value: Any) -> str:
    """Return as a part of a header's value; raises ArgumentsError."""
    text = as_text(name, value)
    if PRINTABLE_ASCII.fullmatch(text) is None:
        raise ArgumentsError(f"{name}: only printable ASCII can stand in a header")
    return text


def _in_body(name: str, value: Any) -> str:
    return as_text(name, value, CONTROL_IN_LINES)


def pairs(mapping: dict[str, Any], arguments: Arguments) -> Iterator[tuple[str, str]]:
    """Yield the pairs of a query or a form, encoded; a pair with an absent argument is left out.

    Raises:
        ArgumentsError: an argument cannot stand there.
    """
    for key, value in mapping.items():
        for text in _encoded(value, arguments):
            yield quote(key, safe=UNRESERVED), text


def _encoded(value: Any, arguments: Arguments) -> list[str]:
    """Return the values of one key.

    Several where a list is written or given, none where one is absent.
    """
    if isinstance(value, list):
        return [text for one in value for text in _encoded(one, arguments)]
    if not isinstance(value, str):
        return [in_query("query", value)]
    if not Template(value).is_filled(arguments):
        return []
    if whole := PLACE.fullmatch(value):
        given = arguments[whole[1]]
        return [in_query(whole[1], one) for one in (given if isinstance(given, list) else [given])]
    parts, end = [], 0
    for found in PLACE.finditer(value):
        parts.append(_literal(value[end : found.start()]))
        parts.append(in_query(found[1], arguments[found[1]]))
        end = found.end()
    return ["".join([*parts, _literal(value[end:])])]


def _literal(text: str) -> str:
    """Return what the operator wrote between places."""
    return quote(ESCAPED.sub(r"\1", text), safe=UNRESERVED)


def in_json(value: Any, arguments: Arguments) -> Any:
    """Return a JSON value with its places filled; ABSENT where an argument is absent.

    Raises:
        ArgumentsError: an argument cannot stand there.
    """
    match value:
        case str():
            return _in_json_text(value, arguments)
        case dict():
            filled = {key: in_json(inner, arguments) for key, inner in value.items()}
            return {key: inner for key, inner in filled.items() if inner is not ABSENT}
        case list():
            items = [in_json(inner, arguments) for inner in value]
            return [inner for inner in items if inner is not ABSENT]
        case _:
            return value


def _in_json_text(text: str, arguments: Arguments) -> Any:
    template = Template(text)
    if not template.is_filled(arguments):
        return ABSENT
    whole = PLACE.fullmatch(text)
    if whole is None:
        return template.fill(arguments, _in_body)
    value = arguments[whole[1]]
    for part in texts_in(value):
        as_text(whole[1], part, CONTROL_IN_LINES)
    return value
