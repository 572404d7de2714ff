"""Records the runs that are played in this process: one follower for each segment."""

import asyncio
import contextvars
import logging
from contextlib import aclosing
from typing import Protocol

from crew.errors import CrewError
from crew.journal.outlets import ReadEvents
from crew.runs.streams.tail import TooSlow
from server.telemetry.traces.spans import Span, SpanFold, trace_of_segment
from tools.tracing import TraceContext

log = logging.getLogger(__name__)

# of followers, when a process ends: the runs have ended before
CLOSING_SECONDS = 2.0


class SpanTarget(Protocol):
    """Sends spans to a collector, beside the runs."""

    @property
    def sent(self) -> int:
        """How many have arrived."""
        ...

    @property
    def lost(self) -> int:
        """How many have not, and never will."""
        ...

    def flags_of(self, trace_id: str, caller: TraceContext | None) -> int:
        """Return the flags of a trace: whether it is recorded."""
        ...

    def send(self, span: Span) -> None:
        """Take a span to be sent; must neither raise nor wait."""
        ...

    def close(self) -> None:
        """Send what waits, for some seconds at most; blocks."""
        ...


class Tracer:
    """What records runs; see `crew.journal.outlets.Tracing`."""

    def __init__(self, sender: SpanTarget, *, contents: bool) -> None:
        """`contents`: messages, arguments and results are recorded too."""
        self.sender, self.contents = sender, contents
        self._read: ReadEvents | None = None
        self._following: set[asyncio.Task[None]] = set()

    def attach(self, read: ReadEvents) -> None:
        """Read what runs publish by this."""
        self._read = read

    def segment(self, run_id: str, seq: int, traceparent: str) -> TraceContext:
        """Return the trace of the segment that begins with an event, before its first span."""
        caller = TraceContext.parse(traceparent)
        return trace_of_segment(run_id, seq, caller, self.sender.flags_of)

    def follow(self, run_id: str, after: int, revision: str) -> None:
        """Record what a run does here behind an event, until it ends or pauses."""
        # in a context of its own: it is no work of the run
        task = asyncio.get_running_loop().create_task(
            self._follow(run_id, after, revision),
            name=f"trace of {run_id}",
            context=contextvars.Context(),
        )
        self._following.add(task)
        task.add_done_callback(self._following.discard)

    async def aclose(self) -> None:
        """Report what is recorded; no run is at work any more."""
        if self._following:
            _, late = await asyncio.wait(self._following, timeout=CLOSING_SECONDS)
            for task in late:
                task.cancel()
        await asyncio.to_thread(self.sender.close)

    async def _follow(self, run_id: str, after: int, revision: str) -> None:
        fold = SpanFold(run_id, revision, self.sender.flags_of, contents=self.contents)
        seen = 0
        while True:
            try:
                seen = await self._read_on(fold, run_id, seen, after)
                return
            except TooSlow:
                # the store has what it missed
                continue
            except CrewError as error:
                log.warning("the trace of run %s ends early: %s", run_id, error)
                return

    async def _read_on(self, fold: SpanFold, run_id: str, seen: int, after: int) -> int:
        """Add the events behind one; return the number of the last."""
        assert self._read is not None, "it was attached"
        events = self._read(run_id, seen)
        async with aclosing(events):
            async for event in events:
                if event is None or event.seq is None:
                    continue
                seen = event.seq
                spans = fold.add(event)
                if seen > after:
                    # what ended before was reported by who played it
                    for span in spans:
                        self.sender.send(span)
                if seen > after and event.ends_segment:
                    return seen
        return seen
