"""Puts the HTTP house together: routes, middleware, what errors become, and the life of it all."""

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import Request
from starlette.responses import FileResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from crew.config.problems import as_json
from crew.crew import Crew
from crew.errors import (
    ConfigurationError,
    Draining,
    KeyReused,
    LostConfiguration,
    NotPaused,
    RunEnded,
    StoreError,
    StoreUnavailable,
    UnknownAgent,
    UnknownRun,
)
from crew.journal.store import RunStore
from crew.runs.maintenance import upkeep
from crew.runs.reload import Reloader
from crew.runs.starter import Queue
from server.http import endpoints as routes
from server.http.access import Guard, RequestIds
from server.http.endpoints import House
from server.http.responses import RETRY_AFTER, ProblemReply, Refusal
from server.settings import Settings, SettingsError

log = logging.getLogger(__name__)

# how often a replica looks whether there are workers
LOOK_SECONDS = 5.0
CONSOLE = Path(__file__).parent.parent / "console"
CONSOLE_HEADERS = {
    "Content-Security-Policy": "default-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-cache",
}


Watch = Callable[[Reloader], Coroutine[Any, Any, None]]
Doing = Coroutine[Any, Any, None]


def build_app(
    crew: Crew,
    store: RunStore,
    settings: Settings,
    watch: Watch | None = None,
    queue: Queue | None = None,
) -> Starlette:
    """The application that serves a crew; its lifespan owns the crew, the store and the queue.

    Args:
        crew: the crew.
        store: keeps its runs.
        settings: how to serve.
        watch: has the crew's files read again when they change, until it is cancelled.
        queue: where runs wait for workers; None: this process plays them.

    Raises:
        SettingsError: another process serves from the same database, and it is for one.
    """
    try:
        recovers = store.claim(serves=True)
    except StoreError as error:
        raise SettingsError(str(error)) from error

    house = House.of(crew, store, queue)

    async def begin() -> None:
        if recovers:
            await house.runs.recover()
        elif queue is None:
            log.warning(
                "`crew run` is at work in the same database: runs that a crash left are taken up at the next start"
            )

    def going_on() -> list[Doing]:
        doing = [upkeep(house.runs, settings.keep)]
        if watch is not None:
            doing.append(watch(house.reloader))
        if store.shared:
            doing += [house.attendance.tell(), _listen(store)]
        if queue is not None:
            doing.append(_miss_workers(queue))
        return doing

    return put_together(_routes(), house, settings, going_on, begin)


def put_together(
    paths: list[Route | Mount],
    house: House,
    settings: Settings,
    going_on: Callable[[], list[Doing]],
    begin: Callable[[], Doing] | None = None,
) -> Starlette:
    """An application around some runs, with the middleware and the errors of all of ours.

    Args:
        paths: what it answers.
        house: what they share; closed at its end.
        settings: how to serve.
        going_on: what is done while it serves, until it is cancelled.
        begin: what is done before it serves.
    """

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        app.state.house = house
        async with house.runs:
            if begin is not None:
                await begin()
            tasks = {asyncio.create_task(one) for one in going_on()}
            yield
            for task in tasks:
                task.cancel()
            await asyncio.wait(tasks)

    middleware = [Middleware(RequestIds)]
    if settings.origins:
        middleware.append(
            Middleware(
                CORSMiddleware,
                allow_origins=sorted(settings.origins),
                allow_methods=["GET", "POST"],
                allow_headers=[
                    "Authorization",
                    "Content-Type",
                    "Idempotency-Key",
                    "Last-Event-ID",
                    "X-Request-ID",
                ],
                expose_headers=["X-Request-ID", "Location", "Retry-After", "Idempotency-Replayed"],
            )
        )
    middleware.append(Middleware(Guard, settings=settings))
    handlers = {
        Refusal: _refused,
        UnknownRun: _status(404),
        UnknownAgent: _status(400),
        NotPaused: _status(409),
        RunEnded: _status(409),
        KeyReused: _status(422),
        Draining: _draining,
        StoreError: _store_failed,
        ConfigurationError: _misconfigured,
        LostConfiguration: _lost,
        HTTPException: _http,
        Exception: _broke,
    }
    return Starlette(
        routes=paths, middleware=middleware, exception_handlers=handlers, lifespan=lifespan
    )


async def _miss_workers(queue: Queue) -> None:
    """Say in the log when nobody is there to play what is accepted, and when somebody is again."""
    missed = False
    while True:
        await asyncio.sleep(LOOK_SECONDS)
        # a queue that fails is told of elsewhere
        with contextlib.suppress(StoreError):
            workers, waiting = await queue.counts()
            if (workers == 0) != missed:
                missed = workers == 0
                log.log(
                    logging.WARNING if missed else logging.INFO,
                    "%d workers are at work, %d runs wait for one",
                    workers,
                    waiting,
                )


async def _listen(store: RunStore) -> None:
    """Have the store listen before there is something to hear.

    The first words of a run come at once.
    """
    with store.watching(""):
        await asyncio.get_running_loop().create_future()


def _routes() -> list[Route | Mount]:
    api = "/api/crew"
    return [
        Route("/", _console),
        Route(f"{api}/stream", routes.stream, methods=["GET", "POST"]),
        Route(f"{api}/run", routes.run, methods=["POST"]),
        Route(api, routes.crew),
        Route(f"{api}/reload", routes.reload, methods=["POST"]),
        Route(f"{api}/runs", routes.runs),
        Route(f"{api}/runs/{{run_id}}", routes.one_run),
        Route(f"{api}/runs/{{run_id}}/events", routes.events),
        Route(f"{api}/runs/{{run_id}}/resume", routes.resume, methods=["POST"]),
        Route(f"{api}/runs/{{run_id}}/cancel", routes.cancel, methods=["POST"]),
        Route("/health", routes.health),
        Route("/ready", routes.ready),
        Route("/metrics", routes.metrics),
        Mount("/console", StaticFiles(directory=CONSOLE)),
    ]


async def _console(request: Request) -> Response:
    """GET /: the web console."""
    return FileResponse(CONSOLE / "index.html", headers=CONSOLE_HEADERS)


async def _refused(request: Request, error: Exception) -> Response:
    assert isinstance(error, Refusal), "registered for it"
    return ProblemReply(error)


async def _draining(request: Request, error: Exception) -> Response:
    return ProblemReply(Refusal(503, routes.DRAINING, headers=RETRY_AFTER))


async def _misconfigured(request: Request, error: Exception) -> Response:
    assert isinstance(error, ConfigurationError), "registered for it"
    detail = f"the crew's files have errors, so nothing was changed: {_first(error)}"
    return ProblemReply(Refusal(422, detail, more=as_json(error.problems)))


async def _lost(request: Request, error: Exception) -> Response:
    assert isinstance(error, LostConfiguration), "registered for it"
    detail = f"what this run was started with makes no crew here any more; bring back what is missing, or cancel it: {_first(error)}"
    return ProblemReply(Refusal(409, detail, more=as_json(error.problems)))


def _first(error: ConfigurationError) -> str:
    first = next(problem for problem in error.problems if problem.severity == "error")
    return f"{first.file}:{first.line}:{first.column}: {first.message}"


async def _store_failed(request: Request, error: Exception) -> Response:
    # the log has it whole; a client need not know where the database is
    detail = (
        "the store cannot be used for now; try again"
        if isinstance(error, StoreUnavailable)
        else str(error)
    )
    return ProblemReply(Refusal(503, detail, headers=RETRY_AFTER))


async def _http(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException), "registered for it"
    detail = f"{request.method} {request.url.path}: {error.detail}"
    return ProblemReply(Refusal(error.status_code, detail, headers=error.headers))


async def _broke(request: Request, error: Exception) -> Response:
    request_id = getattr(request.state, "request_id", "")
    return ProblemReply(
        Refusal(
            500,
            f"the server made a mistake; its log has it under request_id {request_id}",
            headers={"X-Request-ID": request_id},
        )
    )


def _status(status: int) -> Callable[[Request, Exception], Awaitable[Response]]:
    async def handler(request: Request, error: Exception) -> Response:
        return ProblemReply(Refusal(status, str(error)))

    return handler
