"""Lists of runs: all of them, and those that wait for a person."""

import asyncio
import re
from collections.abc import Mapping
from datetime import date
from typing import Any, get_args

from starlette.requests import Request
from starlette.responses import Response

from crew.journal.events import RunStatus
from crew.journal.query import SourceKind
from crew.journal.records.listing import RunFilter
from crew.journal.records.rows import RunRow
from server.http.bodies import TIME
from server.http.callers.rights import ID, caller_of, own_run
from server.http.errors import bad_request
from server.http.parameters import parse_parameters
from server.http.responses import JsonResponse, describe_listed_run, describe_waiting_run
from server.http.services import services_of

MAX_LISTED = 500
# each with what it asks, which may be large
MAX_INBOX = 100
TIME_PARAMETERS = ("since", "until")
MAX_TEXT = 200


async def list_runs(request: Request) -> Response:
    """Answer GET /api/crew/runs: runs, newest first.

    Takes `status`, `agent_id`, `source`, `text` (a part of the query), `since` and `until` (of the
    start: a time, UTC, or its beginning), `limit` (50) and `after` (a run_id; `next` of the page
    before).
    """
    given = parse_parameters(request)
    page, following = await _page(request, given, _filter(request, given), MAX_LISTED)
    return JsonResponse({"runs": [describe_listed_run(row) for row in page], "next": following})


async def list_inbox(request: Request) -> Response:
    """Answer GET /api/crew/inbox: runs that wait for a person, oldest first, with what they ask.

    Takes `limit` (50; 100 at most) and `after` (a run_id; the `next` of the page before).
    """
    given = parse_parameters(request)
    wanted = _filter(request, {"status": "paused"})
    page, following = await _page(request, given, wanted, MAX_INBOX, oldest_first=True)
    runs = services_of(request).runs
    pauses = await asyncio.gather(*(runs.pause_of(row) for row in page))
    found = [describe_waiting_run(row, pause) for row, pause in zip(page, pauses, strict=True)]
    return JsonResponse({"runs": found, "next": following})


async def _page(
    request: Request,
    given: Mapping[str, str],
    wanted: RunFilter,
    most: int,
    *,
    oldest_first: bool = False,
) -> tuple[list[RunRow], str | None]:
    """Return a page of the caller's runs, and where the next one begins."""
    limit, after = given.get("limit", "50"), given.get("after")
    if not re.fullmatch(r"[0-9]{1,3}", limit) or not 1 <= int(limit) <= most:
        raise bad_request([("limit", f"is a number from 1 to {most}")])
    if after is not None:
        await own_run(request, after)
    store = services_of(request).runs.store
    rows = await store.rows(wanted, int(limit) + 1, after, oldest_first=oldest_first)
    page = rows[: int(limit)]
    return page, page[-1].run_id if len(rows) > len(page) else None


def _filter(request: Request, given: Mapping[str, str]) -> RunFilter:
    """Return which runs are wanted, of the ones that the caller may see."""
    status: RunStatus | None = _one_of(given, "status", get_args(RunStatus))
    source: SourceKind | None = _one_of(given, "source", get_args(SourceKind))
    text = given.get("text")
    if text is not None and (len(text) > MAX_TEXT or "\0" in text):
        raise bad_request([("text", f"has at most {MAX_TEXT} characters, and no NUL")])
    agent_id = given.get("agent_id")
    # it may be one that the crew has no more
    if agent_id is not None and ID.fullmatch(agent_id) is None:
        raise bad_request([("agent_id", "is no id of an agent")])
    caller = caller_of(request)
    owner = None if "admin" in caller.scopes else caller.owner
    since, until = (_time(given, field) for field in TIME_PARAMETERS)
    return RunFilter(status, owner, agent_id, text, since, until, source)


def _one_of(given: Mapping[str, str], field: str, known: tuple[Any, ...]) -> Any:
    """Return the value of a field that has few; None where it is not given."""
    value = given.get(field)
    if value is not None and value not in known:
        raise bad_request([(field, f"is one of {', '.join(known)}")])
    return value


def _time(given: Mapping[str, str], field: str) -> str | None:
    text = given.get(field)
    if text is None:
        return None
    if re.fullmatch(TIME, text) is None or not _is_day(text[:10]):
        raise bad_request([(field, "is a time like 2026-01-31T09:30:00Z, or 2026-01-31")])
    # as text it comes before all times within that second, day, month or year
    return text.removesuffix("Z")


def _is_day(text: str) -> bool:
    """Return whether a calendar has it; a year or a month alone is one, too."""
    try:
        date.fromisoformat(f"{text}-01-01"[:10] if len(text) < len("2026-01-31") else text)
    except ValueError:
        return False
    return True
