"""Bodies of requests: JSON that is bounded before it is made into objects, and then checked."""

import re
from math import isfinite
from typing import Any, TypeVar

from pydantic import ValidationError
from pydantic_core import ErrorDetails, from_json
from starlette.requests import ClientDisconnect, Request

from crew.config.keys.crew_file import CrewSettings
from crew.journal.query import ID, NO_ID
from crew.journal.records.listing import NO_TIME, TIME
from server.http.bodies import Body
from server.http.errors import HttpProblem, bad_request, client_left
from server.http.parameters import parse_parameters

B = TypeVar("B", bound=Body)
JSON_KIND = re.compile(r"application/([a-z0-9.-]+\+)?json")
# what a pattern asks for, in words
PATTERNS = {f"^{TIME}$": NO_TIME, ID: NO_ID}
# parameters beside a body
NONE: frozenset[str] = frozenset()
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


async def parse_body(
    request: Request,
    settings: CrewSettings,
    kind: type[B],
    parameters: frozenset[str] = NONE,
    *,
    max_bytes: int | None = None,
) -> B:
    """Parse a body of this kind; raises HttpProblem with every problem.

    Args:
        request: has the body.
        settings: bound it.
        kind: of the body.
        parameters: that the query string may have beside it.
        max_bytes: in place of `max_request_body_size_kb`.
    """
    return check_body(kind, await read_json(request, settings, parameters, max_bytes))


async def read_json(
    request: Request,
    settings: CrewSettings,
    parameters: frozenset[str] = NONE,
    max_bytes: int | None = None,
) -> Any:
    """Read the JSON object in a body of at most `max_request_body_size_kb`, unless given."""
    parse_parameters(request, parameters)
    kind = request.headers.get("content-type", "application/json").partition(";")[0]
    # such as application/a2a+json; a form of another page can send none of them
    if JSON_KIND.fullmatch(kind.strip().lower()) is None:
        raise HttpProblem(415, f"Content-Type: send application/json, not {kind}")
    data = _parsed(await read_bytes(request, max_bytes or _most(settings)))
    if not isinstance(data, dict):
        raise bad_request([("body", "must be a JSON object")])
    return data


async def read_bounded(request: Request, settings: CrewSettings) -> bytes:
    """Read a body of JSON that others parse, within the same bounds; raises HttpProblem."""
    content = await read_bytes(request, _most(settings))
    _parsed(content)
    return content


def _most(settings: CrewSettings) -> int:
    return int(settings.max_request_body_size_kb * 1000)


def _parsed(content: bytes) -> Any:
    try:
        return parse_json(content)
    except ValueError as error:
        raise bad_request([("body", str(error))]) from None


async def read_bytes(request: Request, limit: int) -> bytes:
    """Read a body of at most so many bytes; raises HttpProblem."""
    content = bytearray()
    try:
        async for piece in request.stream():
            content += piece
            if len(content) > limit:
                raise HttpProblem(413, f"body: has more than {limit:,} bytes")
    except ClientDisconnect:
        raise client_left() from None
    return bytes(content)


async def require_no_body(
    request: Request,
    settings: CrewSettings,
    what: str,
    parameters: frozenset[str] = NONE,
) -> None:
    """Refuse other parameters, and a body with anything in it; `what` takes none."""
    parse_parameters(request, parameters)
    if request.headers.get("content-length", "0") == "0":
        return
    if await read_json(request, settings, parameters):
        raise bad_request([("body", f"{what} takes none")])


def check_body(kind: type[B], data: Any) -> B:
    """Return data as a body of this kind; raises HttpProblem with every problem."""
    try:
        return kind.model_validate(data)
    except ValidationError as error:
        details = error.errors(include_url=False)
        problems = [(_field(one["loc"]), _message(one)) for one in details]
    raise bad_request(problems)


def _field(loc: tuple[int | str, ...]) -> str:
    parts = [f"[{part}]" if isinstance(part, int) else f".{part}" for part in loc]
    return "".join(parts).lstrip(".")


def _message(detail: ErrorDetails) -> str:
    message = detail["msg"]
    lowered = message[:1].lower() + message[1:]
    match detail["type"]:
        case "missing" | "string_too_short":
            return "is missing"
        case "extra_forbidden":
            return "is unknown"
        case "value_error":
            return message.removeprefix("Value error, ")
        case "string_pattern_mismatch":
            return PATTERNS.get(detail["ctx"]["pattern"], lowered)
        case _:
            return lowered
