"""A run's events as server-sent events: frames, keep-alive, and the end of slow readers."""

import asyncio
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, aclosing
from typing import Protocol

import anyio
from starlette.requests import ClientDisconnect
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from crew.errors import CrewError
from crew.journal.wire import RunEvent, ping
from crew.runs.runs import Runs
from crew.runs.streams.listeners import Listeners
from crew.runs.streams.tail import TooSlow
from tools.clock import Clock, rfc3339

RETRY_MILLIS = 3000
RETRY = b"retry: %d\n\n" % RETRY_MILLIS
HEADERS = [
    (b"content-type", b"text/event-stream; charset=utf-8"),
    (b"cache-control", b"no-cache"),
    # nginx would buffer the events
    (b"x-accel-buffering", b"no"),
]
# for one write to a client's connection: it is looked at so often, and ended at the second look
LOOK_SECONDS = 15.0
CANNOT_READ = b": the events cannot be read now; come back later\n\n"
GOING_DOWN = b": this server is going down; come back with the id of the last event\n\n"


def frame(run_id: str, event: RunEvent) -> bytes:
    """Return an event as an EventSource reads it; one that is not stored has no id."""
    head = f"id: {run_id}:{event.seq}\n" if event.seq is not None else ""
    return f"{head}data: {event.encoded}\n\n".encode()


class StreamForm(Protocol):
    """How a protocol writes the stream of a run."""

    def begin(self) -> bytes:
        """Return what goes before all events."""
        ...

    def frame(self, event: RunEvent) -> bytes:
        """Return what an event comes to; b"" for nothing. Events come from the first one on."""
        ...

    def ping(self, timestamp: str) -> bytes:
        """Return what keeps a silent stream open."""
        ...

    def cannot_read(self) -> bytes:
        """Return what ends a stream of events that cannot be read now."""
        ...

    def going_down(self) -> bytes:
        """Return what ends a stream when the server does."""
        ...


class EventForm:
    """The crew's own: each event as it is stored."""

    def __init__(self, run_id: str) -> None:
        self.run_id = run_id

    def begin(self) -> bytes:
        """See StreamForm."""
        return RETRY

    def frame(self, event: RunEvent) -> bytes:
        """See StreamForm."""
        return frame(self.run_id, event)

    def ping(self, timestamp: str) -> bytes:
        """See StreamForm."""
        return frame(self.run_id, ping(self.run_id, timestamp))

    def cannot_read(self) -> bytes:
        """See StreamForm."""
        return CANNOT_READ

    def going_down(self) -> bytes:
        """See StreamForm."""
        return GOING_DOWN


def cannot_read() -> Response:
    """Return a stream that ends at once: an EventSource comes back, while it gives up at a 503."""
    headers = {"Cache-Control": "no-cache", "X-Accel-Buffering": "no"}
    return Response(RETRY + CANNOT_READ, media_type="text/event-stream", headers=headers)


class EventStream:
    """A run's events as a response; an ASGI application, so it knows when it begins and ends."""

    def __init__(
        self,
        runs: Runs,
        listeners: Listeners,
        run_id: str,
        after: int,
        form: StreamForm,
        *,
        deltas: bool,
        slot: AbstractContextManager[None],
        segment: int | None = None,
        needed: bool | None = None,
        headers: Sequence[tuple[bytes, bytes]] = (),
    ) -> None:
        """Send nothing yet.

        Args:
            runs: where the run is.
            listeners: count this one.
            run_id: the run.
            after: the number of the last event that the client has.
            form: how the client's protocol writes it.
            deltas: send events that are not stored too.
            slot: entered for as long as it is open.
            segment: end with the segment that begins behind this event.
            needed: the run needs this listener; unless given, if the stream ends with a segment.
            headers: further ones of the response.
        """
        self.runs, self.listeners, self.run_id, self.after = runs, listeners, run_id, after
        self.deltas, self.segment, self.headers = deltas, segment, headers
        self.needed = segment is not None if needed is None else needed
        self.slot, self.form = slot, form

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the stream until the run ends or pauses, or the client leaves."""
        with self.slot, self.listeners.listen(self.run_id, needed=self.needed) as listening:
            with anyio.CancelScope() as stream:
                # not in a task group: to leave one that has a task costs as much as two events
                leaving = asyncio.ensure_future(_end_with_client(receive, stream))
                try:
                    clock, head = self.runs.crew.clock, self.form.begin()
                    with _Writer(send, stream.cancel, clock, head) as writer:
                        listening.over = await self._send(writer, stream)
                finally:
                    leaving.cancel()

    async def _send(self, writer: "_Writer", stream: anyio.CancelScope) -> bool:
        """Return whether the segment's end was sent."""
        await writer.begin([*HEADERS, *self.headers])
        over = False
        try:
            try:
                over = await self._send_events(writer, stream)
            except CrewError:
                await writer.write(self.form.cannot_read())
            if self.runs.draining and not over:
                await writer.write(self.form.going_down())
            await writer.write(b"", more=False)
        except TooSlow:
            # cut off: it may come back by id
            return False
        return over

    async def _send_events(self, writer: "_Writer", stream: anyio.CancelScope) -> bool:
        over = False
        seconds = self.runs.crew.config.settings.sse_keep_alive_seconds
        events = self.runs.follow(self.run_id, self.after, idle_seconds=seconds, cut=stream.cancel)
        async with aclosing(events):
            async for event in events:
                if event is None:
                    await writer.write(self.form.ping(rfc3339(self.runs.store.now())))
                    continue
                if event.seq is None and not self.deltas:
                    continue
                over = event.ends_segment and (event.seq or 0) > (self.segment or 0)
                if written := self.form.frame(event):
                    await writer.write(written)
                if over and self.segment is not None:
                    break
        return over


class _Writer:
    """Writes to a client; one that reads nothing is as good as gone.

    With one timer that looks now and then: one for each write is a tenth of what a stream costs.
    """

    def __init__(self, send: Send, give_up: Callable[[], None], clock: Clock, head: bytes) -> None:
        self._send, self._give_up, self._clock = send, give_up, clock
        # goes with what is sent first
        self._head = head
        # of writes; the one that is under way, 0 between two
        self._number, self._under_way = 0, 0
        self._look(0)

    def __enter__(self) -> "_Writer":
        return self

    def __exit__(self, *_: object) -> None:
        self._timer.cancel()

    async def begin(self, headers: list[tuple[bytes, bytes]]) -> None:
        """Send the status and the headers."""
        await self._send({"type": "http.response.start", "status": 200, "headers": headers})

    async def write(self, body: bytes, *, more: bool = True) -> None:
        """Send a part of the body."""
        self._number += 1
        self._under_way = self._number
        body, self._head = self._head + body, b""
        await self._send({"type": "http.response.body", "body": body, "more_body": more})
        self._under_way = 0

    def _look(self, seen: int) -> None:
        """Look at the writes; `seen`: the one that was under way at the look before."""
        if seen and seen == self._under_way:
            self._give_up()
            return
        under_way = self._under_way
        self._timer = self._clock.call_later(LOOK_SECONDS, lambda: self._look(under_way))


async def _end_with_client(receive: Receive, stream: anyio.CancelScope) -> None:
    """End the stream when its client has gone."""
    try:
        while (await receive())["type"] != "http.disconnect":
            continue
    except ClientDisconnect:
        pass
    stream.cancel()
