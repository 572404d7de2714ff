"""One short function per endpoint."""

import asyncio
import contextlib
import importlib.metadata
import logging
import re
from dataclasses import dataclass
from typing import Any, get_args

from prometheus_client import CONTENT_TYPE_LATEST, generate_latest
from starlette.requests import Request
from starlette.responses import Response

from crew.config.crew_file import Settings
from crew.crew import Crew
from crew.errors import AlreadyBegun, StoreError, StoreUnavailable
from crew.journal.state import Status
from crew.journal.store import RunStore
from crew.journal.wire import outcome_in, outcome_of
from crew.runs.listeners import Attendance
from crew.runs.reload import Reloader
from crew.runs.run import Run
from crew.runs.runs import Runs
from crew.runs.starter import Queue
from server.http.requests import answered, asked, event_id, flag, no_body, once_of, parameters
from server.http.responses import (
    RETRY_AFTER,
    Json,
    Refusal,
    accepted,
    crew_view,
    goes_on,
    listed,
    warning,
    whole,
)
from server.http.sse import CANNOT_READ, RETRY_MILLIS, EventStream
from server.telemetry.logs import log_event
from server.telemetry.metrics import Metrics

DRAINING = "this server is going down; try again at another one, or in a moment"
NO_CACHE = {"Cache-Control": "no-cache", "X-Accel-Buffering": "no"}
LAST_EVENT_ID = "Last-Event-ID"
# who asks how it is does not wait for a database that hangs
ASK_SECONDS = 2.0
# to a request that had begun what it asks for when it came before
REPLAYED = {"Idempotency-Replayed": "true"}


log = logging.getLogger(__name__)


@dataclass(slots=True)
class House:
    """What the endpoints share."""

    runs: Runs
    attendance: Attendance
    metrics: Metrics
    reloader: Reloader

    @classmethod
    def of(cls, crew: Crew, store: RunStore, queue: Queue | None) -> "House":
        """For the runs of a crew; `queue`: where they wait for workers, if not for this process."""
        metrics = Metrics(crew)
        runs = Runs(crew, store, (log_event, metrics), queue)
        attendance = Attendance(runs)
        metrics.watch(
            lambda: len(runs.live), lambda: attendance.total, lambda: store.failing is None
        )
        return cls(runs, attendance, metrics, Reloader(runs, metrics))

    @property
    def settings(self) -> Settings:
        """The crew's settings."""
        return self.runs.crew.config.settings


def house(request: Request) -> House:
    """The house of a request."""
    found: House = request.app.state.house
    return found


async def stream(request: Request) -> EventStream | Response:
    """GET, POST /api/crew/stream: start or resume a run and stream it.

    Or, with Last-Event-ID, go on reading one.
    """
    _no_head(request)
    if (last := request.headers.get("last-event-id")) is not None:
        deltas = request.query_params.get("deltas") == "1"
        return await _again(
            request,
            *event_id(last, None, LAST_EVENT_ID),
            LAST_EVENT_ID,
            deltas=deltas,
            stretch=True,
        )
    begun = await _begin(request)
    return _events(
        request,
        begun.run_id,
        begun.before,
        deltas=begun.deltas,
        stretch=True,
        replayed=begun.replayed,
    )


async def run(request: Request) -> Response:
    """POST /api/crew/run: the same, answered as one JSON document at the end."""
    here = house(request)
    begun = await _begin(request)
    with here.attendance.listening(begun.run_id) as listening:
        left = asyncio.ensure_future(_left(request))
        ended = asyncio.ensure_future(_outcome(here, begun))
        try:
            await asyncio.wait({left, ended}, return_when=asyncio.FIRST_COMPLETED)
            if not ended.done():
                return Response(status_code=499)
            listening.over = True
            return Json(ended.result(), headers=REPLAYED if begun.replayed else None)
        except asyncio.CancelledError:
            # the run was left for the next process
            raise goes_on(begun.run_id) from None
        finally:
            left.cancel()
            ended.cancel()


async def crew(request: Request) -> Response:
    """GET /api/crew: the crew."""
    given = parameters(request, frozenset({"prompts", "access_token"}))
    wanted = flag(given, "prompts")
    if wanted and not house(request).settings.show_prompts:
        raise Refusal(
            403,
            "prompts: settings.show_prompts is false",
            [("prompts", "settings.show_prompts is false")],
        )
    here = house(request)
    return Json({**crew_view(here.runs.crew, prompts=wanted), "config": here.reloader.details()})


async def reload(request: Request) -> Response:
    """POST /api/crew/reload: read the crew's files again.

    New runs get what they say, if they hold together.
    """
    here = house(request)
    await no_body(request, here.settings, "reload")
    changed = await here.reloader.reload("asked for over HTTP")
    return Json(
        {
            "changed": changed,
            **here.reloader.summary(),
            "warnings": [warning(p) for p in here.runs.crew.warnings],
        }
    )


async def runs(request: Request) -> Response:
    """GET /api/crew/runs: runs, newest first."""
    given = parameters(request, frozenset({"status", "limit", "after", "access_token"}))
    status, limit, after = given.get("status"), given.get("limit", "50"), given.get("after")
    wanted = next((known for known in get_args(Status) if known == status), None)
    if status is not None and wanted is None:
        raise Refusal(
            400, f"status: is one of {', '.join(get_args(Status))}", [("status", "is unknown")]
        )
    if not re.fullmatch(r"[0-9]{1,3}", limit) or not 1 <= int(limit) <= 500:
        raise Refusal(
            400, "limit: is a number from 1 to 500", [("limit", "is a number from 1 to 500")]
        )
    if after is not None:
        await house(request).runs.row(after)
    rows = await house(request).runs.store.rows(wanted, int(limit) + 1, after)
    page = rows[: int(limit)]
    return Json(
        {
            "runs": [listed(row) for row in page],
            "next": page[-1].run_id if len(rows) > len(page) else None,
        }
    )


async def one_run(request: Request) -> Response:
    """GET /api/crew/runs/{id}: one run with its result."""
    return Json(whole(await house(request).runs.row(request.path_params["run_id"])))


async def events(request: Request) -> EventStream | Response:
    """GET /api/crew/runs/{id}/events: its events, from the start, or behind one."""
    _no_head(request)
    run_id = request.path_params["run_id"]
    given = parameters(request, frozenset({"after", "deltas", "access_token"}))
    deltas = flag(given, "deltas")
    if (last := request.headers.get("last-event-id")) is not None:
        return await _again(
            request, *event_id(last, run_id, LAST_EVENT_ID), LAST_EVENT_ID, deltas=deltas
        )
    if "after" in given:
        return await _again(
            request, *event_id(given["after"], run_id, "after"), "after", deltas=deltas
        )
    await house(request).runs.row(run_id)
    return _events(request, run_id, 0, deltas=deltas)


async def resume(request: Request) -> Response:
    """POST /api/crew/runs/{id}/resume: answer a pause."""
    here, run_id = house(request), request.path_params["run_id"]
    answer = await answered(request, here.settings)
    once = once_of(request, answer, run_id)
    try:
        await here.runs.resume(run_id, answer, request.state.request_id, once)
    except AlreadyBegun as error:
        return accepted(error.receipt.run_id, REPLAYED)
    return accepted(run_id)


async def cancel(request: Request) -> Response:
    """POST /api/crew/runs/{id}/cancel: end a run."""
    run_id = request.path_params["run_id"]
    await no_body(request, house(request).settings, "cancel")
    await house(request).runs.cancel(run_id, request.state.request_id)
    return accepted(run_id)


async def health(request: Request) -> Response:
    """GET /health: alive."""
    return Json({"status": "ok", "version": importlib.metadata.version("crewline")})


async def ready(request: Request) -> Response:
    """GET /ready: able to serve."""
    if house(request).runs.draining:
        return Json({"status": "draining"}, 503, headers=RETRY_AFTER)
    if (failing := house(request).runs.store.failing) is not None:
        log.debug("not ready: %s", failing)
        return Json(
            {"status": "store failing", "detail": "runs cannot be stored; the log says why"},
            503,
            headers=RETRY_AFTER,
        )
    told: dict[str, Any] = {
        "status": "ready",
        "crew": house(request).runs.crew.name,
        "config": house(request).reloader.summary(),
    }
    if (queue := house(request).runs.queue) is not None:
        try:
            async with asyncio.timeout(ASK_SECONDS):
                told["workers"], told["runs_waiting"] = await queue.counts()
        except TimeoutError:
            return Json(
                {"status": "store failing", "detail": "the queue does not answer"},
                503,
                headers=RETRY_AFTER,
            )
    return Json(told)


async def metrics(request: Request) -> Response:
    """GET /metrics: Prometheus text, or JSON."""
    kept, runs = house(request).metrics, house(request).runs
    # what cannot be asked keeps its last value: a database that is away must not hide the other
    # numbers
    with contextlib.suppress(StoreError, TimeoutError):
        async with asyncio.timeout(ASK_SECONDS):
            kept.pauses.set(await runs.store.count("paused"))
            if runs.queue is not None:
                kept.tell_queue(*await runs.queue.counts())
    match parameters(request, frozenset({"format", "access_token"})).get("format", "prometheus"):
        case "prometheus":
            return Response(generate_latest(kept.registry), media_type=CONTENT_TYPE_LATEST)
        case "json":
            return Json(kept.as_json())
        case other:
            raise Refusal(
                400,
                f"format: is prometheus or json, not {other[:40]!r}",
                [("format", "is prometheus or json")],
            )


def _no_head(request: Request) -> None:
    """Starlette takes HEAD for GET; a link preview must not start a run."""
    if request.method == "HEAD":
        raise Refusal(
            405,
            "HEAD: a stream has no head without its body; use GET",
            headers={"Allow": "GET, POST"},
        )


@dataclass(frozen=True, slots=True)
class _Begun:
    """The stretch of a run that a request began, or had begun when it came before."""

    run_id: str
    # the number of the event before it
    before: int
    deltas: bool
    # None: another process plays it, or it has ended
    run: Run | None = None
    # an earlier request began it
    replayed: bool = False


async def _begin(request: Request) -> _Begun:
    """Start or resume what a request asks for."""
    here, request_id = house(request), request.state.request_id
    wanted = await asked(request, here.settings, frozenset(here.runs.crew.agents))
    once, deltas = once_of(request, wanted.query, wanted.run_id), wanted.query.deltas
    try:
        if wanted.run_id is None:
            run = await here.runs.start(wanted.query, request_id, once)
        else:
            run = await here.runs.resume(wanted.run_id, wanted.query, request_id, once)
    except AlreadyBegun as error:
        receipt = error.receipt
        live = here.runs.live.get(receipt.run_id)
        ours = live if live is not None and live.here and live.before == receipt.before else None
        return _Begun(receipt.run_id, receipt.before, deltas, ours, replayed=True)
    return _Begun(run.id, run.before, deltas, run if run.here else None)


async def _outcome(here: House, begun: _Begun) -> dict[str, Any]:
    """Wait for the end of a stretch, and how it came out."""
    if begun.run is not None:
        return outcome_of(await begun.run.outcome())
    async for line in here.runs.follow(begun.run_id, begun.before):
        if line is not None and (came_out := outcome_in(line.public)) is not None:
            return came_out
    row = await here.runs.row(begun.run_id)
    if row.status == "running" and here.runs.draining:
        raise goes_on(begun.run_id)
    if row.status == "running":
        raise Refusal(
            409,
            f"run {row.run_id} was left, and nobody goes on with it; the log says why, and it can be cancelled",
        )
    return outcome_of(row)


async def _again(
    request: Request, run_id: str, after: int, field: str, *, deltas: bool, stretch: bool = False
) -> EventStream | Response:
    """Go on reading a run behind event `after`; 204 when there is nothing more to come."""
    here = house(request)
    resumes = here.metrics.resumes
    try:
        row = await here.runs.row(run_id)
        newest = await here.runs.last_seq(run_id)
    except StoreUnavailable:
        if field != LAST_EVENT_ID:
            raise
        # a browser's EventSource gives up at a 503; after an answer that ends it comes back
        return Response(
            b"retry: %d\n\n: %s\n\n" % (RETRY_MILLIS, CANNOT_READ),
            media_type="text/event-stream",
            headers=NO_CACHE,
        )
    if after > newest:
        resumes.labels("refused").inc()
        raise Refusal(
            400,
            f"{field}: {run_id}:{after} is ahead of the newest event, {newest}",
            [(field, "is ahead of the log")],
        )
    if after == newest and row.status != "running":
        resumes.labels("up_to_date").inc()
        return Response(status_code=204)
    resumes.labels("resumed").inc()
    return _events(request, run_id, after, deltas=deltas, stretch=stretch)


def _events(
    request: Request,
    run_id: str,
    after: int,
    *,
    deltas: bool,
    stretch: bool = False,
    replayed: bool = False,
) -> EventStream:
    here = house(request)
    seconds = here.settings.sse_keep_alive_seconds
    kinds = {"deltas": deltas, "stretch": stretch, "replayed": replayed}
    return EventStream(
        here.runs, here.attendance, run_id, after, keep_alive_seconds=seconds, **kinds
    )


async def _left(request: Request) -> None:
    """Wait until the client has gone."""
    while (await request.receive())["type"] != "http.disconnect":
        continue
