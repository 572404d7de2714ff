"""What is kept of a person: all of it, and its end."""

from collections import Counter
from collections.abc import AsyncIterator
from dataclasses import replace

from pydantic_core import to_json
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from crew.journal.store import RunStore
from crew.runs.memory.export import everything_of
from server.http.callers.rights import named_user
from server.http.operations import NDJSON
from server.http.parameters import parse_parameters
from server.http.responses import JsonResponse
from server.http.services import services_of


async def export_user(request: Request) -> Response:
    """Answer GET /api/crew/users/{user}/export: all that is kept of a user, a line for each thing.

    Each line is `{kind, value}`; the last one, of kind `end`, counts the others. One that is
    missing at the end says that this is not all.
    """
    services = services_of(request)
    parse_parameters(request)
    user_id = named_user(request)
    await services.auditor.record(request, "export")
    return StreamingResponse(_lines(services.runs.store, user_id), media_type=NDJSON)


async def _lines(store: RunStore, user_id: str) -> AsyncIterator[bytes]:
    counts: Counter[str] = Counter()
    async for kind, value in everything_of(store, user_id):
        counts[kind] += 1
        yield to_json({"kind": kind, "value": value}) + b"\n"
    yield to_json({"kind": "end", "value": dict(counts)}) + b"\n"


async def erase_user(request: Request) -> Response:
    """Answer DELETE /api/crew/users/{user}: all that is kept of a user will be erased; 202.

    Runs are ended first. What remains is a digest of the id, the time, and how much there was.
    """
    services = services_of(request)
    parse_parameters(request)
    user_id = named_user(request)
    erasure = await services.runs.memory.request_erasure(user_id)
    # without what names the user: this entry stays
    entry = services.auditor.entry(request, "erase", detail=erasure.digest, user_id="")
    is_own = entry.name == user_id
    await services.auditor.keep(replace(entry, name="", address="") if is_own else entry)
    answer = {"digest": erasure.digest, "requested_at": erasure.requested_at}
    return JsonResponse(answer, 202)
