"""The process that serves: from start to SIGTERM.

Which gives the runs their time and the streams a farewell.
"""

import asyncio
import contextlib
import contextvars
import logging
import signal
import socket
from types import FrameType

import uvicorn
from starlette.applications import Starlette

from crew.errors import ConfigurationError, Draining
from server.http.endpoints import House
from server.settings import Settings, SettingsError

log = logging.getLogger(__name__)

STUCK_MILLIS = 60_000
# for connections that are still open when all runs have ended or were left
CLOSING_SECONDS = 2


class Server(uvicorn.Server):
    """uvicorn, but the first signal drains and only then stops.

    It keeps answering (503) meanwhile.
    """

    def __init__(self, app: Starlette, settings: Settings) -> None:
        config = uvicorn.Config(
            app,
            host=settings.host,
            port=settings.port,
            log_config=None,
            access_log=False,
            server_header=False,
            timeout_graceful_shutdown=CLOSING_SECONDS,
            # uvicorn's own headers of a proxy are believed only where the operator says so
            proxy_headers=False,
        )
        super().__init__(config)
        self.app, self.settings = app, settings
        self.draining: asyncio.Task[None] | None = None
        self.reloading: set[asyncio.Task[None]] = set()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start, and say where."""
        await super().startup(sockets)
        if self.started and sockets:
            asyncio.get_running_loop().add_signal_handler(signal.SIGHUP, self.hang_up)
            port = sockets[0].getsockname()[1]
            log.info(
                "serving on http://%s:%s",
                f"[{self.settings.host}]" if ":" in self.settings.host else self.settings.host,
                port,
            )

    def hang_up(self) -> None:
        """SIGHUP: read the crew's files again."""
        task = asyncio.get_running_loop().create_task(self._reload(), context=contextvars.Context())
        self.reloading.add(task)
        task.add_done_callback(self.reloading.discard)

    async def _reload(self) -> None:
        house: House = self.app.state.house
        # what is wrong is told by the log, at /ready and to Prometheus
        with contextlib.suppress(ConfigurationError, Draining):
            await house.reloader.reload("SIGHUP")

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """The first signal: drain. The second: stop at once; what is stored is not lost."""
        if self.draining is None and self.started:
            # a context of its own: the signal may have come in the middle of a run or a request
            self.draining = asyncio.get_running_loop().create_task(
                self._drain(), context=contextvars.Context()
            )
        else:
            self.force_exit = self.should_exit = True

    async def _drain(self) -> None:
        house: House = self.app.state.house
        played, listeners = len(house.runs.live), house.attendance.total
        log.info(
            "draining: %d runs and %d listeners have up to %g s",
            played,
            listeners,
            self.settings.drain_seconds,
        )
        await house.runs.drain(self.settings.drain_seconds)
        log.info("drained")
        self.should_exit = True


def listen(settings: Settings) -> socket.socket:
    """The socket to serve on, bound before anything else is done.

    Raises:
        SettingsError: the address cannot be had.
    """
    try:
        made = socket.create_server(
            (settings.host, settings.port),
            family=socket.AF_INET6 if ":" in settings.host else socket.AF_INET,
            backlog=2048,
        )
    except OSError as error:
        raise SettingsError(
            f"cannot listen on {settings.host} port {settings.port}: {error.strerror}; choose another with --host or --port"
        ) from None
    # the kernel gives up on a client that takes nothing; connections inherit it
    made.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, STUCK_MILLIS)
    return made


def serve(app: Starlette, settings: Settings, listener: socket.socket) -> None:
    """Serve until a signal ends it."""
    Server(app, settings).run(sockets=[listener])
