"""Lists of tasks, newest first."""

import re
from datetime import datetime
from typing import Any

from starlette.requests import Request

from crew.journal.records.listing import RunFilter
from crew.journal.records.rows import RunRow
from crew.journal.store import RunStore
from crew.journal.wire import RunEvent
from crew.runs.errors import UnknownRun
from server.http.callers.rights import caller_of, own_run, require
from server.http.services import services_of
from server.protocols.a2a.fold import STATES
from server.protocols.a2a.parts import name_in
from server.protocols.a2a.problems import INVALID_PARAMS, A2aError
from server.protocols.a2a.stored import context_of, folded
from tools.clock import rfc3339

MAX_PAGE, PAGE = 100, 50
# so many are counted; of more it is said that there are so many
MAX_COUNTED = 1000
MAX_HISTORY = 1000
KNOWN_STATES = (
    *STATES.values(),
    "TASK_STATE_SUBMITTED",
    "TASK_STATE_REJECTED",
    "TASK_STATE_AUTH_REQUIRED",
)
TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,9})?(Z|[+-]\d\d:\d\d)")


async def list_tasks(request: Request, params: dict[str, Any]) -> dict[str, Any]:
    """Return a page of the caller's tasks; raises A2aError for wrong values."""
    require(request, "read")
    size = read_number(params, "pageSize", PAGE, 1, MAX_PAGE)
    history = read_number(params, "historyLength", 0, 0, MAX_HISTORY)
    state, token = name_in(params, "status"), name_in(params, "pageToken")
    if state == "TASK_STATE_UNSPECIFIED":
        state = None
    if state is not None and state not in KNOWN_STATES:
        raise A2aError(INVALID_PARAMS, f"status: is one of {', '.join(KNOWN_STATES)}")
    store = services_of(request).runs.store
    if token is not None:
        try:
            await own_run(request, token)
        except UnknownRun:
            raise A2aError(INVALID_PARAMS, "pageToken: is none of this server's") from None
    since = name_in(params, "statusTimestampAfter")
    if since is not None and TIME.fullmatch(since) is None:
        raise A2aError(INVALID_PARAMS, "statusTimestampAfter: is a time like 2026-01-31T09:30:00Z")
    with_artifacts = params.get("includeArtifacts")
    with_artifacts = False if with_artifacts is None else with_artifacts
    if not isinstance(with_artifacts, bool):
        raise A2aError(INVALID_PARAMS, "includeArtifacts: is true or false")
    status = next((one for one, known in STATES.items() if known == state), None)
    rows: list[RunRow] = []
    total = 0
    if state is None or status is not None:
        wanted = _filter(request, status, name_in(params, "contextId"))
        moment = _moment(since) if since else None
        counted = await store.rows(wanted, MAX_COUNTED)
        total = len([row for row in counted if await _is_since(store, row, moment)])
        after = token
        while len(rows) <= size:
            found = await store.rows(wanted, MAX_PAGE, after)
            rows += [row for row in found if await _is_since(store, row, moment)]
            if len(found) < MAX_PAGE:
                break
            after = found[-1].run_id
        own = await _own_context(request, params, status)
        if own is not None and await _is_since(store, own, moment):
            # the others have come after it
            rows += [own] if len(rows) <= size and token != own.run_id else []
            total += 1
    page = rows[:size]
    folds = [await folded(request, row) for row in page]
    return {
        "tasks": [fold.task(history, artifacts=with_artifacts) for fold in folds],
        "nextPageToken": page[-1].run_id if len(rows) > size else "",
        "pageSize": size,
        "totalSize": total,
    }


def _moment(text: str) -> datetime:
    """Return a time; raises A2aError for one that there is not."""
    try:
        return datetime.fromisoformat(text)
    except ValueError as error:
        raise A2aError(INVALID_PARAMS, f"statusTimestampAfter: {error}") from None


async def _is_since(store: RunStore, row: RunRow, moment: datetime | None) -> bool:
    """Return whether a task's state is of a moment or later; one at work changes all the time."""
    if moment is None:
        return True
    at = rfc3339(store.now()) if row.ended_at is None else row.ended_at
    if row.pause_seq is not None:
        # the event that ends its segment, by which GetTask says when it paused
        paused = await store.records(row.run_id, row.last_seq - 1, 1)
        at = RunEvent.of_record(paused[0]).timestamp if paused else row.started_at
    return datetime.fromisoformat(at) >= moment


async def _own_context(request: Request, params: dict[str, Any], status: Any) -> RunRow | None:
    """Return the task that is a context of its own, as one is that has begun without any."""
    context = name_in(params, "contextId")
    if context is None:
        return None
    try:
        row = await own_run(request, context)
    except UnknownRun:
        return None
    return row if context_of(row) == context and status in (None, row.status) else None


def _filter(request: Request, status: Any, context: str | None) -> RunFilter:
    services, caller = services_of(request), caller_of(request)
    owner = None if caller.sees("") else caller.owner
    if services.runs.crew.config.conversations is not None:
        return RunFilter(status, owner, conversation_id=context)
    return RunFilter(status, owner, source_name=context)


def read_number(params: dict[str, Any], name: str, default: int, least: int, most: int) -> int:
    """Return a number that may be given; raises A2aError."""
    value = params.get(name)
    if value is None:
        return default
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        raise A2aError(INVALID_PARAMS, f"{name}: is a number from {least} to {most}")
    return value
