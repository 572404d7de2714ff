"""A provider that does not work is not asked: its backup is at once, and who has none waits."""

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from agents import Model, ModelError, ModelReply, ModelRequest
from agents.errors import ModelErrorCode
from agents.model import EmitModelEvent, ModelEvent, ModelNotice
from agents.wrappers.breaking import Breaking
from agents.wrappers.fallback import Fallback
from agents.wrappers.pacing import Paced
from crew import MemoryStore, Query, Runs, load_crew
from tests.support.crews import write_crew
from tests.support.model_server import completion, http, model_server
from tests.support.tool_calls import moving_clock
from tools.clock import Clock
from tools.limits.guards import Breaker, BreakerLimits, CallLimits, Guards
from tools.virtual_clock import VirtualClock

LIMITS = BreakerLimits(3, 30.0)


class Provider:
    """Fails with these codes, one a request, then answers."""

    name = "far"
    endpoints = (("far", "m"),)

    def __init__(self, *codes: ModelErrorCode) -> None:
        self.codes: Iterator[ModelErrorCode] = iter(codes)
        self.asked = 0

    async def reply(self, request: ModelRequest, emit: EmitModelEvent) -> ModelReply:
        self.asked += 1
        for code in self.codes:
            raise ModelError(code, f"{code}!")
        return ModelReply("far")


class Near(Provider):
    """A backup that works."""

    async def reply(self, request: ModelRequest, emit: EmitModelEvent) -> ModelReply:
        return ModelReply("near")


def of(code: ModelErrorCode, times: int) -> list[ModelErrorCode]:
    return [code] * times


async def test_a_provider_is_asked_no_more_often_than_it_allows():
    """Requests wait for a turn; one that would wait too long is refused as if the provider had said so."""
    far = Provider()
    async with moving_clock() as clock:
        paced = Paced(far, Guards(clock).of("far", CallLimits(rate_per_second=0.05), None))
        began = clock.monotonic()
        assert [await ask(paced) for _ in range(3)] == ["far", "far", "far"]
        assert clock.monotonic() - began >= 40
        answers = await asyncio.gather(*(ask(paced) for _ in range(6)))
    assert sorted(set(answers)) == ["far", "rate_limited"]
    assert far.asked < 9


async def ask(model: Model, events: list[ModelEvent] | None = None) -> str:
    async def hear(event: ModelEvent) -> None:
        if events is not None:
            events.append(event)

    try:
        return (await model.reply(ModelRequest("a", []), hear)).content
    except ModelError as error:
        return error.code


def breaking(provider: Provider, clock: Clock, patience: float = 0.0) -> Breaking:
    return Breaking(provider, Breaker(LIMITS, clock), patience, clock)


async def test_the_backup_is_asked_at_once():
    """And the provider again after a while: once, and by all when that works."""
    clock = VirtualClock()
    provider = Provider(*of("unavailable", 4))
    guarded = breaking(provider, clock)
    model, events = Fallback(guarded, Near()), list[ModelEvent]()
    assert [await ask(model, events) for _ in range(5)] == ["near"] * 5
    assert provider.asked == 3
    assert [one.code for one in events if isinstance(one, ModelNotice)].count("breaker_open") == 1
    clock.call_later(30, lambda: None)
    clock.advance()
    assert [await ask(model) for _ in range(2)] == ["near"] * 2
    assert provider.asked == 4
    clock.call_later(30, lambda: None)
    clock.advance()
    assert [await ask(model) for _ in range(2)] == ["far"] * 2


async def test_who_has_no_backup_waits():
    """Until it works again; not for ever."""
    async with moving_clock() as clock:
        provider = Provider(*of("connection", 3))
        model = breaking(provider, clock, 60.0)
        assert [await ask(model) for _ in range(3)] == ["connection"] * 3
        before = clock.monotonic()
        assert await asyncio.gather(*(ask(model) for _ in range(4))) == ["far"] * 4
        assert 30 <= clock.monotonic() - before <= 32
        dead = breaking(Provider(*of("timeout", 9)), clock, 20.0)
        assert [await ask(dead) for _ in range(4)] == ["timeout"] * 3 + ["breaker_open"]


@pytest.mark.parametrize(
    ("codes", "asked"),
    [
        (("unavailable", "unavailable", "refused", "unavailable", "unavailable"), 6),
        (("unavailable", "rate_limited", "unavailable", "unreadable", "unavailable"), 5),
        (("rate_limited",) * 6, 6),
    ],
)
async def test_what_says_that_it_does_not_work(codes: tuple[ModelErrorCode, ...], asked: int):
    """What it refuses it has answered; what it puts off, and cannot be read, says nothing."""
    provider = Provider(*codes)
    model = breaking(provider, VirtualClock())
    for _ in range(6):
        await ask(model)
    assert provider.asked == asked


async def test_a_probe_that_is_cancelled():
    """Leaves the next one to try."""
    clock = VirtualClock()

    class Slow(Provider):
        probed = asyncio.Event()

        async def reply(self, request: ModelRequest, emit: EmitModelEvent) -> ModelReply:
            if self.asked == 3:
                self.asked += 1
                self.probed.set()
                await asyncio.Event().wait()
            return await super().reply(request, emit)

    provider = Slow(*of("timeout", 3))
    model = breaking(provider, clock)
    for _ in range(3):
        await ask(model)
    clock.call_later(30, lambda: None)
    clock.advance()
    probe = asyncio.create_task(ask(model))
    await provider.probed.wait()
    assert await ask(model) == "breaker_open"
    probe.cancel()
    await asyncio.wait({probe})
    assert await ask(model) == "far"


async def test_of_all_runs_of_a_crew(tmp_path: Path):
    """Over HTTP: after so many failures a run goes to the backup without asking the provider."""
    failing, working = http(503, {"error": "down"}), http(200, completion("near"))
    async with model_server(lambda _: failing) as far, model_server(lambda _: working) as near:
        agent = {
            "primary": {"model": "m", "provider": "far"},
            "backup": {"model": "m", "provider": "near"},
            "is_terminal": True,
        }
        providers = {
            "far": {"base_url": far.url, "max_retries": 1, "breaker": {"failures": 4}},
            "near": {"base_url": near.url, "breaker": False},
        }
        crew = load_crew(write_crew(tmp_path, {"a": agent}, providers=providers))
        async with Runs(crew, MemoryStore()) as runs:
            told = []
            for _ in range(3):
                run = await runs.start(Query("x"))
                assert (await run.outcome()).answer == "near"
                events = [one async for one in runs.stored(run.id) if one.type == "warning"]
                told.append([one.metadata["code"] for one in events])
        assert len(far.asked) == 4
    assert told == [
        ["model_retry", "model_backup"],
        ["model_retry", "breaker_open", "model_backup"],
        ["model_backup"],
    ]
    ((name, is_open),) = crew.recipe.model_guards.open.items()
    assert (name.startswith("far http://"), is_open) == (True, True)
