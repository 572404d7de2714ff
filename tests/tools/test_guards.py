"""Limits and breakers: who waits, who is refused, and when it is tried again."""

import asyncio
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.made_tools import PATIENT, MadeTool
from tests.support.tool_calls import moving_clock
from tools import PermanentError, TemporaryError, Tool, VirtualClock, tool
from tools.calls import CallWarned
from tools.clock import Clock
from tools.definition import tool_from
from tools.handlers.function import Function
from tools.limits.deadline import Limits
from tools.limits.guards import BreakerLimits, CallLimits, Guards, RefusedError, ToolGuard

LONG = Limits(sequence_seconds=1000, tool_seconds=100)


def guarded(
    function: Any,
    clock: Clock,
    limits: CallLimits | None = None,
    breaker: BreakerLimits | None = None,
) -> MadeTool:
    """A tool with a guard, made of a function."""
    made = tool_from(function, name="T", retries=0)
    guard = Guards(clock).of("T", limits, breaker)
    fields = {
        name: getattr(made, name) for name in ("name", "description", "parameters", "act", "check")
    }
    return MadeTool(Tool(**fields, retries=0, guard=guard), LONG, clock)


async def test_as_many_run_as_may():
    """The others wait for a place."""
    async with moving_clock() as clock:
        now, most = 0, 0

        async def work() -> str:
            nonlocal now, most
            now, most = now + 1, max(most, now + 1)
            await clock.sleep(1)
            now -= 1
            return "done"

        call = guarded(work, clock, CallLimits(max_concurrent=3))
        results = await asyncio.gather(*(call() for _ in range(10)))
        assert [one.status for one in results] == ["success"] * 10
        assert most == 3
        assert clock.monotonic() == pytest.approx(4)


async def test_who_waits_longer_than_its_timeout_is_refused():
    """And nothing of it has begun."""
    async with moving_clock() as clock:

        async def work() -> str:
            await clock.sleep(99)
            return "done"

        call = guarded(work, clock, CallLimits(max_concurrent=1))
        results = await asyncio.gather(*(call() for _ in range(3)))
        assert sorted((one.status, one.attempts) for one in results) == [
            ("error", 0),
            ("success", 1),
            ("success", 1),
        ]
        refused = next(one for one in results if one.status == "error")
        assert "1 calls of it are still running; try again" in refused.output
        assert refused.facts == {"refused": True}


async def test_calls_begin_at_their_rate():
    """After a burst."""
    async with moving_clock() as clock:
        begun: list[float] = []

        async def work() -> str:
            begun.append(clock.monotonic())
            return "done"

        call = guarded(work, clock, CallLimits(rate_per_second=2, burst=3))
        await asyncio.gather(*(call() for _ in range(7)))
        assert begun == pytest.approx([0, 0, 0, 0.5, 1.0, 1.5, 2.0])
        # a pause fills the bucket, and no more than that
        await clock.sleep(100)
        begun.clear()
        await asyncio.gather(*(call() for _ in range(5)))
        assert [one - begun[0] for one in begun] == pytest.approx([0, 0, 0, 0.5, 1.0])


async def test_a_rate_that_cannot_be_kept_refuses():
    """It says when to try again, and the turn is not lost to others."""
    async with moving_clock() as clock:

        async def work() -> str:
            return "done"

        call = guarded(work, clock, CallLimits(rate_per_second=0.005))
        assert (await call()).status == "success"
        refused = await call()
        assert (refused.status, refused.attempts) == ("error", 0)
        assert "try again in 200 s" in refused.output
        await clock.sleep(200)
        assert (await call()).status == "success"


async def test_a_breaker_opens_tries_once_and_closes():
    """One call at a time is the probe."""
    async with moving_clock() as clock:
        works, made = False, 0

        async def work() -> str:
            nonlocal made
            made += 1
            await clock.sleep(1)
            if not works:
                raise TemporaryError("down")
            return "up"

        call = guarded(work, clock, breaker=BreakerLimits(failures=3, open_seconds=30))
        for _ in range(3):
            assert (await call()).output == "down"
        assert [one for one in call.events if isinstance(one, CallWarned)] == [
            CallWarned(
                "breaker_open",
                "T failed 3 times in a row; its calls are refused for 30 s, then one is tried",
            )
        ]
        for _ in range(5):
            refused = await call()
            assert (refused.attempts, made) == (0, 3)
        assert refused.output == "not called: it failed 3 times in a row; try again in 30 s"
        await clock.sleep(31)
        # one is tried, and fails: all the others are refused meanwhile, and after it
        results = await asyncio.gather(*(call() for _ in range(4)))
        assert sorted(one.attempts for one in results) == [0, 0, 0, 1]
        assert (await call()).attempts == 0
        works = True
        await clock.sleep(31)
        assert (await call()).output == "up"
        assert [one.status for one in await asyncio.gather(*(call() for _ in range(4)))] == [
            "success"
        ] * 4
        opened = [one for one in call.events if isinstance(one, CallWarned)]
        assert len(opened) == 1


async def test_what_says_nothing_of_health_is_neutral():
    """A wrong argument, a bug, a cancelled call; a success begins anew."""
    async with moving_clock() as clock:
        errors: list[BaseException | None] = [
            TemporaryError("x"),
            PermanentError("no"),
            ValueError("bug"),
            TemporaryError("x"),
            None,
            TemporaryError("x"),
            TemporaryError("x"),
        ]

        async def work() -> str:
            error = errors.pop(0)
            if error is not None:
                raise error
            return "up"

        call = guarded(work, clock, breaker=BreakerLimits(failures=3))
        attempts = [(await call()).attempts for _ in range(7)]
        assert attempts == [1] * 7


async def test_a_cancelled_probe_is_no_verdict():
    """The next call is the probe then."""
    async with moving_clock() as clock:
        hangs, begun = False, asyncio.Event()

        async def work() -> str:
            if hangs:
                begun.set()
                await asyncio.Event().wait()
            raise TemporaryError("down")

        call = guarded(work, clock, breaker=BreakerLimits(failures=1, open_seconds=5))
        await call()
        await clock.sleep(6)
        hangs = True
        task = asyncio.ensure_future(call())
        await begun.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        hangs = False
        assert (await call()).attempts == 1


@given(st.lists(st.sampled_from(["success", "failure", "neutral", None, "wait"]), max_size=40))
def test_a_breaker_never_admits_two_probes_nor_stays_shut(steps: list[Any]):
    """Whatever comes: after its time it admits one call."""

    async def check() -> None:
        clock = VirtualClock()
        guard = Guards(clock).of("T", None, BreakerLimits(2, 10))
        for step in steps:
            if step == "wait":
                clock.call_later(11, lambda: None)
                clock.advance()
                continue
            try:
                async with guard.turn(1) as turn:
                    assert guard.breaker is not None
                    if guard.breaker.is_open:
                        with pytest.raises(RefusedError):
                            guard.breaker.require_closed()
                    turn.outcome = step or "neutral"
                    turn.end()
            except RefusedError:
                continue
        clock.call_later(11, lambda: None)
        clock.advance()
        async with guard.turn(1) as turn:
            turn.outcome = "success"
            turn.end()
        assert guard.breaker is not None
        assert not guard.breaker.is_open

    asyncio.run(check())


def test_a_guard_outlives_a_reload():
    """Unless its limits have changed."""
    guards = Guards(VirtualClock())
    first = guards.of("T", CallLimits(2), BreakerLimits())
    assert guards.of("T", CallLimits(2), BreakerLimits()) is first
    assert guards.of("U", CallLimits(2), BreakerLimits()) is not first
    assert guards.of("T", CallLimits(3), BreakerLimits()) is not first
    assert guards.open == {"T": False, "U": False}
    assert isinstance(first, ToolGuard)


async def test_retries_take_turns_too():
    """Each attempt counts, and a refused one ends the call with what failed before."""
    async with moving_clock() as clock:
        made = 0

        @tool(name="T", retries=5)
        async def work() -> str:
            nonlocal made
            made += 1
            raise TemporaryError("down")

        guard = Guards(clock).of("T", None, BreakerLimits(failures=2))
        assert isinstance(work.act, Function)
        call = MadeTool(
            Tool("T", "", work.parameters, work.act, work.check, retries=5, guard=guard),
            PATIENT,
            clock,
        )
        result = await call()
        assert (result.status, result.attempts, made) == ("error", 2, 2)
        assert result.output.startswith("down; not called: it failed 2 times in a row")


async def test_a_late_end_is_no_end_of_the_probe():
    """A call that began before the breaker opened says nothing of the one that tries again."""
    clock = VirtualClock()
    guard = Guards(clock).of("T", None, BreakerLimits(1, 5))
    async with guard.turn(1) as late, guard.turn(1) as failing:
        failing.outcome = "failure"
        assert failing.end() is guard.breaker
        clock.call_later(6, lambda: None)
        clock.advance()
        async with guard.turn(1) as probe:
            assert probe.is_probe
            late.outcome = "neutral"
            late.end()
            with pytest.raises(RefusedError):
                async with guard.turn(1):
                    pass
            probe.outcome = "success"
            probe.end()
    assert guard.breaker is not None
    assert not guard.breaker.is_open
