"""A run's events as server-sent events: frames, keep-alive, and the end of slow readers."""

import asyncio
from contextlib import AbstractContextManager, aclosing

import anyio
from starlette.requests import ClientDisconnect
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from crew.errors import CrewError
from crew.journal.wire import RunEvent, ping
from crew.runs.listeners import Listeners
from crew.runs.runs import Runs
from crew.runs.tail import TooSlow
from tools.clock import rfc3339

RETRY_MILLIS = 3000
RETRY = b"retry: %d\n\n" % RETRY_MILLIS
HEADERS = [
    (b"content-type", b"text/event-stream; charset=utf-8"),
    (b"cache-control", b"no-cache"),
    # nginx would buffer the events
    (b"x-accel-buffering", b"no"),
]
# for one write to a client's connection
SEND_SECONDS = 30.0
CANNOT_READ = b": the events cannot be read now; come back later\n\n"
GOING_DOWN = b": this server is going down; come back with the id of the last event\n\n"


def frame(run_id: str, event: RunEvent) -> bytes:
    """An event as it is sent; one that is not stored has no id."""
    head = f"id: {run_id}:{event.seq}\n" if event.seq is not None else ""
    return f"{head}data: {event.encoded}\n\n".encode()


def cannot_read() -> Response:
    """A stream that ends at once: an EventSource comes back, while it gives up at a 503."""
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
        *,
        deltas: bool,
        slot: AbstractContextManager[None],
        segment: bool = False,
        replayed: bool = False,
    ) -> None:
        """Send nothing yet.

        Args:
            runs: where the run is.
            listeners: count this one.
            run_id: the run.
            after: the number of the last event that the client has.
            deltas: send events that are not stored too.
            slot: entered for as long as it is open.
            segment: end with the first segment, and the run needs a listener until then.
            replayed: an earlier request has started the run.
        """
        self.runs, self.listeners, self.run_id, self.after = runs, listeners, run_id, after
        self.deltas, self.segment, self.replayed = deltas, segment, replayed
        self.slot = slot

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the stream until the run ends or pauses, or the client leaves."""
        with self.slot, self.listeners.listen(self.run_id, needed=self.segment) as listening:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(_end_with_client, receive, tasks.cancel_scope)
                listening.over = await self._send(send, tasks.cancel_scope)
                tasks.cancel_scope.cancel()

    async def _send(self, send: Send, scope: anyio.CancelScope) -> bool:
        """Whether the segment's end was sent."""
        headers = list(HEADERS)
        if self.replayed:
            headers.append((b"idempotency-replayed", b"true"))
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        over = False
        try:
            await _write(send, RETRY)
            try:
                over = await self._send_events(send, scope)
            except CrewError:
                await _write(send, CANNOT_READ)
            if self.runs.draining and not over:
                await _write(send, GOING_DOWN)
            await _write(send, b"", more=False)
        except (TooSlow, TimeoutError):
            # cut off: it may come back by id
            return False
        return over

    async def _send_events(self, send: Send, scope: anyio.CancelScope) -> bool:
        over = False
        seconds = self.runs.crew.config.settings.sse_keep_alive_seconds
        events = self.runs.follow(self.run_id, self.after, idle_seconds=seconds, cut=scope.cancel)
        async with aclosing(events):
            async for event in events:
                if event is None:
                    event = ping(self.run_id, rfc3339(self.runs.store.now()))
                elif event.seq is None and not self.deltas:
                    continue
                over = event.ends_segment
                await _write(send, frame(self.run_id, event))
                if over and self.segment:
                    break
        return over


async def _write(send: Send, body: bytes, *, more: bool = True) -> None:
    # a client that reads nothing is as good as gone
    async with asyncio.timeout(SEND_SECONDS):
        await send({"type": "http.response.body", "body": body, "more_body": more})


async def _end_with_client(receive: Receive, scope: anyio.CancelScope) -> None:
    """End the stream when its client has gone."""
    try:
        while (await receive())["type"] != "http.disconnect":
            continue
    except ClientDisconnect:
        pass
    scope.cancel()
