"""NOTIFY and LISTEN: what one process writes, others get at once, as far as they can."""

import asyncio
import contextlib
import contextvars
from collections import defaultdict
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager

import asyncpg

from crew.backends.postgres.address import DatabaseAddress
from crew.journal.errors import StoreError
from crew.journal.records.cluster import Watch, Written
from tools.clock import Clock

CHANNEL = "crew_runs"
# longer payloads are refused by PostgreSQL
MAX_PAYLOAD_BYTES = 7999
# for a connection, and for one statement
TIMEOUT_SECONDS = 10.0
# how often the connection that listens is asked whether it is still there
PROBE_SECONDS = 5.0
# between tries to listen again
RETRY_SECONDS = 0.5
# what asyncpg raises for a server or a connection that fails; the last for one that was lost at
# the wrong moment
FAILURES = (
    OSError,
    TimeoutError,
    asyncpg.InterfaceError,
    asyncpg.PostgresError,
    asyncpg.InternalClientError,
)

# sends (channel, payload) pairs
Send = Callable[[list[tuple[str, str]]], Awaitable[None]]


class Notices:
    """Sends notices in batches, and listens over one connection for all who watch here."""

    def __init__(self, address: DatabaseAddress, send: Send, clock: Clock) -> None:
        self.address, self.clock = address, clock
        self._send = send
        self._watches: defaultdict[str, set[Watch]] = defaultdict(set)
        self._callbacks: defaultdict[str, set[Callable[[str], None]]] = defaultdict(set)
        self._callbacks[CHANNEL].add(self._receive)
        self._listening: asyncio.Task[None] | None = None
        self._connection: asyncpg.Connection | None = None
        # the first connection listens
        self._ready = asyncio.Event()
        self._outgoing: list[tuple[str, str]] = []
        self._sent = 0
        self._sending: asyncio.Task[None] | None = None

    def notify(self, run_id: str, seq: int | None, events: Sequence[str]) -> None:
        """See PostgresServer."""
        # the first line is unique: PostgreSQL drops one of two equal payloads in a transaction
        self._sent += 1
        head = f"{run_id} {self._sent} {'' if seq is None else seq}"
        payload = "\n".join((head, *events))
        if len(payload.encode()) > MAX_PAYLOAD_BYTES:
            if seq is None:
                # a piece of a text that is stored as a whole
                return
            # they are read
            payload = f"{head}\n"
        self._outgoing.append((CHANNEL, payload))
        if self._sending is None or self._sending.done():
            # in a context of its own: it belongs to no one request
            context = contextvars.Context()
            self._sending = asyncio.create_task(self._send_all(), context=context)

    async def listen(self) -> None:
        """Listen from now on: what is sent afterwards is received, unless the database is away."""
        if not self.address.prepares:
            return
        self._start_listening()
        with contextlib.suppress(TimeoutError):
            async with self.clock.timeout(TIMEOUT_SECONDS):
                await self._ready.wait()

    @contextmanager
    def watch(self, run_id: str) -> Iterator[Watch]:
        """See Cluster."""
        self._start_listening()
        watch = Watch()
        self._watches[run_id].add(watch)
        try:
            yield watch
        finally:
            self._watches[run_id].discard(watch)
            if not self._watches[run_id]:
                del self._watches[run_id]

    @contextmanager
    def subscribe(self, channel: str, callback: Callable[[str], None]) -> Iterator[None]:
        """See PostgresServer."""
        self._callbacks[channel].add(callback)
        # a new channel is listened to from the next connection on
        if self._connection is not None:
            self._connection.terminate()
        self._start_listening()
        try:
            yield
        finally:
            self._callbacks[channel].discard(callback)

    async def aclose(self) -> None:
        """Stop listening and sending."""
        for task in (self._listening, self._sending):
            if task is not None:
                task.cancel()
                await asyncio.wait({task})

    def _start_listening(self) -> None:
        if not self.address.prepares:
            # those who watch look from time to time
            return
        if self._listening is None or self._listening.done():
            context = contextvars.Context()
            self._listening = asyncio.create_task(self._listen(), context=context)

    async def _send_all(self) -> None:
        while self._outgoing:
            payloads, self._outgoing = self._outgoing, []
            # a lost notice is no loss: watchers look from time to time
            with contextlib.suppress(StoreError):
                await self._send(payloads)

    async def _listen(self) -> None:
        """Listen over a connection that is made anew whenever it breaks."""
        while True:
            with contextlib.suppress(*FAILURES):
                await self._listen_once()
            await self.clock.sleep(RETRY_SECONDS)

    async def _listen_once(self) -> None:
        connection = await asyncpg.connect(
            self.address.url, timeout=TIMEOUT_SECONDS, **self.address.options("crew listening")
        )
        self._connection = connection
        for watches in self._watches.values():
            for watch in watches:
                watch.breaks += 1
        broken = asyncio.Event()
        try:
            connection.add_termination_listener(lambda _: broken.set())
            for channel in list(self._callbacks):
                await connection.add_listener(channel, self._dispatch)
            self._ready.set()
            self._notify_all_watches()
            while not broken.is_set():
                with contextlib.suppress(TimeoutError):
                    async with self.clock.timeout(PROBE_SECONDS):
                        await broken.wait()
                # a silent connection may be dead
                await connection.execute("SELECT 1", timeout=TIMEOUT_SECONDS)
        finally:
            self._connection = None
            connection.terminate()

    def _notify_all_watches(self) -> None:
        """Notify all watches: what was sent while none listened is found by looking."""
        for watches in list(self._watches.values()):
            for watch in watches:
                watch.notify(None)

    def _dispatch(self, connection: object, pid: int, channel: str, payload: object) -> None:
        for callback in list(self._callbacks[channel]):
            callback(str(payload))

    def _receive(self, payload: str) -> None:
        head, _, events = payload.partition("\n")
        run_id, _, seq = head.split(" ")
        for watch in self._watches.get(run_id, ()):
            # where they did not fit, the line is empty
            lines = tuple(events.split("\n")) if events else ()
            watch.notify(Written(int(seq), lines) if seq else events)
