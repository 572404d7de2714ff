"""Checks of what is found in runs, what they come to, and how they are deleted."""

from typing import Any

from agents.costs.usage import Usage
from crew.backends.conformance.samples import (
    DAY,
    begin_run,
    run_ids,
    sample_records,
    sample_row,
)
from crew.journal.records.listing import RunFilter, Waiting
from crew.journal.records.rows import Appended, Record, Write
from crew.journal.store import RunStore


async def runs_are_counted(store: RunStore) -> None:
    """Check totals of a filter, and filters by reason, cost and the beginning of an id."""
    assert (await store.totals()).p50_seconds is None
    for n in range(1, 5):
        usage = Usage(10 * n, n, 0.25 * n, unpriced=n == 3)
        more: dict[str, Any] = {
            "usage": usage,
            "duration_seconds": float(n),
            "ended_at": DAY.format(n),
        }
        await begin_run(store, f"r{n}", status="completed", reason=f"why{n % 2}", **more)
    await begin_run(store, "s1", status="paused")
    found = await store.totals()
    assert dict(found.statuses) == {"completed": 4, "paused": 1}
    assert (found.tokens, found.cost_usd, found.is_unpriced) == (113, 3.0, True)
    assert (found.p50_seconds, found.p95_seconds, found.has_more) == (2.0, 4.0, False)
    dear = await store.totals(RunFilter(over_usd=0.25, reason="why0"))
    assert (dict(dear.statuses), dear.cost_usd, dear.is_unpriced) == ({"completed": 2}, 1.5, False)
    assert [row.run_id for row in await store.rows(RunFilter(over_usd=0.75))] == ["r4"]
    await begin_run(
        store, "t1", status="completed", tools=("restart", "ping"), ended_at=DAY.format(9)
    )
    for tool, expected in {"ping": ["t1"], "restart": ["t1"], "in": [], "restart,ping": []}.items():
        assert [row.run_id for row in await store.rows(RunFilter(tool=tool))] == expected, tool
    assert [row.run_id for row in await store.rows(RunFilter(prefix="s"))] == ["s1"]
    await begin_run(store, "u1", status="paused", asks="pay(8)", agent_id="a")
    waits: dict[Waiting, str] = {"words": "s1", "decision": "u1"}
    for waiting, run_id in waits.items():
        wanted = RunFilter(waiting=waiting)
        assert [row.run_id for row in await store.rows(wanted)] == [run_id]
        assert dict((await store.totals(wanted)).statuses) == {"paused": 1}
    for agent, expected in {"a": ["u1"], "b": []}.items():
        wanted = RunFilter(waiting="decision", agent_id=agent)
        assert [row.run_id for row in await store.rows(wanted)] == expected
        assert sum((await store.totals(wanted)).statuses.values()) == len(expected)
    assert await store.rows(RunFilter("completed", waiting="words")) == []
    assert await store.rows(RunFilter(prefix="r1x")) == []


async def lists_follow_what_becomes_of_runs(store: RunStore) -> None:
    """Check that filters find a run as it is: at work, ended, gone on, ended again, deleted."""

    async def found(**wanted: Any) -> list[str]:
        return [row.run_id for row in await store.rows(RunFilter(**wanted))]

    epoch = await begin_run(store, "r1", agent_id="a", source="hook")
    await begin_run(store, "r2", agent_id="a", source="api")
    assert await found(source="hook", agent_id="a", text="Què") == ["r1"]
    ends: dict[str, Any] = {"agent_id": "b", "source": "hook", "ended_at": DAY.format(1)}
    failed = sample_row("r1", status="failed", reason="model", last_seq=2, **ends)
    await store.append(Write("r1", sample_records(2, 2), failed, epoch=epoch))
    assert await found(agent_id="b", status="failed") == ["r1"]
    assert await found(agent_id="a") == ["r2"]
    assert await found(reason="model", since=DAY.format(1)[:4], prefix="r") == ["r1"]
    assert dict((await store.totals(RunFilter(reason="model"))).statuses) == {"failed": 1}
    assert dict((await store.totals(RunFilter(source="api", text="QUÈ"))).statuses) == {
        "running": 1
    }
    again = sample_row("r1", agent_id="b", source="hook", last_seq=3)
    retried = await store.append(Write("r1", sample_records(3, 3), again, expected="failed"))
    assert isinstance(retried, Appended)
    assert await found(reason="model") == []
    assert await found(agent_id="b") == await found(agent_id="b", status="running") == ["r1"]
    done = sample_row("r1", status="completed", reason="end", last_seq=4, **ends)
    await store.append(Write("r1", sample_records(4, 4), done, epoch=retried.epoch))
    assert await found(reason="end", text="QUÈ") == ["r1"]
    assert await store.delete_runs(["r1"]) == ["r1"]
    assert await found(reason="end") == []


async def words_are_found(store: RunStore) -> None:
    """Check that events are found by a part of their text, whatever its case, in some runs."""
    texts = ("Disk FULL on db-1", "ĐĨA đầy 100%", "a_b")
    for n, text in enumerate(texts):
        epoch = await begin_run(store, f"r{n}")
        record = Record(2, f'{{"words":"{text}"}}', "{}")
        await store.append(Write(f"r{n}", [record], epoch=epoch))
    runs = ["r0", "r1", "r2"]
    for word, expected in {
        "disk full": ["r0"],
        "đĩa ĐẦY": ["r1"],
        "100%": ["r1"],
        "A_B": ["r2"],
        "a%b": [],
        "words": ["r2", "r1", "r0"],
    }.items():
        found = await store.search(word, runs, 9)
        assert [run_id for run_id, _ in found] == expected, word
    assert await store.search("words", ["r0", "r1"], 1) == [("r1", '{"words":"ĐĨA đầy 100%"}')]


async def ended_runs_are_deleted(store: RunStore) -> None:
    """Check that runs at work and runs of conversations stay."""
    await begin_run(store, "r1", 2, "completed", ended_at=DAY.format(1))
    await begin_run(store, "r2", status="paused")
    await begin_run(store, "r3", 1, "failed", ended_at=DAY.format(1))
    assert sorted(await store.delete_runs(["r1", "r2", "none"])) == ["r1"]
    assert sorted(await run_ids(store)) == ["r2", "r3"]
    assert list(await store.records("r1")) == []
    assert await store.delete_runs(["r1"]) == []


CHECKS = (
    runs_are_counted,
    lists_follow_what_becomes_of_runs,
    words_are_found,
    ended_runs_are_deleted,
)
