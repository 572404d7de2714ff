"""Stored runs, played again on other files: nothing is called, and nothing is stored."""

import asyncio
import re
from collections.abc import AsyncIterator
from typing import Any

from pydantic_core import to_json
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from crew.config.files.sources import Sources
from crew.rehearsal.replaying.options import ReplayOptions
from crew.rehearsal.replaying.replays import ReplayResult, Replays
from crew.rehearsal.replaying.report import replay_document
from server.http.bodies import ReplayBody, ReplaysBody
from server.http.callers.rights import own_run
from server.http.errors import HttpProblem
from server.http.operations import API, SSE
from server.http.parameters import parse_parameters
from server.http.reading import parse_body
from server.http.responses import JsonResponse
from server.http.services import Services, services_of
from server.http.sse import GOING_DOWN, RETRY
from server.replay_jobs import JobGoesOn, ReplayJob
from tools.text.texts import map_texts

# at the same time in one process: each takes its CPU for some milliseconds
PLACES = asyncio.Semaphore(2)
EVENT_NUMBER = re.compile("[0-9]{1,9}")
# how often a stream looks whether this server is going down
LOOK_SECONDS = 1.0
STREAM_HEADERS = {"Cache-Control": "no-cache", "X-Accel-Buffering": "no"}


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


async def start_replays(request: Request) -> Response:
    """Answer POST /api/crew/replays: play stored runs again, in a process beside the server; 202.

    Takes a ReplaysBody. 409 while the ones before go on.
    """
    services = services_of(request)
    body = await parse_body(request, services.settings, ReplaysBody)
    runs = services.runs
    if body.on == "current":
        # the files that are served, whatever the folder has
        await runs.revisions.keep_current()
    else:
        await _sources(services, body.on)
    on = runs.crew.revision if body.on == "current" else body.on
    options = ["--all", "--sample", str(body.sample), "--on", on]
    options += ["--since", body.since] if body.since is not None else []
    options += ["--status", body.status] if body.status is not None else []
    crew = runs.crew
    try:
        seconds = crew.config.replay.seconds
        job = services.replays.start(crew.sources.folder, options, seconds, crew.secrets.mask)
    except JobGoesOn as error:
        raise HttpProblem(409, str(error)) from None
    address = f"{API}/replays/{job.id}"
    document = {"id": job.id, "url": address, "events_url": f"{address}/events"}
    return JsonResponse(document, 202, headers={"Location": address})


async def show_newest_replays(request: Request) -> Response:
    """Answer GET /api/crew/replays: the newest replays of this server, null before any."""
    parse_parameters(request)
    job = services_of(request).replays.newest
    return JsonResponse({"newest": job.document() if job is not None else None})


async def show_replays(request: Request) -> Response:
    """Answer GET /api/crew/replays/{id}: how far the replays are, and in the end their summary."""
    parse_parameters(request)
    return JsonResponse(_job(request).document())


async def stream_replays(request: Request) -> Response:
    """Answer GET /api/crew/replays/{id}/events: each replay as it ends, and the summary, as SSE.

    Events are `replay` and, at the end, `end`; the id of each is its number, with which
    `Last-Event-ID` goes on.
    """
    parse_parameters(request)
    job, services = _job(request), services_of(request)
    last = request.headers.get("last-event-id", "0")
    if not EVENT_NUMBER.fullmatch(last):
        text = "Last-Event-ID is not the number of an event"
        raise HttpProblem(400, text, [("Last-Event-ID", text)])
    frames = _frames(job, services, int(last))
    return StreamingResponse(frames, headers=STREAM_HEADERS, media_type=SSE)


async def _frames(job: ReplayJob, services: Services, sent: int) -> AsyncIterator[bytes]:
    keep_alive = services.settings.sse_keep_alive_seconds
    quiet_seconds = 0.0
    yield RETRY
    while not services.runs.draining:
        changed, is_over = job.changed, job.status != "running"
        for number, one in enumerate(job.replays[sent:], sent + 1):
            yield _frame(number, "replay", one)
            sent, quiet_seconds = number, 0.0
        if is_over:
            yield _frame(len(job.replays) + 1, "end", job.document())
            return
        try:
            async with asyncio.timeout(LOOK_SECONDS):
                await changed.wait()
        except TimeoutError:
            quiet_seconds += LOOK_SECONDS
        if quiet_seconds >= keep_alive:
            quiet_seconds = 0.0
            yield b": still at work\n\n"
    yield GOING_DOWN


def _frame(number: int, event: str, document: dict[str, Any]) -> bytes:
    return f"id: {number}\nevent: {event}\ndata: ".encode() + to_json(document) + b"\n\n"


def _job(request: Request) -> ReplayJob:
    job = services_of(request).replays.known.get(request.path_params["replays_id"])
    if job is None:
        raise HttpProblem(404, "there are no such replays here; a server keeps the newest")
    return job


async def _sources(services: Services, on: str) -> Sources:
    crew = services.runs.crew
    if on in ("current", crew.revision):
        return crew.sources
    files = await services.runs.store.revisions.files(on)
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
