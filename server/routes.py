"""One short function per endpoint."""

import asyncio
import importlib.metadata
import re
from dataclasses import dataclass
from typing import get_args

from prometheus_client import CONTENT_TYPE_LATEST, generate_latest
from starlette.requests import Request
from starlette.responses import Response

from crew.config import Settings
from crew.errors import Draining
from crew.run import Run
from crew.runs import Runs
from crew.state import Status
from server.attendance import Attendance
from server.metrics import Metrics
from server.replies import Json, Refusal, crew_view, listed, outcome, whole
from server.requests import answered, asked, body, event_id, flag, parameters
from server.sse import EventStream

DRAINING = "this server is going down; try again at another one, or in a moment"
RETRY_AFTER = {"Retry-After": "5"}


@dataclass(slots=True)
class House:
    """What the endpoints share."""

    runs: Runs
    attendance: Attendance
    metrics: Metrics

    @property
    def settings(self) -> Settings:
        """The crew's settings."""
        return self.runs.crew.config.settings


def house(request: Request) -> House:
    """The house of a request."""
    found: House = request.app.state.house
    return found


async def stream(request: Request) -> EventStream | Response:
    """GET, POST /api/crew/stream: start or resume a run and stream it; or, with Last-Event-ID, go on reading one."""
    _no_head(request)
    if (last := request.headers.get("last-event-id")) is not None:
        deltas = request.query_params.get("deltas") == "1"
        return await _again(request, *event_id(last, None, "Last-Event-ID"), "Last-Event-ID", deltas=deltas)
    run, after, deltas = await _begin(request)
    return _events(request, run.id, after, deltas=deltas)


async def run(request: Request) -> Response:
    """POST /api/crew/run: the same, answered as one JSON document at the end."""
    here = house(request)
    started, _, _ = await _begin(request)
    with here.attendance.listening(started.id):
        left = asyncio.ensure_future(_left(request))
        ended = asyncio.ensure_future(started.outcome())
        try:
            await asyncio.wait({left, ended}, return_when=asyncio.FIRST_COMPLETED)
            if not ended.done():
                return Response(status_code=499)
            return Json(outcome(ended.result()))
        except asyncio.CancelledError:
            # the run was left for the next process
            raise Draining from None
        finally:
            left.cancel()
            ended.cancel()


async def crew(request: Request) -> Response:
    """GET /api/crew: the crew."""
    given = parameters(request, frozenset({"prompts", "access_token"}))
    wanted = flag(given, "prompts")
    if wanted and not house(request).settings.show_prompts:
        raise Refusal(403, "prompts: settings.show_prompts is false", [("prompts", "settings.show_prompts is false")])
    return Json(crew_view(house(request).runs.crew, prompts=wanted))


async def runs(request: Request) -> Response:
    """GET /api/crew/runs: runs, newest first."""
    given = parameters(request, frozenset({"status", "limit", "after", "access_token"}))
    status, limit, after = given.get("status"), given.get("limit", "50"), given.get("after")
    wanted = next((known for known in get_args(Status) if known == status), None)
    if status is not None and wanted is None:
        raise Refusal(400, f"status: is one of {', '.join(get_args(Status))}", [("status", "is unknown")])
    if not re.fullmatch(r"[0-9]{1,3}", limit) or not 1 <= int(limit) <= 500:
        raise Refusal(400, "limit: is a number from 1 to 500", [("limit", "is a number from 1 to 500")])
    if after is not None:
        await house(request).runs.row(after)
    rows = await house(request).runs.store.rows(wanted, int(limit) + 1, after)
    page = rows[: int(limit)]
    return Json({"runs": [listed(row) for row in page], "next": page[-1].run_id if len(rows) > len(page) else None})


async def one_run(request: Request) -> Response:
    """GET /api/crew/runs/{id}: one run with its result."""
    return Json(whole(await house(request).runs.row(request.path_params["run_id"])))


async def events(request: Request) -> EventStream | Response:
    """GET /api/crew/runs/{id}/events: its events, from the start, or behind one."""
    _no_head(request)
    run_id = request.path_params["run_id"]
    await house(request).runs.row(run_id)
    given = parameters(request, frozenset({"after", "deltas", "access_token"}))
    deltas = flag(given, "deltas")
    if (last := request.headers.get("last-event-id")) is not None:
        return await _again(request, *event_id(last, run_id, "Last-Event-ID"), "Last-Event-ID", deltas=deltas)
    if "after" in given:
        return await _again(request, *event_id(given["after"], run_id, "after"), "after", deltas=deltas)
    return _events(request, run_id, 0, deltas=deltas)


async def resume(request: Request) -> Response:
    """POST /api/crew/runs/{id}/resume: answer a pause."""
    here, run_id = house(request), request.path_params["run_id"]
    answer = await answered(request, here.settings)
    await here.runs.resume(run_id, answer, request.state.request_id)
    return _accepted(run_id)


async def cancel(request: Request) -> Response:
    """POST /api/crew/runs/{id}/cancel: end a run."""
    run_id = request.path_params["run_id"]
    if request.headers.get("content-length", "0") != "0" and await body(request, house(request).settings):
        raise Refusal(400, "body: cancel takes none", [("body", "cancel takes none")])
    await house(request).runs.cancel(run_id, request.state.request_id)
    return _accepted(run_id)


async def health(request: Request) -> Response:
    """GET /health: alive."""
    return Json({"status": "ok", "version": importlib.metadata.version("crewline")})


async def ready(request: Request) -> Response:
    """GET /ready: able to serve."""
    if house(request).runs.draining:
        return Json({"status": "draining"}, 503, headers=RETRY_AFTER)
    return Json({"status": "ready", "crew": house(request).runs.crew.name})


async def metrics(request: Request) -> Response:
    """GET /metrics: Prometheus text, or JSON."""
    kept = house(request).metrics
    kept.pauses.set(await house(request).runs.store.count("paused"))
    match parameters(request, frozenset({"format", "access_token"})).get("format", "prometheus"):
        case "prometheus":
            return Response(generate_latest(kept.registry), media_type=CONTENT_TYPE_LATEST)
        case "json":
            return Json(kept.as_json())
        case other:
            raise Refusal(400, f"format: is prometheus or json, not {other[:40]!r}", [("format", "is prometheus or json")])


def _no_head(request: Request) -> None:
    """Starlette takes HEAD for GET; a link preview must not start a run."""
    if request.method == "HEAD":
        raise Refusal(405, "HEAD: a stream has no head without its body; use GET", headers={"Allow": "GET, POST"})


async def _begin(request: Request) -> tuple[Run, int, bool]:
    """Start or resume what a request asks for: the run, the number of the event before its stretch, whether it wants deltas."""
    here = house(request)
    wanted = await asked(request, here.settings, frozenset(here.runs.crew.agents))
    if wanted.run_id is None:
        return await here.runs.start(wanted.query, request.state.request_id), 0, wanted.query.deltas
    resumed = await here.runs.resume(wanted.run_id, wanted.query, request.state.request_id)
    return resumed, resumed.before, wanted.query.deltas


async def _again(request: Request, run_id: str, after: int, field: str, *, deltas: bool) -> EventStream | Response:
    """Go on reading a run behind event `after`; 204 when there is nothing more to come."""
    here = house(request)
    resumes = here.metrics.resumes
    row = await here.runs.row(run_id)
    newest = await here.runs.last_seq(run_id)
    if after > newest:
        resumes.labels("refused").inc()
        raise Refusal(400, f"{field}: {run_id}:{after} is ahead of the newest event, {newest}", [(field, "is ahead of the log")])
    if after == newest and row.status != "running":
        resumes.labels("up_to_date").inc()
        return Response(status_code=204)
    resumes.labels("resumed").inc()
    return _events(request, run_id, after, deltas=deltas)


def _events(request: Request, run_id: str, after: int, *, deltas: bool) -> EventStream:
    here = house(request)
    return EventStream(
        here.runs, here.attendance, run_id, after, deltas=deltas, keep_alive_seconds=here.settings.sse_keep_alive_seconds
    )


def _accepted(run_id: str) -> Response:
    url = f"/api/crew/runs/{run_id}"
    return Json({"run_id": run_id, "url": url, "events": f"{url}/events"}, 202, headers={"Location": url})


async def _left(request: Request) -> None:
    """Wait until the client has gone."""
    while (await request.receive())["type"] != "http.disconnect":
        continue
