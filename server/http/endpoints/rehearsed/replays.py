"""A stored run, played again on the files as they are: nothing is called, and nothing is stored."""

import asyncio
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from crew.config.files.sources import Sources
from crew.rehearsal.replaying.options import ReplayOptions
from crew.rehearsal.replaying.replays import ReplayResult, Replays
from crew.rehearsal.replaying.report import replay_document
from server.http.bodies import ReplayBody
from server.http.callers.rights import own_run
from server.http.errors import HttpProblem
from server.http.requests import parse_body
from server.http.responses import JsonResponse
from server.http.services import Services, services_of
from tools.text.texts import map_texts

# at the same time in one process: each takes its CPU for some milliseconds
PLACES = asyncio.Semaphore(2)


async def replay_run(request: Request) -> Response:
    """Answer POST /api/crew/runs/{id}/replay: what the crew of today, or a revision, would do.

    Models, tools and people say what they have said in the run. Takes a ReplayBody.
    """
    services = services_of(request)
    row = await own_run(request, request.path_params["run_id"])
    body = await parse_body(request, services.settings, ReplayBody)
    sources = await _sources(services, body.on)
    crew = services.runs.crew
    async with PLACES:
        options = ReplayOptions(match=body.match)
        replays = Replays(services.runs.store, crew.sources.folder, sources, options)
        result = await replays.replay(row)
    services.metrics.replays.labels(result.compared.verdict).inc()
    return JsonResponse(map_texts(_document(result), crew.secrets.mask))


async def _sources(services: Services, on: str) -> Sources:
    crew = services.runs.crew
    if on in ("current", crew.revision):
        return crew.sources
    files = await services.runs.store.revision(on)
    if files is None:
        text = f"there is no revision {on}"
        raise HttpProblem(404, text, [("on", text)])
    return Sources.from_json(crew.sources.folder, files)


def _document(result: ReplayResult) -> dict[str, Any]:
    return {
        **replay_document(result),
        "steps_then": list(result.steps_then),
        "steps_now": list(result.steps_now),
    }
