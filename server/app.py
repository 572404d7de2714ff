"""Puts the HTTP house together: routes, middleware, what errors become, and the life of it all."""

import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import Request
from starlette.responses import FileResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from crew.crew import Crew
from crew.errors import Draining, NotPaused, RunEnded, StoreError, UnknownRun
from crew.runs import Runs
from crew.stores.contract import RunStore
from crew.stores.sqlite import SqliteStore
from server import routes
from server.attendance import Attendance
from server.guard import Guard, RequestIds
from server.logs import log_event
from server.metrics import Metrics
from server.replies import ProblemReply, Refusal
from server.settings import Settings, SettingsError

log = logging.getLogger(__name__)

CONSOLE = Path(__file__).parent / "console"
CONSOLE_HEADERS = {
    "Content-Security-Policy": "default-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-cache",
}


def build_app(crew: Crew, store: RunStore, settings: Settings) -> Starlette:
    """The application that serves a crew; its lifespan owns the crew and the store.

    Raises:
        SettingsError: another process serves from the same database.
    """
    recovers = store.claim(alone=True) if isinstance(store, SqliteStore) else False
    if isinstance(store, SqliteStore) and not recovers and not store.serving:
        raise SettingsError(
            f"another process serves from {store.path}: SQLite is for one; use another folder or CREW_DATABASE_URL"
        )

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        metrics = Metrics(crew)
        async with Runs(crew, store, (log_event, metrics)) as runs:
            attendance = Attendance(runs, crew.config.settings.disconnect_grace_seconds)
            metrics.watch(lambda: len(runs.live), lambda: attendance.total)
            app.state.house = routes.House(runs, attendance, metrics)
            if recovers:
                await runs.recover()
            elif isinstance(store, SqliteStore):
                log.warning("`crew run` is at work in %s: runs that a crash left are taken up at the next start", store.path)
            yield

    middleware = [Middleware(RequestIds)]
    if settings.origins:
        middleware.append(
            Middleware(
                CORSMiddleware,
                allow_origins=sorted(settings.origins),
                allow_methods=["GET", "POST"],
                allow_headers=["Authorization", "Content-Type", "Last-Event-ID", "X-Request-ID"],
                expose_headers=["X-Request-ID", "Location", "Retry-After"],
            )
        )
    middleware.append(Middleware(Guard, settings=settings))
    handlers = {
        Refusal: _refused,
        UnknownRun: _status(404),
        NotPaused: _status(409),
        RunEnded: _status(409),
        Draining: _draining,
        StoreError: _status(503),
        HTTPException: _http,
        Exception: _broke,
    }
    return Starlette(routes=_routes(), middleware=middleware, exception_handlers=handlers, lifespan=lifespan)


def _routes() -> list[Route | Mount]:
    api = "/api/crew"
    return [
        Route("/", _console),
        Route(f"{api}/stream", routes.stream, methods=["GET", "POST"]),
        Route(f"{api}/run", routes.run, methods=["POST"]),
        Route(api, routes.crew),
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
    return ProblemReply(Refusal(503, routes.DRAINING, headers=routes.RETRY_AFTER))


async def _http(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException), "registered for it"
    detail = f"{request.method} {request.url.path}: {error.detail}"
    return ProblemReply(Refusal(error.status_code, detail, headers=error.headers))


async def _broke(request: Request, error: Exception) -> Response:
    request_id = getattr(request.state, "request_id", "")
    return ProblemReply(
        Refusal(
            500, f"the server made a mistake; its log has it under request_id {request_id}", headers={"X-Request-ID": request_id}
        )
    )


def _status(status: int) -> Callable[[Request, Exception], Awaitable[Response]]:
    async def handler(request: Request, error: Exception) -> Response:
        return ProblemReply(Refusal(status, str(error)))

    return handler
