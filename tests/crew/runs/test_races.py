"""Two processes, or a caller that goes away: what was begun is ended, and begun once."""

import asyncio
from pathlib import Path

import anyio.lowlevel
import pytest

from crew import Answer, MemoryStore, Query, Runs, load_crew
from crew.config.errors import ConfigurationError, LostConfiguration
from crew.journal.query import IdempotencyKey
from crew.journal.records.rows import AppendResult, Page, Write
from crew.runs.errors import AlreadyStarted
from crew.runs.run import Run
from tests.support.crews import write_crew

ASKING = {"agent_behaviors": {"a": {"wait_for_signal": True}}}


class HeldStore(MemoryStore):
    """Holds its answers until it is let go."""

    def __init__(self) -> None:
        super().__init__()
        self.let_go = asyncio.Event()
        self.let_go.set()
        # how many wait
        self.waiting = asyncio.Semaphore(0)

    async def append(self, write: Write) -> AppendResult:
        await self._hold()
        return await super().append(write)

    async def records(self, run_id: str, after: int = 0, limit: int = 500) -> Page:
        await self._hold()
        return await super().records(run_id, after, limit)

    async def _hold(self) -> None:
        if not self.let_go.is_set():
            self.waiting.release()
            await self.let_go.wait()


async def test_one_answer_with_one_key_in_two_processes(tmp_path: Path):
    """The second gets what the first one has started, not a conflict."""
    folder = write_crew(tmp_path, {"a": {}}, [{"say": "what?"}], routing=ASKING)
    store = HeldStore()
    processes = [Runs(load_crew(folder), store) for _ in range(2)]
    run = await processes[0].start(Query("hi"))
    await run.outcome()
    key = IdempotencyKey("k", "same")
    store.let_go.clear()
    answers = [asyncio.create_task(runs.resume(run.id, Answer("x"), key=key)) for runs in processes]
    await store.waiting.acquire()
    await store.waiting.acquire()
    store.let_go.set()
    results = await asyncio.gather(*answers, return_exceptions=True)
    assert {type(result) for result in results} == {Run, AlreadyStarted}
    for runs in processes:
        await runs.drain(5)


async def test_a_cancellation_outlives_its_caller(tmp_path: Path):
    """A run that nobody plays is claimed to be ended; the caller goes away before it is."""
    folder = write_crew(tmp_path, {"a": {}}, [{"say": "x", "delay_seconds": 3600}])
    store = HeldStore()
    first = Runs(load_crew(folder), store)
    run = await first.start(Query("hi"))
    await first.drain(0)
    ended = asyncio.Event()
    second = Runs(load_crew(folder), store, (lambda _, event: ended.set(),))
    store.let_go.clear()
    cancelling = asyncio.create_task(second.cancel(run.id))
    await store.waiting.acquire()
    cancelling.cancel()
    await asyncio.wait({cancelling})
    store.let_go.set()
    await ended.wait()
    assert (await second.row(run.id)).status == "cancelled"


class LateAnswers(HeldStore):
    """Has what is written at once; the writer hears of it once it is let go."""

    async def append(self, write: Write) -> AppendResult:
        """See RunStore."""
        result = await MemoryStore.append(self, write)
        await self._hold()
        return result

    async def records(self, run_id: str, after: int = 0, limit: int = 500) -> Page:
        """See RunStore."""
        return await MemoryStore.records(self, run_id, after, limit)


async def test_an_event_that_is_read_before_it_is_published_comes_once(tmp_path: Path):
    """The follower reads what is stored of an answered run, then the same is published."""
    folder = write_crew(
        tmp_path, {"a": {}}, [{"hears": "go", "say": "gone"}, {"say": "what?"}], routing=ASKING
    )
    store = LateAnswers()
    runs = Runs(load_crew(folder), store)
    first = await runs.start(Query("hi"))
    await first.outcome()
    answered = await runs.resume(first.id, Answer("go"))
    store.let_go.clear()
    await store.waiting.acquire()
    assert await runs.last_seq(first.id) > answered.tail.seq
    seqs: list[int] = []
    async for event in runs.follow(first.id):
        if event is not None and event.seq is not None:
            seqs.append(event.seq)
            if event.seq > answered.tail.seq:
                store.let_go.set()
    assert seqs == list(range(1, len(seqs) + 1))
    await runs.drain(5)


class HeldWrites(MemoryStore):
    """Holds its writes until it is let go."""

    def __init__(self) -> None:
        super().__init__()
        self.let_go = asyncio.Event()

    async def append(self, write: Write) -> AppendResult:
        await self.let_go.wait()
        return await super().append(write)


async def test_a_follower_outlives_a_run_that_is_only_told(tmp_path: Path):
    """One that cannot be played here yet is alive for a moment, to be told so; it has not ended."""
    folder = write_crew(tmp_path, {"a": {}}, [{"say": "late", "delay_seconds": 100}])
    store = HeldWrites()
    store.let_go.set()
    before = Runs(load_crew(folder), store)
    run = await before.start(Query("hi"))
    run.leave()
    await run.stopped()
    with pytest.raises(ConfigurationError) as raised:
        load_crew(write_crew(tmp_path / "broken", {"a": {"tools": ["none"]}}))
    async with Runs(load_crew(folder), store) as runs:
        store.let_go.clear()
        why = LostConfiguration(raised.value.problems, raised.value.texts)
        telling = asyncio.create_task(runs.decline(run.id, why))
        while (live := runs.live.get(run.id)) is None:
            await anyio.lowlevel.checkpoint()
        followed = runs.follow(run.id, run.journal.seq)
        told = asyncio.ensure_future(anext(followed))
        while not live.tail.followers:
            await anyio.lowlevel.checkpoint()
        store.let_go.set()
        event = await told
        assert event is not None
        assert event.metadata["code"] == "unplayable"
        await telling
        rest = asyncio.ensure_future(anext(followed))
        await runs.cancel(run.id)
        end = await rest
        assert end is not None
        assert (end.type, end.metadata["reason"]) == ("done", "cancelled")
