"""Query strings: each parameter at most once, with a value of its kind; none is unknown."""

import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import parse_qsl

from starlette.requests import Request

from server.http.errors import bad_request
from server.http.openapi.parameters import Parameter

MAX_PARAMETERS = 100
EVENT_ID = re.compile(r"(?:([A-Za-z0-9_-]{1,128}):)?([0-9]{1,15})")
TICKET = "ticket"
# EventSource cannot send the header Idempotency-Key
IDEMPOTENCY_KEY = "idempotency_key"


def parse_parameters(request: Request, names: frozenset[str] | None = None) -> dict[str, Any]:
    """Parse the query string's parameters, each at most once; `ticket` is always allowed.

    Args:
        request: the request; its operation says which it takes, and what their values are.
        names: of those that it takes here; all of its operation unless given.

    Returns:
        The values, with the defaults of those that are not given.

    Raises:
        HttpProblem: one is unknown, given twice, wrong, or not UTF-8.
    """
    query_string = request.scope["query_string"].decode("latin-1")
    try:
        pairs = parse_qsl(
            query_string, keep_blank_values=True, errors="strict", max_num_fields=MAX_PARAMETERS
        )
    except UnicodeDecodeError:
        raise bad_request([("query string", "is not valid UTF-8")]) from None
    except ValueError as error:
        raise bad_request([("query string", str(error))]) from None
    known: Mapping[str, Parameter] = request.state.parameters
    if names is not None:
        known = {name: one for name, one in known.items() if name in names}
    given: dict[str, Any] = {}
    problems: list[tuple[str, str]] = []
    listed = ", ".join(sorted(known.keys() - {TICKET})) or "none"
    for key, value in pairs:
        if key not in known and key != TICKET:
            problems.append((key, f"is unknown; known: {listed}"))
        elif key in given:
            problems.append((key, "is given twice"))
        given[key] = value
        if key in known:
            try:
                given[key] = known[key].read(value)
            except ValueError as error:
                problems.append((key, str(error)))
    problems += [
        (name, "is missing") for name, one in known.items() if one.required and name not in given
    ]
    if problems:
        raise bad_request(problems)
    defaults = {key: one.schema["default"] for key, one in known.items() if "default" in one.schema}
    return {**defaults, **given}


def parse_event_id(text: str, run_id: str | None, field: str) -> tuple[str, int]:
    """Return (run_id, n) of `run:n`, or of `n` where the run is known; raises HttpProblem."""
    # white space around a header's value is no part of it (RFC 9110, 5.5)
    found = EVENT_ID.fullmatch(text.strip())
    if found is None or (found[1] is None and run_id is None):
        wrong = f"{text[:80]!r} is no event id; it looks like <run_id>:<number>"
        raise bad_request([(field, wrong)])
    if run_id is not None and found[1] not in (None, run_id):
        raise bad_request([(field, f"{text[:80]!r} is of another run")])
    named = found[1] or run_id
    assert named is not None, "one of the two is there"
    return named, int(found[2])
