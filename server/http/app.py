"""The HTTP application: routes, middleware, and what goes on while it serves."""

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from typing import Any

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware
from starlette.routing import Mount, Route

from crew.crew import Crew
from crew.database import Database, sqlite_path
from crew.errors import CrewError
from crew.journal.errors import StoreError
from crew.runs.queue import Queue
from crew.runs.upkeep.maintenance import recover_left
from crew.runs.upkeep.reload import Reloader
from crew.runs.upkeep.storage import reach_text
from server.background import Work, background_work
from server.backups import Backups
from server.errors import SettingsError
from server.http.access import RequestIds
from server.http.api import OPERATIONS
from server.http.callers import session
from server.http.callers.authenticator import Authenticator
from server.http.callers.guard import AccessGuard
from server.http.callers.pace import RateLimits
from server.http.door import Door
from server.http.errors import EXCEPTION_HANDLERS
from server.http.openapi.document import openapi_document
from server.http.operations import routes_of
from server.http.overload import Admission, Overload
from server.http.pages.chat import chat_routes
from server.http.pages.console import console_files, console_routes
from server.http.services import Services
from server.identity import Oidc
from server.settings import ServerSettings
from server.variables import PUBLIC_URL

log = logging.getLogger(__name__)

# how often a replica looks whether there are workers
LOOK_SECONDS = 5.0
CORS_REQUEST_HEADERS = [
    "Authorization",
    "Content-Type",
    "Idempotency-Key",
    "If-Match",
    "Last-Event-ID",
    "Traceparent",
    "X-Request-ID",
]
CORS_RESPONSE_HEADERS = [
    "Content-Disposition",
    "ETag",
    "X-Request-ID",
    "Location",
    "Retry-After",
    "Idempotency-Replayed",
    "X-Crew-Ignored",
]

Watch = Callable[[Reloader], Coroutine[Any, Any, None]]


def build_server(
    crew: Crew,
    database: Database,
    settings: ServerSettings,
    watch: Watch | None = None,
    doors: Sequence[Door] = (),
) -> Starlette:
    """Build the application of `crew serve`; its lifespan owns the crew and the database.

    Args:
        crew: the crew.
        database: keeps its runs; with a queue, workers play them.
        settings: how to serve.
        watch: reads the crew's files again when they change, until it is cancelled.
        doors: other protocols that it speaks.

    Raises:
        SettingsError: another process serves from the same database, and it is for one.
    """
    store, queue = database.store, database.queue
    try:
        recovers = store.claim_process(serves=True)
    except StoreError as error:
        raise SettingsError(str(error)) from error
    services = Services.of(crew, database, settings.edit)
    if crew.config.notify and settings.link_base is None:
        text = "%s is not set, so messages of `notify` have no link to the run's page"
        log.warning(text, PUBLIC_URL)

    async def begin() -> None:
        await store.listen()
        await services.begin()
        reach = await store.reach()
        if reach.runs_since is not None:
            log.info("%s", reach_text(reach))
        if recovers:
            await services.runs.find_left()
        elif queue is None:
            log.warning(
                "`crew run` is at work in the same database: "
                "runs that a crash left are resumed at the next start"
            )

    works = {
        **services.works(settings.retention, settings.link_base),
        "replays": services.replays.stop_at_end,
    }
    if queue is None:
        works["chores"] = services.do_chores
        # it serves meanwhile: a run that ends this process must not keep it from starting
        works["recovery"] = partial(recover_left, services.runs)
    else:
        works["the look for workers"] = partial(_log_missing_workers, queue)
    if watch is not None:
        works["the watch of the files"] = partial(watch, services.reloader)
    if settings.backups is not None:
        source = sqlite_path(settings.database_url, crew.sources.folder)
        if source is not None:
            services.metrics.backup_interval.set(settings.backups.hours * 3600)
            done = services.metrics.last_backup.set
            works["backups"] = Backups(services.runs, source, settings.backups, done).run
    if store.shared:
        works["the announcement of listeners"] = services.listeners.announce

    app = build_app(_routes(), services, settings, works, begin, doors)
    app.state.openapi_document = openapi_document
    return app


def build_app(
    routes: list[Route | Mount],
    services: Services,
    settings: ServerSettings,
    works: Mapping[str, Work],
    begin: Work | None = None,
    doors: Sequence[Door] = (),
) -> Starlette:
    """Build an application with the middleware and the errors that all of ours have.

    Args:
        routes: what it answers.
        services: what they share; closed at its end.
        settings: how to serve.
        works: what is done while it serves.
        begin: what is done before it serves.
        doors: other protocols that it speaks.
    """

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        app.state.services = services
        try:
            async with services.runs:
                if begin is not None:
                    await begin()
                async with AsyncExitStack() as opened:
                    watched = {**works, "the watch of the load": overload.watch}
                    clock = services.runs.crew.clock
                    await opened.enter_async_context(background_work(watched, clock))
                    for door in doors:
                        if door.run is not None:
                            await opened.enter_async_context(door.run(app))
                    yield
        except CrewError as error:
            log.error("the server failed while it started or stopped: %s", error)
            raise
        except Exception:
            log.exception("the server failed while it started or stopped")
            raise

    overload = Overload(services.metrics.refused, lambda: len(services.runs.live))
    # first of all, so that a refusal costs next to nothing
    admission = Middleware(Admission, overload=overload, doors=doors)
    middleware = [admission, Middleware(RequestIds)]
    if settings.origins:
        cors = Middleware(
            CORSMiddleware,
            allow_origins=sorted(settings.origins),
            allow_methods=["GET", "POST", "PUT", "PATCH", "DELETE"],
            allow_headers=[
                *CORS_REQUEST_HEADERS,
                *settings.conversation_headers,
                *(name for door in doors for name in door.headers),
            ],
            expose_headers=CORS_RESPONSE_HEADERS,
        )
        middleware.append(cors)
    oidc = Oidc(settings.oidc) if settings.oidc is not None else None
    authenticator = Authenticator(settings.tokens, oidc, services.metrics.refused, services.auditor)
    limits = RateLimits(settings, services.metrics.refused)
    middleware.append(
        Middleware(
            AccessGuard,
            settings=settings,
            authenticator=authenticator,
            limits=limits,
            doors=doors,
        )
    )
    app = Starlette(
        routes=[*routes, *(route for door in doors for route in door.routes)],
        middleware=middleware,
        exception_handlers=EXCEPTION_HANDLERS,
        lifespan=lifespan,
    )
    app.state.authenticator, app.state.limits = authenticator, limits
    app.state.doors, app.state.settings = doors, settings
    app.state.refused = services.metrics.refused
    # a redirect would repeat what a query says
    app.router.redirect_slashes = False
    return app


async def _log_missing_workers(queue: Queue) -> None:
    """Log when no worker is there to play what is accepted, and when one is again."""
    missing, seen = False, True
    while True:
        await asyncio.sleep(LOOK_SECONDS)
        # a queue that fails is logged elsewhere
        with contextlib.suppress(StoreError):
            workers, waiting = await queue.counts()
            # not after one look: a database that has crashed has forgotten them for a moment
            is_missing, seen = workers == 0 and not seen, workers > 0
            if is_missing != missing:
                missing = is_missing
                level = logging.WARNING if missing else logging.INFO
                text = "%d workers are at work, %d runs wait for one"
                log.log(level, text, workers, waiting)


def _routes() -> list[Route | Mount]:
    return [
        *console_routes(),
        Route(session.SESSION, session.begin_session, methods=["POST"]),
        *routes_of(OPERATIONS),
        *chat_routes(),
        console_files(),
    ]
