"""The process that serves: from its start to SIGTERM, which drains before it stops."""

import asyncio
import contextlib
import contextvars
import gc
import logging
import signal
import socket
from collections.abc import Sequence
from types import FrameType
from typing import Any, cast

import uvicorn
from starlette.applications import Starlette
from starlette.types import ASGIApp, Receive, Scope, Send
from uvicorn.middleware.proxy_headers import ProxyHeadersMiddleware

from crew.config.errors import ConfigurationError
from crew.journal.errors import StoreError
from crew.journal.records.audit import LOCAL, AuditEntry
from crew.runs.errors import Draining
from server.errors import SettingsError
from server.http.callers.guard import PEER
from server.http.services import Services
from server.process.protocol import bounded
from server.settings import ServerSettings
from tools.clock import rfc3339

log = logging.getLogger(__name__)

# the kernel gives up after so long on a client that reads nothing
USER_TIMEOUT_MILLIS = 60_000
# for connections that are still open when all runs have ended or were left
CLOSING_SECONDS = 2
BACKLOG = 2048
# new objects that the garbage collector looks at together; with 700, its default, it looked at the
# same ones of a thousand streams again and again: 8 % of what a stream takes
YOUNG_OBJECTS = 20_000


class DrainingServer(uvicorn.Server):
    """uvicorn, but the first signal drains, while it still answers (503), and only then stops."""

    def __init__(self, app: Starlette, settings: ServerSettings) -> None:
        # headers of a proxy may be forged by any other client
        config = uvicorn.Config(
            behind_proxies(app, settings.proxies) if settings.proxies else app,
            host=settings.host,
            port=settings.port,
            http=bounded(settings, app.state.refused),  # type: ignore[arg-type] # a class in its own eyes
            # another protocol would not be counted among the connections
            ws="none",
            log_config=None,
            access_log=False,
            server_header=False,
            timeout_graceful_shutdown=CLOSING_SECONDS,
            proxy_headers=False,
        )
        super().__init__(config)
        self.app, self.settings = app, settings
        self.draining: asyncio.Task[None] | None = None
        self.reloading: set[asyncio.Task[None]] = set()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start, and log the address."""
        try:
            await super().startup(sockets)
        except SystemExit:
            # the lifespan has logged why; uvicorn's own code means a paused run here
            raise SystemExit(1) from None
        if sockets:
            loop = asyncio.get_running_loop()
            loop.add_signal_handler(signal.SIGHUP, self.reload_files)
            host = self.settings.host
            shown = f"[{host}]" if ":" in host else host
            log.info("serving on http://%s:%s", shown, sockets[0].getsockname()[1])
            if not self.settings.tokens.are_needed:
                log.info(
                    "no token is needed: every user of this machine may start, answer, cancel and "
                    "read runs; `crew serve --token` makes a token, CREW_API_TOKENS has others"
                )
        # what is loaded by now stays: a full collection, of which there are several a minute, took
        # 40 ms to walk through it, in which nothing else was done
        gc.collect()
        gc.freeze()
        gc.set_threshold(YOUNG_OBJECTS)

    def reload_files(self) -> None:
        """Read the crew's files again, at SIGHUP."""
        loop = asyncio.get_running_loop()
        task = loop.create_task(self._reload(), context=contextvars.Context())
        self.reloading.add(task)
        task.add_done_callback(self.reloading.discard)

    async def _reload(self) -> None:
        services: Services = self.app.state.services
        # problems are in the log, at /ready and in the metrics
        with contextlib.suppress(ConfigurationError, Draining, StoreError):
            await services.reloader.reload("SIGHUP")
            now = rfc3339(services.runs.store.now())
            revision = services.runs.crew.revision
            entry = AuditEntry(now, "reload", "SIGHUP", LOCAL, detail=revision)
            await services.runs.store.audit.record(entry)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Drain at the first signal, stop at once at the second; what is stored is not lost."""
        if self.draining is None and self.started:
            # in a context of its own: the signal may come in the middle of a run or a request
            loop = asyncio.get_running_loop()
            self.draining = loop.create_task(self._drain(), context=contextvars.Context())
        else:
            self.force_exit = self.should_exit = True

    async def _drain(self) -> None:
        services: Services = self.app.state.services
        runs, listeners = len(services.runs.live), services.listeners.total
        seconds = self.settings.drain_seconds
        text = "draining: %d runs and %d listeners have up to %g s"
        log.info(text, runs, listeners, seconds)
        await services.runs.drain(seconds)
        log.info("drained")
        self.should_exit = True


def behind_proxies(app: ASGIApp, proxies: Sequence[str]) -> ASGIApp:
    """Return an application that takes the clients that proxies name.

    The proxy's own address is kept.
    """
    inner: Any = ProxyHeadersMiddleware(cast(Any, app), list(proxies))

    async def remembering(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and scope.get("client"):
            scope[PEER] = scope["client"][0]
        await inner(scope, receive, send)

    return remembering


def listen(settings: ServerSettings) -> socket.socket:
    """Return the socket to serve on, bound before anything else is done.

    Raises:
        SettingsError: the address cannot be had.
    """
    host, port = settings.host, settings.port
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        listener = socket.create_server((host, port), family=family, backlog=BACKLOG)
    except OSError as error:
        raise SettingsError(
            f"cannot listen on {host} port {port}: {error.strerror}; "
            "choose another with --host or --port"
        ) from None
    # connections inherit it
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, USER_TIMEOUT_MILLIS)
    return listener


def run_server(app: Starlette, settings: ServerSettings, listener: socket.socket) -> None:
    """Serve until a signal ends it."""
    DrainingServer(app, settings).run(sockets=[listener])
