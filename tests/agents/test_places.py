"""Model calls of an agent at the same time: never more than it may, in one process and in several."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager

from agents import Model, ModelReply, ModelRequest
from agents.model import EmitModelEvent, ModelEvent
from agents.wrappers.places import Leases, Limited, Places
from crew.backends.postgres.jobs.queue import JobQueue
from crew.backends.postgres.schema import prepare, prepare_queue
from crew.backends.postgres.server import PostgresServer
from tests.support.commands import come
from tests.support.postgres import Postgres, needs_postgres
from tools.clock import SYSTEM_CLOCK


class Counting:
    """A model that counts how many calls are made at the same time."""

    name = "m"
    endpoints = (("p", "m"),)

    def __init__(self, calls: "Calls") -> None:
        self.calls = calls

    async def reply(self, request: ModelRequest, emit: EmitModelEvent) -> ModelReply:
        calls = self.calls
        calls.now += 1
        calls.most = max(calls.most, calls.now)
        calls.reached.set()
        try:
            await calls.gate.wait()
        finally:
            calls.now -= 1
        return ModelReply("done")


class Calls:
    """Of all processes."""

    def __init__(self) -> None:
        self.now = self.most = 0
        self.reached, self.gate = asyncio.Event(), asyncio.Event()


class Watched:
    """Leases of a process that tell when one was refused."""

    def __init__(self, leases: Leases) -> None:
        self.leases, self.refused = leases, asyncio.Event()
        self.keep_place, self.leave_place = leases.keep_place, leases.leave_place

    async def take_place(self, name: str, limit: int, holder: str, seconds: float) -> bool:
        taken = await self.leases.take_place(name, limit, holder, seconds)
        if not taken:
            self.refused.set()
        return taken


async def ask(model: Model) -> str:
    async def ignore(event: ModelEvent) -> None:
        pass

    return (await model.reply(ModelRequest("a", []), ignore)).content


@asynccontextmanager
async def queues(url: str, count: int) -> AsyncIterator[list[JobQueue]]:
    """As many processes have them."""
    time = await prepare(url)
    await prepare_queue(url)
    async with AsyncExitStack() as stack:
        servers = [PostgresServer(url, 2, time) for _ in range(count)]
        yield [await stack.enter_async_context(JobQueue(server)) for server in servers]


def model_of(calls: Calls, limit: int, leases: Leases | None = None) -> Model:
    """In a process of its own."""
    places = Places(SYSTEM_CLOCK)
    places.leases = leases
    return Limited(Counting(calls), limit, places)


async def test_others_wait_in_one_process():
    """And go on when a place is free; who is cancelled takes none."""
    calls = Calls()
    model = model_of(calls, 3)
    tasks = [asyncio.create_task(ask(model)) for _ in range(10)]
    await calls.reached.wait()
    tasks[-1].cancel()
    tasks[0].cancel()
    calls.gate.set()
    results = await asyncio.gather(*tasks, return_exceptions=True)
    assert results.count("done") == 8
    assert (calls.most, calls.now) == (3, 0)


@needs_postgres
async def test_others_wait_in_several_processes(postgres: Postgres):
    """A place that is left is another's."""
    calls = Calls()
    async with queues(postgres.database(), 3) as made:
        watched = [Watched(queue) for queue in made]
        models = [model_of(calls, 2, leases) for leases in watched]
        tasks = [asyncio.create_task(ask(model)) for model in models for _ in range(4)]
        # two have places, maybe both of one process, whose other calls do not ask then
        await come(lambda: sum(leases.refused.is_set() for leases in watched) >= 2)
        tasks[0].cancel()
        calls.gate.set()
        results = await asyncio.gather(*tasks, return_exceptions=True)
    assert results.count("done") == 11
    assert calls.most == 2


@needs_postgres
async def test_a_place_of_a_dead_process_is_given_anew(postgres: Postgres):
    """After a while; one that is kept is not."""
    async with queues(postgres.database(), 1) as (queue,):
        assert await queue.take_place("a", 1, "dead", 0.0)
        assert await queue.take_place("a", 1, "alive", 0.0)
        await queue.keep_place("a", "alive", 60.0)
        assert not await queue.take_place("a", 1, "late", 60.0)
        assert await queue.take_place("b", 1, "other", 60.0)
        await queue.leave_place("alive")
        assert await queue.take_place("a", 1, "late", 60.0)


@needs_postgres
async def test_a_place_outlives_a_crash_of_the_database(postgres: Postgres):
    """And one that was lost all the same is taken again, before those who wait."""
    async with queues(postgres.database(), 1) as (queue,):
        assert await queue.take_place("a", 1, "working", 60.0)
        postgres.checkpoint()
        postgres.restart()
        while not await queue.take_place("b", 1, "probe", 60.0):
            # the first connections are those of before
            pass
        assert not await queue.take_place("a", 1, "waiting", 60.0)
        # as a failover to a standby that is behind loses it
        await queue.leave_place("working")
        await queue.keep_place("a", "working", 60.0)
        assert not await queue.take_place("a", 1, "waiting", 60.0)
        assert not await queue.take_place("a", 1, "late", 60.0)
        await queue.leave_place("working")
        assert await queue.take_place("a", 1, "waiting", 60.0)


@needs_postgres
async def test_who_asked_first_goes_first(postgres: Postgres):
    """Not the process that has just left a place."""
    async with queues(postgres.database(), 1) as (queue,):
        assert await queue.take_place("a", 1, "one", 60.0)
        assert not await queue.take_place("a", 1, "two", 60.0)
        await queue.leave_place("one")
        assert not await queue.take_place("a", 1, "three", 60.0)
        assert await queue.take_place("a", 1, "two", 60.0)


@needs_postgres
async def test_no_place_is_given_while_the_database_is_away(postgres: Postgres):
    """It may be taken; nothing is raised."""
    async with queues(postgres.database(), 1) as (queue,):
        postgres.stop()
        try:
            assert not await queue.take_place("a", 1, "x", 60.0)
            await queue.keep_place("a", "x", 60.0)
            await queue.leave_place("x")
        finally:
            postgres.start()
