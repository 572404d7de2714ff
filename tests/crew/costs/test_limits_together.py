"""Several budgets at once: none keeps a run for ever, and none decides for another one."""

from pathlib import Path
from typing import Any

import pytest

from crew import Answer, MemoryStore, Query, Runs, load_crew
from crew.journal.query import CallDecision
from crew.runs.costs.pots import present_pots
from crew.runs.errors import WrongDecision
from crew.why.reading import explain_run
from tests.crew.costs.test_budgets import SAY, WRITER, codes, crew_with
from tests.support.crews import play, write_crew

PRICES = {"input": 1000, "output": 2000}
DAY = {"scope": "crew", "per": "day"}


def crew_of_budgets(folder: Path, budgets: dict[str, Any], **more: Any) -> Path:
    cheap = {"provider": "scripted", "prices": {"input": 1, "output": 2}}
    dear = {"provider": "scripted", "prices": PRICES}
    models = {"large": dear, "a": cheap, "b": cheap}
    agents = more.pop("agents", {"writer": WRITER})
    return write_crew(
        folder, agents, more.pop("rules", SAY), models=models, budgets=budgets, **more
    )


async def test_two_budgets_that_give_each_other_the_model(tmp_path: Path):
    """Each model is given once: then there is no room there, either."""
    budgets = {
        "one": {**DAY, "tokens": 10, "models": ["large", "b"], "then": {"model": "a"}},
        "two": {**DAY, "tokens": 10, "models": ["a"], "then": {"model": "b"}},
    }
    crew = load_crew(crew_of_budgets(tmp_path, budgets))
    async with Runs(crew, MemoryStore(crew.clock)) as runs:
        run = await play(crew, query=Query("hello"), runs=runs)
    assert (run.row.status, run.row.reason) == ("failed", "budget")
    assert codes(run).count("budget_model") == 2


@pytest.mark.parametrize("seconds", [3600, 0])
async def test_who_waits_for_a_pot_keeps_no_other_waiting(tmp_path: Path, seconds: int):
    """A call of another user has room in all its pots; who waits has what the full budget says."""
    budgets = {
        "all": {**DAY, "tokens": 10**6},
        "person": {"scope": "user", "per": "day", "calls": 1, "wait_seconds": seconds},
    }
    rules = [{"hears": "slow", "say": "x", "delay_seconds": 3600}, *SAY]
    crew = load_crew(crew_of_budgets(tmp_path, budgets, rules=rules))
    async with Runs(crew, MemoryStore(crew.clock)) as runs:
        slow = await runs.start(Query("slow", user_id="ann"))
        async for event in runs.follow(slow.id):
            if event is not None and event.type == "agent_start":
                break
        waiting = await runs.start(Query("hello", user_id="ann"))
        async for event in runs.follow(waiting.id):
            if event is not None and event.type in ("warning", "error"):
                assert event.metadata["code"] == ("budget_wait" if seconds else "budget")
                break
        other = await play(crew, query=Query("hello", user_id="bo"), runs=runs)
        assert other.row.status == "completed"
        for one in (slow, waiting)[: 2 if seconds else 1]:
            await runs.cancel(one.id)


@pytest.mark.parametrize("amount", [{"usd": 1e300}, {"usd": 1e7}, {"tokens": 10**20}])
async def test_more_than_a_pot_can_have(tmp_path: Path, amount: dict[str, Any]):
    """Is refused, and the run waits as before."""
    limit = {"tokens": 10} if "tokens" in amount else {"usd": 0.00001}
    crew = load_crew(crew_with(tmp_path, {**limit, "then": "pause"}))
    async with Runs(crew, MemoryStore(crew.clock)) as runs:
        paused = await play(crew, query=Query("hello"), runs=runs)
        other = {"usd": 1} if "tokens" in amount else {"tokens": 5}
        answer = Answer(decisions=(CallDecision("budget", "approve", arguments=other),))
        with pytest.raises(WrongDecision, match="such as"):
            await runs.resume(paused.row.run_id, answer)
        answer = Answer(decisions=(CallDecision("budget", "approve", arguments=amount),))
        with pytest.raises(WrongDecision, match="maximum"):
            await runs.resume(paused.row.run_id, answer)
        assert (await runs.row(paused.row.run_id)).status == "paused"


async def test_a_pause_of_calls_offers_what_helps(tmp_path: Path):
    crew = load_crew(crew_with(tmp_path, {"calls": 1, "then": "pause"}))
    async with Runs(crew, MemoryStore(crew.clock)) as runs:
        await play(crew, query=Query("hello"), runs=runs)
        paused = await play(crew, query=Query("hello"), runs=runs)
    (pause,) = paused.of("pause")
    (call,) = pause["metadata"]["calls"]
    assert not {"usd", "tokens"} & set(call["schema"]["properties"])


@pytest.mark.parametrize("then", ["end", "block"])
async def test_an_end_names_its_budget(tmp_path: Path, then: str):
    """In a warning or the error, and in why, with the line."""
    crew = load_crew(crew_with(tmp_path, {"tokens": 10, "then": then}))
    store = MemoryStore(crew.clock)
    async with Runs(crew, store) as runs:
        run = await play(crew, query=Query("hello"), runs=runs)
        steps = (await explain_run(store, run.row, crew)).steps
    assert run.row.reason == "budget"
    assert [one.source for one in steps[-1].limits] == ["crew.yaml:16"]
    if then == "end":
        assert "budget today" in run.of("warning")[-1]["content"]


async def test_agents_with_limits_of_their_own(tmp_path: Path):
    """Each has one pot, of its own budget."""
    limits = {"max_tokens_per_day": 1000}
    more = {"max_tokens_per_day": 500}
    agents = {"writer": {**WRITER, "cost_limits": limits}, "other": {**WRITER, "cost_limits": more}}
    folder = crew_of_budgets(
        tmp_path, {}, agents=agents, settings={"client_start_agents": ["other"]}
    )
    crew = load_crew(folder)
    store = MemoryStore(crew.clock)
    async with Runs(crew, store) as runs:
        await play(crew, query=Query("hello"), runs=runs)
        await play(crew, query=Query("hello", agent_id="other"), runs=runs)
        pots = await present_pots(store, crew)
    found = {(one.state.key.value, one.pot.budget.limits.tokens) for one in pots}
    assert found == {("writer", 1000), ("other", 500)}
    assert len(pots) == 2


@pytest.mark.parametrize(
    ("tokens", "thinking", "became"),
    [
        (2500, {"budget_tokens": 1024}, "budget_clipped"),
        (1200, {"budget_tokens": 1024}, "budget"),
        (1200, None, "budget_clipped"),
    ],
)
async def test_what_may_be_thought_has_room_beside_the_answer(
    tmp_path: Path, tokens: int, thinking: dict[str, Any] | None, became: str
):
    """An answer is not cut to what its thoughts alone may take. Nothing listens at the address."""
    more = {"thinking": thinking} if thinking else {}
    folder = write_crew(
        tmp_path,
        {"writer": {**WRITER, "provider": "claude", "max_tokens": 3000, **more}},
        SAY,
        providers={
            "claude": {"dialect": "anthropic", "base_url": "http://127.0.0.1:9", "max_retries": 0}
        },
        models={"large": {"model": "large", "prices": PRICES}},
        budgets={"today": {"scope": "crew", "per": "day", "tokens": tokens}},
    )
    crew = load_crew(folder, environment={"CLAUDE_API_KEY": "x"})
    async with Runs(crew, MemoryStore(crew.clock)) as runs:
        run = await play(crew, query=Query("hello"), runs=runs)
    assert [*codes(run), run.row.reason][0] == became
