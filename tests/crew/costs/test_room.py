"""How room in a pot is counted: days where clocks are set, the dearest price, a run's own calls."""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from agents.costs.prices import Prices, Rates
from agents.costs.usage import Usage
from crew import MemoryStore, Query, Runs, load_crew
from crew.backends.sqlite.store import SqliteStore
from crew.budgets.estimates import estimate
from crew.budgets.periods import Per, period_of
from crew.crew import check
from crew.runs.costs.pots import fullest_ratios, present_pots
from crew.runs.errors import BudgetSpent
from crew.why.reading import explain_run
from tests.crew.costs.test_budgets import PRICES, SAY, WRITER, codes, crew_with
from tests.crew.costs.test_limits_together import crew_of_budgets
from tests.support.crews import play, write_crew
from tests.support.tool_calls import moving_clock

ADDRESS = {"base_url": "http://127.0.0.1:9/v1", "api_key": "${HOME}"}
ZONES = st.sampled_from(
    ["UTC", "Atlantic/Azores", "America/Havana", "Europe/Berlin", "Australia/Lord_Howe"]
)
MOMENTS = st.datetimes(datetime(2024, 1, 1), datetime(2028, 1, 1)).map(  # noqa: DTZ001 # UTC is added
    lambda one: one.replace(tzinfo=UTC)
)


@given(ZONES, st.sampled_from(["day", "week", "month"]), MOMENTS, st.integers(0, 7200))
@example("Atlantic/Azores", "day", datetime(2026, 10, 25, 0, 30, tzinfo=UTC), 2400)
@example("America/Havana", "month", datetime(2026, 11, 1, 4, 30, tzinfo=UTC), 3600)
def test_a_day_has_one_pot(zone_name: str, per: Per, moment: datetime, seconds: int):
    """Also where clocks go back over midnight, and a part of it is there twice."""
    zone = ZoneInfo(zone_name)
    start, end = (datetime.fromisoformat(one) for one in period_of(per, moment, zone))
    assert start <= moment < end
    later = moment + timedelta(seconds=seconds)
    same = moment.astimezone(zone).date() == later.astimezone(zone).date()
    if same:
        assert period_of(per, later, zone) == period_of(per, moment, zone)


TOKENS = st.integers(0, 2000)
PRICE = st.integers(0, 100_000)


@given(
    st.tuples(*[PRICE] * 5),
    st.lists(st.tuples(st.integers(1, 2000), st.tuples(*[PRICE] * 5)), max_size=2),
    TOKENS,
    TOKENS,
    st.data(),
)
def test_no_call_costs_more_than_its_estimate(
    rates: Any, above: Any, come_in: int, go_out: int, draw: st.DataObject
):
    """Whatever of its tokens a cache, or thinking, has; also with fewer of them."""
    tiers = sorted({tokens: Rates(*one) for tokens, one in above}.items())
    prices = Prices(Rates(*rates), "models", tiers)
    most = estimate(come_in, go_out, prices)
    used, said = draw.draw(st.integers(0, come_in)), draw.draw(st.integers(0, go_out))
    read = draw.draw(st.integers(0, used))
    written = draw.draw(st.integers(0, used - read))
    thought = draw.draw(st.integers(0, said))
    usage = Usage(
        used,
        said,
        cache_read_tokens=read,
        cache_write_tokens=written,
        thinking_tokens=thought,
    )
    assert most.nanos is not None
    assert prices.nanos(usage) <= most.nanos


@pytest.mark.parametrize("backend", ["memory", "sqlite"])
async def test_a_run_does_not_stand_in_its_own_way(tmp_path: Path, backend: str):
    """What its calls have reserved is given back before the next one is refused."""
    agents = {
        one: {**WRITER, "max_tokens": 60, "is_terminal": one == "c", "handoff_targets": then}
        for one, then in (("a", ["b"]), ("b", ["c"]), ("c", []))
    }
    one_run = {"one-run": {"scope": "run", "usd": 0.35, "wait_seconds": 0}}
    crew = load_crew(crew_of_budgets(tmp_path, one_run, agents=agents))
    store = MemoryStore(crew.clock) if backend == "memory" else SqliteStore(tmp_path / "crew.db")
    async with Runs(crew, store) as runs:
        run = await play(crew, query=Query("hello"), runs=runs)
    assert (run.row.status, run.row.reason, codes(run)) == ("completed", "terminal", [])


async def test_members_wait_each_for_what_has_ended(tmp_path: Path):
    """Both ask again at once: not only the one that has it written gets the room."""
    dear = {**WRITER, "max_tokens": 60, "is_terminal": False}
    member = {**dear, "output": {"properties": {"ok": {"type": "boolean"}}}}
    agents = {"a": dear, "b": member, "c": member, "d": {**dear, "is_terminal": True}}
    group = {"agents": ["b", "c"], "wait_for_all": True, "next_agent": "d"}
    routing = {"defaults": {"a": "both"}, "parallel_groups": {"both": group}}
    rules: list[dict[str, Any]] = [{"hears": "must be", "say": {"ok": True}}]
    rules += [{"agent": one, "say": {"ok": "x"}} for one in "bc"] + [{"say": "done"}]
    own = {"own": {"scope": "run", "usd": 0.58, "wait_seconds": 0}}
    folder = crew_of_budgets(tmp_path, own, agents=agents, routing=routing, rules=rules)
    crew = load_crew(folder)
    async with Runs(crew, SqliteStore(tmp_path / "crew.db")) as runs:
        run = await play(crew, query=Query("hello"), runs=runs)
    assert (run.row.status, run.row.reason, codes(run)) == ("completed", "terminal", [])
    assert len(run.of("agent_response")) == 6


@pytest.mark.parametrize("name", ["max_usd", "cost_limits"])
def test_names_that_have_pots_of_their_own_are_taken(tmp_path: Path, name: str):
    folder = crew_of_budgets(tmp_path, {name: {"scope": "run", "tokens": 10**6}})
    (problem,) = [one for one in check(folder).problems if one.severity == "error"]
    assert (problem.code, problem.file) == ("bad-name", "crew.yaml")
    assert "choose another name" in problem.message


def test_a_budgets_other_model_is_used(tmp_path: Path):
    """With its provider; no advice leads to a run that fails."""
    models = {
        "large": {"provider": "first", "model": "l", "prices": PRICES},
        "small": {"provider": "second", "model": "s", "prices": {"input": 1, "output": 2}},
    }
    providers = dict.fromkeys(("first", "second"), ADDRESS)
    budgets = {"run": {"scope": "run", "usd": 1, "then": {"model": "small"}}}
    folder = write_crew(
        tmp_path, {"writer": WRITER}, models=models, providers=providers, budgets=budgets
    )
    agent = folder / "agents" / "writer.yaml"
    agent.write_text(agent.read_text().replace("provider: scripted\n", ""))
    assert "scripted" not in agent.read_text()
    assert not check(folder).problems


async def test_refusals_are_counted(tmp_path: Path):
    """Of runs that are not begun, too, and each that a budget would have refused."""
    crew = load_crew(crew_with(tmp_path / "one", {"calls": 1}))
    async with Runs(crew, MemoryStore(crew.clock)) as runs:
        await play(crew, query=Query("hello"), runs=runs)
        for _ in range(2):
            with pytest.raises(BudgetSpent):
                await runs.start(Query("hello"))
    assert crew.recipe.budget_refusals == {("today", "block"): 2}
    crew = load_crew(crew_with(tmp_path / "two", {"calls": 1, "then": "warn"}))
    async with Runs(crew, MemoryStore(crew.clock)) as runs:
        for _ in range(3):
            await play(crew, query=Query("hello"), runs=runs)
        (pot,) = await present_pots(runs.store, crew)
    assert crew.recipe.budget_refusals == {("today", "warn"): 2}
    assert pot.state.calls == 3


async def test_a_new_period_is_empty(tmp_path: Path):
    """For metrics too: a budget that nobody has used yet is not as full as it was before."""
    folder = crew_with(tmp_path, {"scope": "user", "per": "hour", "calls": 2})
    async with moving_clock() as clock:
        crew = load_crew(folder, clock=clock)
        runs, empty = Runs(crew, MemoryStore(clock)), {"today": (0.0, 0.0)}
        assert await fullest_ratios(runs.store, crew) == empty
        await (await runs.start(Query("hello", user_id="ann"))).outcome()
        assert await fullest_ratios(runs.store, crew) == {"today": (0.5, 0.0)}
        await clock.sleep(3600)
        assert await fullest_ratios(runs.store, crew) == empty


async def test_a_cut_answer_names_its_budget(tmp_path: Path):
    """In words, and with its line where it is explained; each once."""
    agents = {"writer": {**WRITER, "max_tokens": 2000}}
    crew = load_crew(crew_with(tmp_path, {"tokens": 1000}, agents=agents, rules=SAY))
    async with Runs(crew, MemoryStore(crew.clock)) as runs:
        run = await play(crew, query=Query("hello"), runs=runs)
        explained = await explain_run(runs.store, run.row, crew)
    (step,) = [one for one in explained.steps if one.step == "warning budget_clipped"]
    (limit,) = step.limits
    assert "budget today has no more room" in limit.because
    assert (limit.source or "").startswith("crew.yaml:")
    assert not step.decided


async def test_no_room_for_one_hides_no_warning(tmp_path: Path):
    """A call that is too large is refused; the parts that others use later are still news."""
    agents = {"writer": {**WRITER, "max_tokens": 40}}
    limit = {"tokens": 300, "warn": ["20%", "50%"], "then": "end"}
    folder = crew_with(tmp_path, limit, agents=agents)
    crew = load_crew(folder)
    async with Runs(crew, MemoryStore(crew.clock)) as runs:
        large = await play(crew, query=Query("word " * 1500), runs=runs)
        assert codes(large) == ["budget_end"]
        small = [await play(crew, query=Query("hello"), runs=runs) for _ in range(6)]
    told = [[one["content"] for one in run.of("warning")] for run in small]
    parts = [text for run in told for text in run if "% of its limit" in text]
    assert [text.split(":")[1][:5].strip() for text in parts] == ["26 %", "52 %"]
