"""Virtual time is exact: it moves when the event loop would block, and waits for what is outside."""

import asyncio
import threading
import time
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.tool_calls import QUICK, moving_clock, run
from tools import ToolCall, VirtualClock, VirtualLoop, tool


async def test_time_stands_still_while_anything_is_ready():
    """However long that takes: nothing is counted, and no timer fires before its moment."""
    async with moving_clock() as clock:
        fired: list[float] = []
        clock.call_later(1, lambda: fired.append(clock.monotonic()))
        for _ in range(5000):
            await asyncio.sleep(0)
        assert (fired, clock.monotonic()) == ([], 0.0)
        await clock.sleep(2)
        assert (fired, clock.monotonic()) == ([1.0], 2.0)


@given(st.lists(st.integers(0, 10**6), min_size=1, max_size=20))
def test_timers_fire_at_their_moments(seconds: list[int]):
    """In their order, each exactly then."""

    async def play() -> list[float]:
        clock = VirtualClock()
        moving, fired = asyncio.create_task(clock.run()), list[float]()

        async def wait(one: int) -> None:
            await clock.sleep(one)
            fired.append(clock.monotonic())

        await asyncio.gather(*(wait(one) for one in seconds))
        moving.cancel()
        return fired

    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        assert runner.run(play()) == sorted(seconds)


async def test_a_handler_in_a_thread_holds_the_clock():
    """Days that are due meanwhile do not pass before it has its result."""
    may_end = threading.Event()

    @tool
    def blocks() -> str:
        """Waits for a thread of the test's."""
        may_end.wait(30)
        return "done"

    async with moving_clock() as clock:
        passed: list[float] = []
        clock.call_later(86_400, lambda: passed.append(clock.monotonic()))
        threading.Timer(0.05, may_end.set).start()
        limits = replace(QUICK, sequence_seconds=3600, tool_seconds=1800)
        (result,), _ = await run([ToolCall("1", "blocks")], blocks, limits=limits, clock=clock)
        assert (result.status, result.output, passed) == ("success", "done", [])
        await clock.sleep(90_000)
        assert len(passed) == 1


async def test_a_handler_in_a_thread_has_its_deadline():
    """By the machine's time, at which the clock runs meanwhile."""
    may_end = threading.Event()

    @tool
    def hangs() -> str:
        """Waits for ever."""
        may_end.wait(30)
        return "late"

    async with moving_clock() as clock:
        began = time.monotonic()
        limits = replace(QUICK, retries=0)
        (result,), _ = await run([ToolCall("1", "hangs")], hangs, limits=limits, clock=clock)
        may_end.set()
    assert result.status == "timeout"
    assert time.monotonic() - began >= 0.19


async def test_a_clock_needs_its_own_loop():
    """Another one would block without it."""

    def elsewhere() -> None:
        asyncio.run(VirtualClock().run())

    with pytest.raises(RuntimeError, match="loop_factory=VirtualLoop"):
        await asyncio.to_thread(elsewhere)


async def test_a_month_away_is_no_error():
    """The machine's own waits are shorter than that."""
    async with moving_clock() as clock:
        waiting = asyncio.create_task(clock.sleep(30 * 86_400))
        await asyncio.sleep(0)
        await asyncio.to_thread(time.sleep, 0.01)
        assert not waiting.done()
        await waiting


async def test_two_clocks_in_one_loop():
    """Each moves, also while the other one is held, or has ever more to do."""
    async with moving_clock() as one, moving_clock() as other:

        async def tick() -> None:
            while True:
                await one.sleep(60)

        ticking = asyncio.create_task(tick())
        await other.sleep(5)
        ticking.cancel()
        with one.hold():
            await other.sleep(5)
        assert other.monotonic() == 10
