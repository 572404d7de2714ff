"""Tasks of rows, newest first."""

import re
from datetime import datetime
from typing import Any

from starlette.requests import Request

from crew.journal.query import ID
from crew.journal.records.listing import RunFilter
from crew.journal.records.rows import RunRow
from crew.runs.errors import UnknownRun
from server.http.callers.rights import caller_of, own_run, require
from server.http.services import services_of
from server.protocols.a2a.fold import STATES
from server.protocols.a2a.parts import USER, name_in, write_message
from server.protocols.a2a.problems import INVALID_PARAMS, A2aError

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
TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,6})?Z")


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
    if token is not None and re.fullmatch(ID, token) is None:
        raise A2aError(INVALID_PARAMS, "pageToken: is none of this server's")
    since = name_in(params, "statusTimestampAfter")
    if since is not None and TIME.fullmatch(since) is None:
        raise A2aError(INVALID_PARAMS, "statusTimestampAfter: is a time like 2026-01-31T09:30:00Z")
    with_artifacts = params.get("includeArtifacts", False)
    if not isinstance(with_artifacts, bool):
        raise A2aError(INVALID_PARAMS, "includeArtifacts: is true or false")
    status = next((one for one, known in STATES.items() if known == state), None)
    rows: list[RunRow] = []
    total = 0
    if state is None or status is not None:
        wanted = _filter(request, status, name_in(params, "contextId"))
        store, moment = services_of(request).runs.store, _moment(since) if since else None
        total = sum(_is_since(row, moment) for row in await store.rows(wanted, MAX_COUNTED))
        after = token
        while len(rows) <= size:
            found = await store.rows(wanted, MAX_PAGE, after)
            rows += [row for row in found if _is_since(row, moment)]
            if len(found) < MAX_PAGE:
                break
            after = found[-1].run_id
    if not rows and token is None and (own := await _own_context(request, params, status)):
        rows, total = [own], 1
    page = rows[:size]
    return {
        "tasks": [task_of(row, history, artifacts=with_artifacts) for row in page],
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


def _is_since(row: RunRow, moment: datetime | None) -> bool:
    return moment is None or datetime.fromisoformat(row.ended_at or row.started_at) > moment


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


def context_of(row: RunRow) -> str:
    """Return the context of a task: the conversation, or what the client calls it."""
    return row.conversation_id or row.source_name or row.run_id


def task_of(row: RunRow, history: int, *, artifacts: bool) -> dict[str, Any]:
    """Return a task as lists have it."""
    context = context_of(row)
    status = {"state": STATES[row.status], "timestamp": row.ended_at or row.started_at}
    task: dict[str, Any] = {"id": row.run_id, "contextId": context, "status": status}
    if artifacts and row.status == "completed" and row.answer:
        parts = [{"text": row.answer}]
        task["artifacts"] = [{"artifactId": "answer", "name": "answer", "parts": parts}]
    if history:
        id_ = row.request_id or f"{row.run_id}:0"
        task["history"] = [write_message(id_, USER, row.run_id, context, {"text": row.query})]
    return task


def read_number(params: dict[str, Any], name: str, default: int, least: int, most: int) -> int:
    """Return a number that may be given; raises A2aError."""
    value = params.get(name)
    if value is None:
        return default
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        raise A2aError(INVALID_PARAMS, f"{name}: is a number from {least} to {most}")
    return value
