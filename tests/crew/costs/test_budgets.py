"""What becomes of runs where a budget has no room, and what never goes over one."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from crew import Answer, MemoryStore, Query, Runs, load_crew
from crew.journal.query import CallDecision
from crew.journal.records.spent.costs import CostQuery
from crew.runs.chores.chores import Chores
from crew.runs.errors import BudgetSpent, WrongDecision
from tests.support.crews import Played, play, write_crew

# a run of this crew uses 26 tokens: 12 in, 14 out
SAY = [{"say": "one two three four five six seven eight nine ten"}]
PRICES = {"input": 1000, "output": 2000}
WRITER = {"model": "large", "max_tokens": 40, "is_terminal": True, "system_prompt": "You write."}


def crew_with(folder: Path, budget: dict[str, Any], **more: Any) -> Path:
    """A crew of one agent, with a budget."""
    agents = more.pop("agents", {"writer": WRITER})
    models = {
        "large": {"provider": "scripted", "prices": PRICES},
        "small": {"provider": "scripted", "prices": {"input": 1, "output": 2}},
    }
    rules = more.pop("rules", SAY)
    budgets = {"today": {"scope": "crew", "per": "day", **budget}}
    return write_crew(folder, agents, rules, models=models, budgets=budgets, **more)


async def runs_of(folder: Path, count: int, store: MemoryStore | None = None) -> list[Played]:
    """Runs one after the other, of one store."""
    crew = load_crew(folder)
    async with Runs(crew, store or MemoryStore(crew.clock)) as runs:
        return [await play(crew, query=Query("hello"), runs=runs) for _ in range(count)]


def codes(run: Played) -> list[str]:
    """The warnings of a run."""
    return [one["metadata"]["code"] for one in run.of("warning")]


async def test_a_run_without_room_fails(tmp_path: Path):
    """With the amounts, the line, and when there is room again; its call is not made."""
    desk = {"model": "small", "max_tokens": 5}
    folder = crew_with(
        tmp_path,
        {"tokens": 110, "agents": ["writer"]},
        agents={"desk": desk, "writer": WRITER},
        rules=[{"agent": "desk", "say": "go on"}, *SAY],
        routing={"defaults": {"desk": "writer"}},
    )
    first, second, third = await runs_of(folder, 3)
    assert [first.row.status, second.row.status] == ["completed"] * 2
    assert (third.row.status, third.row.reason) == ("failed", "budget")
    (error,) = third.of("error")
    assert error["metadata"]["code"] == "budget"
    assert "budget today: " in error["content"]
    assert "(crew.yaml:" in error["content"]
    assert "free again at " in error["content"]
    # of the agent before it
    assert third.row.usage.total_tokens < first.row.usage.total_tokens / 2


async def test_what_a_request_may_cost(tmp_path: Path):
    """By its own bound, never above a budget; a model without a price is not called."""
    folder = crew_with(tmp_path, {"tokens": 1000})
    crew = load_crew(folder)
    async with Runs(crew, MemoryStore(crew.clock)) as runs:
        for usd, status in ((0.2, "completed"), (0.05, "failed")):
            run = await play(crew, query=Query("hello", max_usd=usd), runs=runs)
            assert run.row.status == status
        (error,) = run.of("error")
    assert error["content"].startswith("budget max_usd of ")
    assert "(the request)" in error["content"]


async def test_a_person_may_allow_more(tmp_path: Path):
    """Or not; then the run ends with what it has."""
    folder = crew_with(tmp_path, {"tokens": 60, "then": "pause"})
    crew = load_crew(folder)
    async with Runs(crew, MemoryStore(crew.clock)) as runs:
        first = await play(crew, query=Query("hello"), runs=runs)
        assert first.row.status == "completed"
        for answer, status, reason in (
            (CallDecision("budget", "deny"), "completed", "budget"),
            (CallDecision("budget", "approve", arguments={"tokens": 60}), "completed", "terminal"),
        ):
            run = await runs.start(Query("hello"))
            row = await run.outcome()
            assert row.status == "paused"
            assert row.asks.startswith("spend more? budget today: 26 tokens of 60")
            resumed = await runs.resume(run.id, Answer(decisions=(answer,)))
            row = await resumed.outcome()
            assert (row.status, row.reason) == (status, reason)
        pot = await runs.store.budgets.pots(["today"])
        assert (pot[0].tokens, pot[0].more_tokens, pot[0].held_calls) == (52, 60, 0)


async def test_another_model_by_a_persons_word(tmp_path: Path):
    other = {"scope": "run", "usd": 1, "then": {"model": "small"}}
    folder = write_crew(
        tmp_path / "b",
        {"writer": WRITER},
        SAY,
        models={
            "large": {"provider": "scripted", "prices": PRICES},
            "small": {"provider": "scripted", "prices": {"input": 1, "output": 2}},
        },
        budgets={
            "one": {"scope": "crew", "per": "day", "usd": 0.01, "then": "pause"},
            "run": other,
        },
    )
    crew = load_crew(folder)
    async with Runs(crew, MemoryStore(crew.clock)) as runs:
        run = await runs.start(Query("hello"))
        assert (await run.outcome()).status == "paused"
        for wrong in (
            *({}, {"model": "nix"}, {"usd": -1}, {"usd": "much"}, {"more": 1}),
            *({"for": "all"}, {"again": False}, {"usd": 1, "for": "some"}),
        ):
            decided = CallDecision("budget", "approve", arguments=wrong or None)
            with pytest.raises(WrongDecision):
                await runs.resume(run.id, Answer(decisions=(decided,)))
        decided = CallDecision("budget", "approve", arguments={"model": "small"})
        row = await (await runs.resume(run.id, Answer(decisions=(decided,)))).outcome()
        (call,) = await runs.store.costs.calls_of(run.id)
    assert (row.status, row.reason) == ("completed", "terminal")
    assert (call.model, call.nanos) == ("small", 40_000)


async def test_another_model_takes_over(tmp_path: Path):
    """For the rest of the run; where there is no room for that, the run fails."""
    agents = {
        "first": {**WRITER, "is_terminal": False, "handoff_targets": ["second"]},
        "second": WRITER,
    }
    budget = {"usd": 0.1, "then": {"model": "small"}}
    (run,) = await runs_of(crew_with(tmp_path, budget, agents=agents), 1)
    assert codes(run) == ["budget_model"]
    assert run.row.status == "completed"
    models = [one["metadata"]["model"] for one in run.of("agent_response")]
    assert models == ["large", "small"]
    budget = {"usd": 0.0000001, "then": {"model": "small"}}
    (run,) = await runs_of(crew_with(tmp_path / "b", budget), 1)
    assert codes(run) == ["budget_model"]
    assert (run.row.status, run.row.reason) == ("failed", "budget")


async def test_the_last_call_offers_no_tools(tmp_path: Path):
    """And says so; the run ends with its answer."""
    (tmp_path / "t.py").write_text('def look() -> str:\n    """Look."""\n    return "seen"\n')
    tools = {"look": {"kind": "python", "function": "t.py:look"}}
    agents = {"writer": {**WRITER, "tools": ["look"]}}
    rules = [
        {"hears": "You can call no more tools now", "say": "That is all I have."},
        {"calls": ["look"]},
    ]
    budget = {"tokens": 400, "then": "end"}
    folder = crew_with(tmp_path, budget, agents=agents, rules=rules)
    write_crew(tmp_path / "tools", {"a": {}}, tools=tools)
    (folder / "tools.yaml").write_text((tmp_path / "tools" / "tools.yaml").read_text())
    (run,) = await runs_of(folder, 1)
    assert (run.row.status, run.row.reason) == ("completed", "budget")
    assert run.row.answer == "That is all I have."
    assert codes(run)[-1] == "budget_end"
    assert 1 <= len(run.of("tool_start")) <= 5
    assert run.row.usage.total_tokens <= 400


async def test_warnings_come_once_a_pot(tmp_path: Path):
    """A budget that only warns refuses nothing, and says what it would have refused."""
    store = MemoryStore()
    folder = crew_with(tmp_path, {"tokens": 100, "then": "warn", "warn": ["20%", "50%"]})
    found = [codes(run) for run in await runs_of(folder, 3, store)]
    found += [codes(run) for run in await runs_of(folder, 3, store)]
    # two parts, once each; and each run without room of its own
    assert found == [["budget"]] * 6
    (total,) = await store.costs.sums(CostQuery())
    assert total.calls == 6


async def test_an_answer_is_cut_to_what_is_left(tmp_path: Path):
    """Where at least 256 tokens are left; else the call is not made."""
    agents = {"writer": {**WRITER, "max_tokens": 2000}}
    folder = crew_with(tmp_path, {"tokens": 1000}, agents=agents)
    (run,) = await runs_of(folder, 1)
    assert codes(run) == ["budget_clipped"]
    assert run.row.status == "completed"


@pytest.mark.parametrize(
    ("scope", "users", "refused"),
    [
        ("user", ["ann", "eve", "ann", "", ""], [2]),
        ("conversation", ["ann", "eve", "ann", "", ""], [2, 4]),
        ("run", ["", "", ""], []),
        ("agent", ["", ""], [1]),
    ],
)
async def test_each_value_has_its_own_pot(
    tmp_path: Path, scope: str, users: list[str], refused: list[int]
):
    """Calls without a value have none."""
    keys: dict[str, Any] = {"scope": scope, "tokens": 60}
    per = {} if scope == "run" else {"per": "day"}
    folder = write_crew(
        tmp_path,
        {"writer": WRITER},
        SAY,
        models={"large": {"provider": "scripted", "prices": PRICES}},
        budgets={"one": {**keys, **per}},
        conversations={"title_after": None} if scope == "conversation" else None,
    )
    talk = "c1" if scope == "conversation" else ""
    crew = load_crew(folder)
    found = []
    async with Runs(crew, MemoryStore(crew.clock)) as runs:
        for place, user in enumerate(users):
            try:
                query = Query("hello", user_id=user, conversation_id=talk)
                await play(crew, query=query, runs=runs)
            except BudgetSpent:
                found.append(place)
    assert found == refused


async def test_members_of_a_group_share_a_pot(tmp_path: Path):
    """One pause for all of them; those that have answered are not asked again."""
    agents = {
        "lead": {"model": "large", "max_tokens": 40, "system_prompt": "You lead."},
        **{name: {**WRITER, "is_terminal": False} for name in ("one", "two", "three")},
        "end": WRITER,
    }
    routing = {
        "defaults": {"lead": "team"},
        "parallel_groups": {"team": {"agents": ["one", "two", "three"], "next_agent": "end"}},
    }
    rules = [{"agent": "lead", "say": "Go."}, *SAY]
    budget = {"tokens": 135, "then": "pause", "wait_seconds": 0}
    folder = crew_with(tmp_path, budget, agents=agents, rules=rules, routing=routing)
    crew = load_crew(folder)
    async with Runs(crew, MemoryStore(crew.clock)) as runs:
        run = await runs.start(Query("hello"))
        row = await run.outcome()
        pauses = 0
        while row.status == "paused":
            pauses += 1
            assert pauses < 9
            decided = CallDecision("budget", "approve", arguments={"tokens": 100})
            run = await runs.resume(run.id, Answer(decisions=(decided,)))
            row = await run.outcome()
        calls = await runs.store.costs.calls_of(run.id)
    assert pauses >= 1
    assert (row.status, row.reason) == ("completed", "terminal")
    assert sorted(one.agent_id for one in calls) == ["end", "lead", "one", "three", "two"]


async def test_fifty_runs_at_once_do_not_go_over(tmp_path: Path):
    """Each waits for room that others have reserved, and is refused only where there is none."""
    rules = [{**SAY[0], "delay_seconds": 0.02}]
    budget = {"tokens": 100, "reserve": "worst"}
    crew = load_crew(crew_with(tmp_path, budget, rules=rules))
    store = MemoryStore(crew.clock)
    async with Runs(crew, store) as runs:
        started = await asyncio.gather(*(runs.start(Query("hello")) for _ in range(50)))
        rows = [await one.outcome() for one in started]
    done = [row for row in rows if row.status == "completed"]
    (pot,) = await store.budgets.pots(["today"])
    assert len(done) == 2
    assert (pot.tokens, pot.held_tokens, pot.calls) == (52, 0, 2)
    assert {row.reason for row in rows if row.status == "failed"} == {"budget"}


async def test_a_former_process_leaves_its_reservations(tmp_path: Path):
    """To the one that goes on with the run: they count as they were estimated."""
    rules = [{**SAY[0], "delay_seconds": 30}]
    crew = load_crew(crew_with(tmp_path, {"tokens": 1000}, rules=rules))
    store = MemoryStore(crew.clock)
    runs = Runs(crew, store)
    run = await runs.start(Query("hello"))
    async for event in runs.follow(run.id):
        # its call begins behind that
        if event is not None and event.type == "agent_start":
            break
    await asyncio.sleep(0)
    (pot,) = await store.budgets.pots(["today"])
    assert (pot.held_tokens, pot.tokens) == (54, 0)
    assert await store.budgets.settle_lost(run.id) == 1
    (pot,) = await store.budgets.pots(["today"])
    assert (pot.held_tokens, pot.tokens) == (0, 54)
    (lost,) = await store.costs.calls_of(run.id)
    assert (lost.lost, lost.estimated, lost.outcome) == (1, 1, "lost")
    await runs.cancel(run.id)
    await run.outcome()
    await runs.__aexit__(None, None, None)


async def test_helpers_are_paid_from_budgets(tmp_path: Path):
    """Under their own name, in the pots of the user that they work for."""
    folder = write_crew(
        tmp_path,
        {"writer": WRITER},
        [{"helper": "title", "say": '{"title": "Hello"}'}, *SAY],
        models={"large": {"provider": "scripted", "prices": PRICES}},
        conversations={"title_after": 1},
        budgets={"user": {"scope": "user", "per": "total", "calls": 99}},
    )
    crew = load_crew(folder)
    async with Runs(crew, MemoryStore(crew.clock)) as runs:
        query = Query("hello", user_id="ann", conversation_id="c1")
        await (await runs.start(query)).outcome()
        await Chores(runs).drain()
        sums = await runs.store.costs.sums(CostQuery(("agent", "user", "conversation")))
        (pot,) = await runs.store.budgets.pots(["user"])
    assert {one.keys for one in sums} == {
        ("writer", "ann", "c1"),
        ("helper-title", "ann", "c1"),
    }
    assert (pot.key.value, pot.calls, pot.held_calls) == ("ann", 2, 0)


async def test_the_next_process_knows_how_long_answers_are(tmp_path: Path):
    """It reserves what they most often have; without any of them, all that the next may have."""
    # twenty runs, and one that has 30 tokens left
    folder = crew_with(tmp_path, {"tokens": 20 * 26 + 30})
    store = MemoryStore()
    played = await runs_of(folder, 20, store)
    assert {one.row.status for one in played} == {"completed"}
    (known,) = await runs_of(folder, 1, store)
    assert known.row.status == "completed"
    other = crew_with(tmp_path / "other", {"tokens": 30})
    (unknown,) = await runs_of(other, 1)
    assert (unknown.row.status, unknown.row.reason) == ("failed", "budget")


@pytest.mark.parametrize(("models", "offered"), [([], False), (["large"], True)])
async def test_another_model_is_no_way_out_of_a_limit_of_calls(
    tmp_path: Path, models: list[str], offered: bool
):
    """Unless it does not count them."""
    limit = {"calls": 1, "then": "pause"} | ({"models": models} if models else {})
    _, second = await runs_of(crew_with(tmp_path, limit), 2)
    (asked,) = second.of("pause")[0]["metadata"]["calls"]
    assert ("model" in asked["schema"]["properties"]) == offered
    assert "again" in asked["schema"]["properties"]
