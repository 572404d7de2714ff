"""A run's lines as server-sent events.

Frames, keep-alive, farewell, and the end of listeners who left or fell behind.
"""

import asyncio

import anyio
from starlette.requests import ClientDisconnect
from starlette.types import Receive, Scope, Send

from crew.errors import CrewError
from crew.journal.wire import ends, ping
from crew.runs.listeners import Attendance
from crew.runs.run import Line, TooSlow
from crew.runs.runs import Runs

RETRY_MILLIS = 3000
HEADERS = [
    (b"content-type", b"text/event-stream; charset=utf-8"),
    (b"cache-control", b"no-cache"),
    # nginx would hold the events back
    (b"x-accel-buffering", b"no"),
]
# for one write to a client's connection
SEND_SECONDS = 30.0
CANNOT_READ = b"the events cannot be read now; come back later"
FAREWELL = b": this server is going down; come back with the id of the last event\n\n"


def frame(run_id: str, line: Line) -> bytes:
    """An event as it goes over the wire; one that is not stored has no id."""
    head = f"id: {run_id}:{line.seq}\n" if line.seq is not None else ""
    return f"{head}data: {line.public}\n\n".encode()


class EventStream:
    """An answer that is a run's events.

    An ASGI application of its own, so that it knows when it begins and ends.
    """

    def __init__(
        self,
        runs: Runs,
        attendance: Attendance,
        run_id: str,
        after: int,
        *,
        deltas: bool,
        keep_alive_seconds: float,
        stretch: bool = False,
        replayed: bool = False,
    ) -> None:
        """`stretch`: end with the first stretch; `replayed`: an earlier request has begun it."""
        self.runs, self.attendance, self.run_id, self.after = runs, attendance, run_id, after
        self.deltas, self.keep_alive_seconds, self.stretch, self.replayed = (
            deltas,
            keep_alive_seconds,
            stretch,
            replayed,
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the stream until the run ends or pauses, or the client leaves."""
        with self.attendance.listening(self.run_id) as listening:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(_leave_with_client, receive, tasks.cancel_scope)
                listening.over = await self._send(send, tasks.cancel_scope)
                tasks.cancel_scope.cancel()

    async def _send(self, send: Send, scope: anyio.CancelScope) -> bool:
        """Gives whether the stretch's end was sent."""

        async def write(body: bytes, *, more: bool = True) -> None:
            # a client that takes nothing is as good as gone
            async with asyncio.timeout(SEND_SECONDS):
                await send({"type": "http.response.body", "body": body, "more_body": more})

        headers = [*HEADERS, (b"idempotency-replayed", b"true")] if self.replayed else list(HEADERS)
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        ended = False
        try:
            await write(b"retry: %d\n\n" % RETRY_MILLIS)
            try:
                async for line in self.runs.follow(
                    self.run_id, self.after, idle_seconds=self.keep_alive_seconds, cut=scope.cancel
                ):
                    if line is None:
                        line = Line(None, ping(self.run_id))
                    elif line.seq is None and not self.deltas:
                        continue
                    ended = ends(line.public)
                    await write(frame(self.run_id, line))
                    if ended and self.stretch:
                        break
            except CrewError:
                await write(b": %s\n\n" % CANNOT_READ)
            if self.runs.draining and not ended:
                await write(FAREWELL)
            await write(b"", more=False)
        except (TooSlow, TimeoutError):
            # cut off: it may come back by id
            return False
        return ended


async def _leave_with_client(receive: Receive, scope: anyio.CancelScope) -> None:
    """End the stream when its client has gone."""
    try:
        while (await receive())["type"] != "http.disconnect":
            continue
    except ClientDisconnect:
        pass
    scope.cancel()
