"""A client that takes nothing of its stream."""

import asyncio
from contextlib import nullcontext
from pathlib import Path

from starlette.types import Message

from crew import MemoryStore, Query, Runs, load_crew
from crew.runs.streams.listeners import Listeners
from server.http.sse import LOOK_SECONDS, EventForm, EventStream
from tests.support.crews import write_crew
from tools import VirtualClock


async def test_a_client_that_takes_nothing_is_given_up(tmp_path: Path):
    """Between the first and the second look at one write; the run goes on without it."""
    folder = write_crew(tmp_path, {"a": {"is_terminal": True}}, [{"say": "yes"}])
    clock, stuck = VirtualClock(), asyncio.Event()
    sent: list[Message] = []

    async def send(message: Message) -> None:
        sent.append(message)
        if len(sent) == 3:
            stuck.set()
            await asyncio.Event().wait()

    async def receive() -> Message:
        await asyncio.Event().wait()
        raise AssertionError("the client says nothing")

    async with Runs(load_crew(folder, clock=clock), MemoryStore(clock)) as runs:
        run = await runs.start(Query("hi"))
        stream = EventStream(
            runs,
            Listeners(runs),
            run.id,
            0,
            EventForm(run.id),
            deltas=False,
            slot=nullcontext(),
            segment=0,
        )
        streaming = asyncio.create_task(stream({"type": "http"}, receive, send))
        while not stuck.is_set():
            clock.advance()
            await asyncio.sleep(0)
        begun = clock.monotonic()
        while not streaming.done():
            clock.advance()
            await asyncio.sleep(0)
        assert LOOK_SECONDS <= clock.monotonic() - begun <= 2 * LOOK_SECONDS
        await streaming
        assert [one.get("more_body") for one in sent] == [None, True, True]
        assert sent[1]["body"].startswith(b"retry: 3000\n\n")
        assert (await run.outcome()).answer == "yes"
