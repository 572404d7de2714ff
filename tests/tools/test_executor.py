"""A sequence of calls: one result each, deadlines kept, retries by class of error, nothing harms anything else."""

import asyncio
import contextlib
import socket
import subprocess
import sys
import threading
from collections.abc import Callable
from typing import Any

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.tool_calls import QUICK, calls, failing, moving_clock, run
from tools import (
    PermanentError,
    TemporaryError,
    Tool,
    ToolCall,
    ToolResult,
    tool,
)
from tools.calls import CallRetried, CallStarted
from tools.handlers.function import Function
from tools.limits.deadline import Limits
from tools.schemas.schema import JsonSchema


@tool
def add(a: int, b: int = 1) -> int:
    """Add two numbers."""
    return a + b


@tool
async def hang() -> str:
    """Never answer."""
    await asyncio.Event().wait()
    return ""


async def test_every_call_has_one_result_in_order():
    """Known, unknown, misspelt, unreadable and wrong calls alike."""
    asked = [
        ToolCall("1", "add", {"a": "2", "b": 3}),
        ToolCall("2", "ad", {}),
        ToolCall("3", "add", {"a": 1, "c": 2}),
        ToolCall("4", "add", {}, argument_error="the arguments are not JSON"),
        ToolCall("5", "add", {"a": "x"}),
        ToolCall("6", "add", {}),
    ]
    results, _ = await run(asked, add)
    assert [r.call_id for r in results] == ["1", "2", "3", "4", "5", "6"]
    assert [(r.status, r.attempts) for r in results] == [("success", 1)] + [("error", 0)] * 5
    assert results[0].output == "5"
    assert "did you mean 'add'?" in results[1].output
    assert "c: is unknown" in results[2].output
    assert results[3].output == "the arguments are not JSON"
    assert "a: Input should be a valid integer" in results[4].output
    assert "a: is missing" in results[5].output


@pytest.mark.parametrize(
    ("error", "attempts", "status"),
    [
        (lambda: TemporaryError("busy"), 3, "error"),
        (lambda: ConnectionResetError("reset"), 3, "error"),
        (lambda: socket.gaierror("no name"), 3, "error"),
        (lambda: TimeoutError("slow"), 3, "timeout"),
        (lambda: PermanentError("gone"), 1, "error"),
        (lambda: ValueError("bug"), 1, "error"),
        (lambda: asyncio.CancelledError(), 1, "error"),
        (lambda: SystemExit(3), 1, "error"),
        (lambda: KeyboardInterrupt(), 1, "error"),
        (lambda: StopIteration(), 1, "error"),
    ],
    ids=[
        "temporary",
        "network",
        "dns",
        "timeout",
        "permanent",
        "bug",
        "cancelled",
        "exit",
        "interrupt",
        "stop",
    ],
)
async def test_retries_by_class_of_error(
    error: Callable[[], BaseException], attempts: int, status: str
):
    """Two retries where another try may help, none where it cannot; the other calls go on."""
    made = [ToolCall("1", "failing"), ToolCall("2", "add", {"a": 1})]
    async with moving_clock() as clock:
        results, received = await run(made, failing(error), add, clock=clock)
    assert (results[0].attempts, results[0].status) == (attempts, status)
    assert results[1].output == "2"
    assert sum(isinstance(event, CallRetried) for event in received) == attempts - 1


async def test_a_retry_that_works_is_a_success():
    """The third attempt answers."""
    results, _ = await run(calls("failing"), failing(lambda: TemporaryError("busy"), times=2))
    assert (results[0].status, results[0].attempts, results[0].output) == ("success", 3, "3")


async def test_once_is_never_tried_again():
    """What may have acted is left alone, whatever the error."""
    results, _ = await run(
        calls("failing"), failing(lambda: TemporaryError("busy"), times=1, effect="once")
    )
    assert (results[0].status, results[0].attempts) == ("error", 1)


async def test_own_retries_and_timeout_beat_the_limits():
    """What the tool says of itself counts."""
    results, received = await run(
        calls("failing"), failing(lambda: TemporaryError("busy"), retries=4, timeout_seconds=0.15)
    )
    assert results[0].attempts == 5
    started = next(event for event in received if isinstance(event, CallStarted))
    assert started.timeout_seconds == pytest.approx(0.15)


async def test_the_sequence_is_bounded_and_late_calls_get_their_result():
    """Hanging calls use the time up; the rest are answered as not started; it ends with its second."""
    async with moving_clock() as clock:
        results, _ = await run(calls(*["hang"] * 8), hang, clock=clock)
        assert clock.monotonic() == pytest.approx(QUICK.sequence_seconds)
    assert len(results) == 8
    assert {r.status for r in results} == {"timeout"}
    assert results[-1].attempts == 0
    assert "used up" in results[-1].output


async def test_a_handler_that_ignores_cancellation_is_left_behind():
    """Its call is answered, and the next one runs, while it goes on."""
    release = asyncio.Event()
    ended = asyncio.Event()

    @tool
    async def stubborn() -> str:
        while not release.is_set():
            with contextlib.suppress(asyncio.CancelledError):
                await release.wait()
        ended.set()
        return "late"

    results, _ = await run(
        [ToolCall("1", "stubborn"), ToolCall("2", "add", {"a": 1})],
        stubborn,
        add,
        limits=Limits(tool_seconds=0.1, retries=0),
    )
    assert [r.call_id for r in results] == ["1", "2"]
    assert results[0].status == "timeout"
    assert not ended.is_set()
    release.set()
    await ended.wait()


async def test_a_handler_that_blocks_its_thread_is_left_behind():
    """The thread cannot be stopped; the call is answered all the same, while it goes on."""
    release, ended = threading.Event(), threading.Event()

    @tool
    def block() -> str:
        release.wait()
        ended.set()
        return "late"

    results, _ = await run(
        [ToolCall("1", "block"), ToolCall("2", "add", {"a": 1})],
        block,
        add,
        limits=Limits(tool_seconds=0.1, retries=0),
    )
    assert not ended.is_set()
    release.set()
    assert ended.wait(60)
    assert [r.call_id for r in results] == ["1", "2"]
    assert results[0].status == "timeout"


async def test_parallel_calls_run_at_once_and_keep_their_order():
    """Three calls that wait for each other can only end together; results are emitted as calls end."""
    barrier = anyio.Event()
    waiting: list[str] = []

    @tool
    async def meet(name: str) -> str:
        waiting.append(name)
        if len(waiting) == 3:
            barrier.set()
        await barrier.wait()
        return name

    asked = [ToolCall(name, "meet", {"name": name}) for name in "abc"]
    results, _ = await run(asked, meet, limits=Limits(parallel=True))
    assert [r.output for r in results] == ["a", "b", "c"]


async def test_a_cancelled_caller_takes_its_call_along():
    """The handler sees the cancellation of the run."""
    seen = anyio.Event()

    @tool
    async def wait() -> str:
        try:
            await anyio.sleep(30)
        except asyncio.CancelledError:
            seen.set()
            raise
        return ""

    with anyio.move_on_after(0.05):
        await run(calls("wait"), wait, limits=Limits())
    with anyio.fail_after(2):
        await seen.wait()


@given(
    st.lists(st.sampled_from(["quick", "hang", "nope", "failing", "slow"]), max_size=6),
    st.booleans(),
)
async def test_one_result_per_call_whatever_the_mix(names: list[str], parallel: bool):
    """Any sequence: as many results as calls, in order, within the deadline."""
    limits = Limits(
        sequence_seconds=50,
        tool_seconds=10,
        overhead_seconds=1,
        minimum_seconds=2,
        backoff_min_seconds=1,
        parallel=parallel,
    )
    async with moving_clock() as clock:

        @tool
        async def slow() -> str:
            await clock.sleep(3)
            return "slow"

        @tool
        async def quick() -> str:
            return "quick"

        busy = failing(lambda: TemporaryError("busy"))
        asked = [ToolCall(str(n), name) for n, name in enumerate(names)]
        results, events = await run(asked, quick, hang, slow, busy, limits=limits, clock=clock)
        assert clock.monotonic() <= limits.sequence_seconds
    call_ids = [r.call_id for r in results]
    assert call_ids == [str(n) for n in range(len(names))]
    assert sorted(e.call_id for e in events if isinstance(e, ToolResult)) == call_ids


async def test_outputs_become_text():
    """Text as it is, JSON for the rest, nothing for None; what has no form is an error; half a surrogate is replaced."""
    values: dict[str, Any] = {
        "text": "é",
        "list": [1, "é"],
        "none": None,
        "half": "a\ud800b",
        "odd": object(),
    }
    tools = [
        Tool(name, "", {}, Function(name, lambda value=value: value), lambda arguments: arguments)
        for name, value in values.items()
    ]
    results, _ = await run([ToolCall(name, name) for name in values], *tools)
    assert [r.output for r in results][:4] == ["é", '[1,"é"]', "", "a?b"]
    assert results[4].status == "error"


async def test_errors_of_any_kind_have_words():
    """Also one whose own words fail, and one with half a surrogate in them."""

    class Mute(Exception):
        def __str__(self) -> str:
            raise RuntimeError("no words")

    for error, said in ((Mute, "Mute"), (lambda: PermanentError("\udcff"), "?")):
        results, _ = await run(calls("failing"), failing(error))
        assert results[0].status == "error"
        assert said in results[0].output


def test_a_handler_that_never_returns_keeps_no_process_from_ending():
    """Its thread is a daemon."""
    program = """
import asyncio, time
from tools import *
from tools.limits.deadline import Limits
@tool
def hang() -> str:
    time.sleep(1000)
async def main():
    async def tell(event): ...
    print((await ToolExecutor(Limits(tool_seconds=0.1, retries=0)).run([ToolCall("1", "hang")], {"hang": hang}, tell))[0].status)
asyncio.run(main())
"""
    ended = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=20, check=True
    )
    assert ended.stdout == "timeout\n"


async def test_arguments_of_a_written_schema_are_coerced_and_checked():
    """Text that stands for a number is one; what nobody described is refused."""
    schema = JsonSchema(
        {"properties": {"n": {"type": "integer"}, "on": {"type": "boolean"}}, "required": ["n"]}
    )
    echo = Tool(
        "echo", "", schema.parameters, Function("echo", lambda **given: given), schema.check
    )
    asked = [
        ToolCall("1", "echo", {"n": "5", "on": "true"}),
        ToolCall("2", "echo", {"n": "x"}),
        ToolCall("3", "echo", {"n": 1, "z": 1}),
    ]
    results, _ = await run(asked, echo)
    assert results[0].output == '{"n":5,"on":true}'
    assert [r.status for r in results[1:]] == ["error", "error"]
