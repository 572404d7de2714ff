"""What single steps cost: signals, text calls, routing, contexts, the journal, frames.

Run: make bench. Each is also measured with more of what it must not depend on: messages, agents, events.
"""

import asyncio
import itertools
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from agents import AgentMessage, Message, UserMessage
from agents.context.loaded import NOTHING, Context
from agents.events import AgentDelta, AgentStarted
from agents.tokenizing.tokens import count_tokens
from agents.turns.request import Wanted, prepare_request, window_of
from agents.written.text_calls import find_calls
from crew import Crew, MemoryStore, SqliteStore, load_crew
from crew.journal.events import RunStarted
from crew.journal.outlets import Outlets
from crew.journal.query import Query
from crew.journal.records.rows import RunRow
from crew.journal.wire import to_run_event
from crew.journal.writer import Journal
from crew.routing.decisions import decide
from crew.routing.signals import Signal, find
from server.http.sse import frame
from tests.support.crews import write_crew
from tools.clock import SYSTEM_CLOCK

Benchmark = Callable[..., Any]
PROSE = "The disk of web-2 is full; nginx answers 502 since 04:12. I have looked at the logs. " * 20
NOW = "2026-01-01T00:00:00.000Z"


def crew_of(agents: int, folder: Path) -> Crew:
    """Each hands over to the next by a signal of its own."""
    names = [f"a{n}" for n in range(agents)]
    pairs = itertools.pairwise(names)
    signals = {name: [{"signal": f"[TO {to}]", "target": to}] for name, to in pairs}
    keys: dict[str, Any] = {name: {} for name in names}
    keys[names[-1]] = {"is_terminal": True}
    return load_crew(write_crew(folder, keys, routing={"signals": signals}))


@pytest.mark.parametrize("signals", [1, 10, 100])
def test_signals_in_an_answer(benchmark: Benchmark, signals: int) -> None:
    """Of 1,700 characters, with the last of them in it."""
    known = [Signal.of(f"[SIGNAL {n}]") for n in range(signals)]
    assert benchmark(find, known, f"{PROSE}[SIGNAL {signals - 1}]") == [signals - 1]


def test_calls_in_a_text(benchmark: Benchmark) -> None:
    """Of 1,700 characters, with one in it."""
    tools = {f"Tool{n}": ["host", "port"] for n in range(20)}
    assert len(benchmark(find_calls, f"{PROSE}\nTool7(web-2, port=80)\n", tools)) == 1


def test_tokens_of_a_text(benchmark: Benchmark) -> None:
    """Of 1,700 characters."""
    # each another one: counts are kept
    numbers = itertools.count()
    assert benchmark(lambda: count_tokens(f"{next(numbers)} {PROSE}")) > 100


@pytest.mark.parametrize("agents", [2, 1000])
def test_where_an_answer_leads(benchmark: Benchmark, tmp_path: Path, agents: int) -> None:
    """By a signal, in a small and in a large crew."""
    routing = crew_of(agents, tmp_path).routing
    benchmark(decide, routing, "a0", f"{PROSE}[TO a1]", {"a0"})


@pytest.mark.parametrize("messages", [10, 100, 1000])
def test_a_request_of_a_history(benchmark: Benchmark, tmp_path: Path, messages: int) -> None:
    """What a model is sent for one more turn, after that many messages that it was sent before."""
    agent = crew_of(1, tmp_path).agents["a0"]
    history: list[Message] = [UserMessage("hi")]
    history += [AgentMessage("b", "Bob", f"{n}: is it up?") for n in range(messages)]
    context, window = Context(), window_of(agent)
    benchmark(prepare_request, agent, history, context, NOTHING, window, Wanted())


@pytest.mark.parametrize("kind", ["memory", "sqlite"])
@pytest.mark.parametrize("stored", [10, 10_000])
def test_an_event_recorded_and_stored(benchmark: Benchmark, kind: str, stored: int) -> None:
    """One by one, each waited for, in a run that has so many already."""
    with asyncio.Runner() as runner, tempfile.TemporaryDirectory() as folder:
        store = MemoryStore() if kind == "memory" else SqliteStore(Path(folder) / "x.db")
        journal = runner.run(_journal(store))

        async def record(count: int) -> None:
            for _ in range(count):
                journal.record(AgentStarted("a", "Ann", None, 1, "m"))
            await journal.settled()

        for _ in range(stored // 10):
            runner.run(record(10))
        benchmark(lambda: runner.run(record(1)))
        runner.run(store.aclose())


async def _journal(store: MemoryStore | SqliteStore) -> Journal:
    journal = Journal(Outlets(store, SYSTEM_CLOCK), "r1", "q1", lambda event: None)
    row = RunRow("r1", "c", "running", "hi", NOW, "q1")
    await journal.begin(RunStarted("c", "a", "Ann", "q1", Query("hi")), row, None)
    return journal


@pytest.mark.parametrize(
    "event", [AgentDelta("a", "Ann", None, "word "), AgentStarted("a", "Ann", None, 1, "m")]
)
def test_a_frame(benchmark: Benchmark, event: AgentDelta | AgentStarted) -> None:
    """Of a piece of text, and of another event: from what has happened to the bytes that are sent."""

    def made() -> bytes:
        seq = None if isinstance(event, AgentDelta) else 7
        public = to_run_event(event, "01ARZ3NDEKTSV4RRFFQ69G5FAV", seq, NOW)
        assert public is not None, "clients get it"
        return frame("01ARZ3NDEKTSV4RRFFQ69G5FAV", public)

    assert benchmark(made).endswith(b"\n\n")
