"""Stored runs: searched, compared, exported."""

import asyncio
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from crew.journal.records.audit import AuditFilter
from crew.journal.wire import RunEvent
from server.history.comparing import comparison
from server.history.exporting import run_document
from server.history.pages import POLICY, to_html, to_markdown
from server.history.searching import Hit, WordSearch
from server.history.steps import steps_of
from server.http.callers.rights import caller_of, own_run
from server.http.parameters import parse_parameters
from server.http.responses import JsonResponse, describe_run
from server.http.services import Services, services_of
from tools.text.texts import map_texts

# of the audit of one run
MAX_ENTRIES = 1000


async def search_runs(request: Request) -> Response:
    """Answer GET /api/crew/search: where words were said, in the newest runs first.

    It ends after 2 s; `next` goes on from there, `reached` is the start of the run that was looked
    at last.
    """
    given, services, caller = parse_parameters(request), services_of(request), caller_of(request)
    if (after := given.get("after")) is not None:
        await own_run(request, after)
    owner = None if "admin" in caller.scopes else caller.owner
    crew = services.runs.crew
    looked = WordSearch(given["q"], services.runs.store, crew.clock, owner, after)
    hits = await looked.hits(given["limit"])
    document = {
        "hits": [_hit(one) for one in hits],
        "next": None if looked.is_done else looked.after,
        "reached": looked.reached,
    }
    return JsonResponse(document)


async def compare_runs(request: Request) -> Response:
    """Answer GET /api/crew/compare: two runs step by step, and where they part."""
    given, services = parse_parameters(request), services_of(request)
    first, second = await own_run(request, given["a"]), await own_run(request, given["b"])
    steps = [list(steps_of(await _events(services, row.run_id))) for row in (first, second)]
    # of long runs it takes seconds
    document = await asyncio.to_thread(comparison, (first, second), (steps[0], steps[1]))
    return JsonResponse(document)


async def export_run(request: Request) -> Response:
    """Answer GET /api/crew/runs/{id}/export: a run with all that is kept of it, as a file."""
    given, services = parse_parameters(request), services_of(request)
    row = await own_run(request, request.path_params["run_id"])
    events = await _events(services, row.run_id)
    run = describe_run(row, await services.runs.pause_of(row))
    audit = await services.runs.store.audit.entries(MAX_ENTRIES, AuditFilter(run_id=row.run_id))
    document, kind = run_document(run, row.revision, events, audit[::-1]), given["format"]
    headers = {"Content-Disposition": f'attachment; filename="{row.run_id}.{kind}"'}
    if kind == "html":
        headers["Content-Security-Policy"] = POLICY

    def write() -> Response:
        masked: dict[str, Any] = map_texts(document, services.runs.crew.secrets.mask)
        if kind == "md":
            text = to_markdown(masked, list(steps_of(events)))
            return Response(text, media_type="text/markdown", headers=headers)
        if kind == "html":
            text = to_html(masked, list(steps_of(events)))
            return Response(text, media_type="text/html", headers=headers)
        return JsonResponse(masked, headers=headers)

    # of long runs it takes seconds
    return await asyncio.to_thread(write)


async def _events(services: Services, run_id: str) -> list[RunEvent]:
    return [event async for event in services.runs.stored(run_id)]


def _hit(one: Hit) -> dict[str, Any]:
    return {
        "run_id": one.row.run_id,
        "query": one.row.query,
        "status": one.row.status,
        "seq": one.seq,
        "kind": one.kind,
        "who": one.who,
        "at": one.at,
        "text": one.text,
        "start": one.start,
        "end": one.end,
    }
