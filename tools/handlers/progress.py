"""What handlers report while they work, as events of their calls."""

import asyncio
from functools import partial

from tools.calls import CallEvent, CallProgressed, EmitCallEvent, ToolCall
from tools.context import Progress


class ProgressReports:
    """Emits what the handler of one attempt reports, also from a thread; nothing after its end."""

    def __init__(self, call: ToolCall, emit: EmitCallEvent) -> None:
        self._call, self._emit = call, emit
        self._loop = asyncio.get_running_loop()
        self._emitting: set[asyncio.Task[None]] = set()
        self._has_ended = False

    def tell(self, progress: Progress) -> None:
        """See `ToolContext.progress`."""
        event = CallProgressed(self._call, progress)
        self._loop.call_soon_threadsafe(partial(self._start, event))

    def _start(self, event: CallEvent) -> None:
        if not self._has_ended:
            task = asyncio.ensure_future(_emit(self._emit, event))
            self._emitting.add(task)
            task.add_done_callback(self._emitting.discard)

    async def end(self) -> None:
        """Emit what was reported, and nothing more."""
        self._has_ended = True
        if self._emitting:
            await asyncio.wait(self._emitting)


async def _emit(emit: EmitCallEvent, event: CallEvent) -> None:
    await emit(event)
