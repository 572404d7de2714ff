"""Query strings: each parameter at most once, and none that is unknown."""

import re
from collections.abc import Mapping
from urllib.parse import parse_qsl

from starlette.requests import Request

from server.http.errors import bad_request

MAX_PARAMETERS = 100
EVENT_ID = re.compile(r"(?:([A-Za-z0-9_-]{1,128}):)?([0-9]{1,15})")
TICKET = "ticket"
# EventSource cannot send the header Idempotency-Key
IDEMPOTENCY_KEY = "idempotency_key"


def parse_parameters(request: Request, known: frozenset[str] | None = None) -> dict[str, str]:
    """Parse the query string's parameters, each at most once; `ticket` is always allowed.

    Args:
        request: the request.
        known: their names; the names of its operation unless given.

    Raises:
        HttpProblem: one is unknown, given twice, or not UTF-8.
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
    known = request.state.parameters if known is None else known
    given: dict[str, str] = {}
    problems: list[tuple[str, str]] = []
    names = ", ".join(sorted(known - {TICKET})) or "none"
    for key, value in pairs:
        if key not in known and key != TICKET:
            problems.append((key, f"is unknown; known: {names}"))
        elif key in given:
            problems.append((key, "is given twice"))
        given[key] = value
    if problems:
        raise bad_request(problems)
    return given


FLAGS = {"0": False, "1": True, "false": False, "true": True}


def parse_flag(given: Mapping[str, str], name: str) -> bool:
    """Parse a parameter, true or false, 1 or 0; false unless given; raises HttpProblem."""
    text = given.get(name, "0")
    if text not in FLAGS:
        raise bad_request([(name, "is true or false, 1 or 0")])
    return FLAGS[text]


def parse_event_id(text: str, run_id: str | None, field: str) -> tuple[str, int]:
    """Return (run_id, n) of `run:n`, or of `n` where the run is known; raises HttpProblem."""
    found = EVENT_ID.fullmatch(text)
    if found is None or (found[1] is None and run_id is None):
        wrong = f"{text[:80]!r} is no event id; it looks like <run_id>:<number>"
        raise bad_request([(field, wrong)])
    if run_id is not None and found[1] not in (None, run_id):
        raise bad_request([(field, f"{text[:80]!r} is of another run")])
    named = found[1] or run_id
    assert named is not None, "one of the two is there"
    return named, int(found[2])
