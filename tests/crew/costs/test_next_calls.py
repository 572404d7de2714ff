"""Runs that would fail at their first call are not begun."""

from pathlib import Path
from typing import Any

import pytest

from crew import MemoryStore, Query, Runs, load_crew
from crew.journal.query import IdempotencyKey
from crew.runs.errors import AlreadyStarted, BudgetSpent
from crew.runs.forks import ForkPoint
from tests.crew.costs.test_budgets import WRITER, crew_with, runs_of

BOOM: list[dict[str, Any]] = [
    {"hears": "boom", "fail": "refused"},
    {"say": "one two three four five six seven eight nine ten"},
]


@pytest.mark.parametrize(
    ("limit", "used"),
    [
        ({"tokens": 100}, "52 tokens of 100 tokens used, the call may need 54"),
        ({"usd": 0.135}, "0.08 USD of 0.135 USD used, the call may need 0.094"),
        ({"tokens": 10**6, "usd": 0.135, "calls": 99}, "0.08 USD of 0.135 USD used"),
        ({"calls": 2}, "2 calls of 2 calls used"),
        ({"scope": "agent", "tokens": 100}, "of writer: 52 tokens of 100 tokens used"),
    ],
    ids=str,
)
async def test_a_run_that_would_fail_at_once_is_not_begun(
    tmp_path: Path, limit: dict[str, Any], used: str
):
    """There is not as much left as its first call takes at least."""
    folder = crew_with(tmp_path, limit)
    with pytest.raises(BudgetSpent, match=used) as caught:
        await runs_of(folder, 3)
    assert caught.value.resets_at


async def test_short_answers_are_begun_to_the_last(tmp_path: Path):
    """What a first call takes at least is as much as answers of this agent take, also of another process."""
    agents = {"writer": {**WRITER, "max_tokens": None}}
    folder, store = crew_with(tmp_path, {"tokens": 800}, agents=agents), MemoryStore()
    # an answer of unknown length may have 256 tokens: of 800 there are as many left 20 times
    for count in (20, 10):
        assert {one.row.status for one in await runs_of(folder, count, store)} == {"completed"}
    with pytest.raises(BudgetSpent, match="780 tokens of 800 tokens used, the call may need 2"):
        await runs_of(folder, 1, store)


async def test_what_a_copy_and_a_retry_are_paid_from(tmp_path: Path):
    """A fork of a conversation from a pot of its own; a retry by the limits of now."""
    keys: dict[str, Any] = {"scope": "conversation", "calls": 1, "per": "total"}
    made: dict[str, Any] = {"conversations": {"title_after": None}, "rules": BOOM}
    crew = load_crew(crew_with(tmp_path, keys, **made))
    async with Runs(crew, MemoryStore(crew.clock)) as runs:
        query = Query("hello", user_id="ann", conversation_id="c1")
        done = await runs.start(query)
        assert (await done.outcome()).status == "completed"
        copy = await runs.fork(done.id, 1)
        assert (await copy.outcome()).status == "completed"
        failed = await runs.start(Query("boom", user_id="ann", conversation_id="c2"))
        assert (await failed.outcome()).status == "failed"
        with pytest.raises(BudgetSpent):
            await runs.retry(failed.id)
        crew_with(tmp_path, {**keys, "calls": 9}, **made)
        runs.adopt(crew.load_again())
        assert (await (await runs.retry(failed.id)).outcome()).reason == "model"
        # a limit of another period is another budget's
        crew_with(tmp_path, {**keys, "calls": 9, "per": "day"}, **made)
        runs.adopt(crew.load_again())
        with pytest.raises(BudgetSpent, match="2 calls of 1 calls used"):
            await runs.retry(failed.id)


async def test_a_known_answer_needs_no_room(tmp_path: Path):
    """It costs nothing."""
    output = {"properties": {"text": {"type": "string"}}}
    writer = {**WRITER, "output": output, "cache": {"seconds": 60}}
    rules = [{"say": {"text": "one two three four five six seven eight nine ten " * 3}}]
    folder = crew_with(tmp_path, {"tokens": 103}, agents={"writer": writer}, rules=rules)
    runs = await runs_of(folder, 9)
    assert {one.row.status for one in runs} == {"completed"}
    used = [one.row.usage.total_tokens for one in runs]
    assert used[0] == 50
    assert not any(used[1:])


async def test_a_known_answer_is_begun_where_nothing_is_left(tmp_path: Path):
    """A request that was made before costs nothing, and no call."""
    output = {"properties": {"text": {"type": "string"}}}
    writer = {**WRITER, "output": output, "cache": {"seconds": 60}}
    folder = crew_with(
        tmp_path, {"calls": 1}, agents={"writer": writer}, rules=[{"say": {"text": "one"}}]
    )
    assert {one.row.status for one in await runs_of(folder, 3)} == {"completed"}


async def test_a_start_that_is_repeated_is_no_new_one(tmp_path: Path):
    """A client that has lost the answer gets it again, though there is no room any more."""
    crew = load_crew(crew_with(tmp_path, {"calls": 1}))
    key = IdempotencyKey("k", "same")
    async with Runs(crew, MemoryStore(crew.clock)) as runs:
        run = await runs.start(Query("hello"), key=key)
        await run.outcome()
        with pytest.raises(AlreadyStarted) as again:
            await runs.start(Query("hello"), key=key)
        assert again.value.record.run_id == run.id
        with pytest.raises(BudgetSpent):
            await runs.start(Query("hello"), key=IdempotencyKey("other", "same"))


async def test_a_run_that_would_go_on_only_to_fail_is_left_as_it_was(tmp_path: Path):
    """By a retry or a fork, whose next call has no room; one that does not call a model has."""
    crew = load_crew(crew_with(tmp_path, {"tokens": 60}, rules=BOOM))
    async with Runs(crew, MemoryStore(crew.clock)) as runs:
        failed = await runs.start(Query("boom"))
        assert (await failed.outcome()).reason == "model"
        done = await runs.start(Query("hello"))
        assert (await done.outcome()).status == "completed"
        for going_on in (runs.retry(failed.id), runs.fork(done.id, 1), runs.fork(done.id, 2)):
            with pytest.raises(BudgetSpent, match="of 60 tokens used, the call may need"):
                await going_on
        assert (await runs.row(failed.id)).reason == "model"
        assert len(await runs.store.rows(limit=9)) == 2
        copy = await runs.fork(done.id, ForkPoint(3, says="eleven"))
        assert (await copy.outcome()).answer == "eleven"
