"""How SQLite finds runs: by an index, never by reading all of them, or all of one owner's."""

import sqlite3
from pathlib import Path

import pytest

from crew.backends.sql.chores import IS_DUE, TAKE
from crew.backends.sql.listing import has_status, select_rows
from crew.backends.sql.runs import STORED_BYTES
from crew.backends.sql.statements import Statement
from crew.backends.sqlite.purging import (
    OLD_EVENTS,
    OLD_REVISIONS,
    OLD_RUNS,
    SURPLUS,
    SURPLUS_OF_LONG_RUNS,
)
from crew.backends.sqlite.store import SqliteStore
from crew.journal.events import RunStatus
from crew.journal.records.listing import RunFilter

OPEN = "runs_not_completed (status=?"
OWNER = "INDEX runs_of_owners (owner=?"
FAILED = "failed_runs_of_owners (owner=? AND status=?"


@pytest.mark.parametrize("oldest_first", [False, True])
@pytest.mark.parametrize("after", [None, "r1"])
@pytest.mark.parametrize(
    ("wanted", "index"),
    [
        # all, in the order in which they are kept
        (RunFilter(), "runs"),
        (RunFilter(status="paused"), OPEN),
        (RunFilter(status="failed"), OPEN),
        (RunFilter(status="paused", owner="ann"), OPEN),
        (RunFilter(status="failed", owner="ann"), FAILED),
        (RunFilter(status="cancelled", owner="ann"), FAILED),
        (RunFilter(status="running", owner=""), OPEN),
        (RunFilter(since="2026-01-02"), "PRIMARY KEY (run_id>?"),
        (RunFilter(owner="ann"), OWNER),
        (RunFilter(status="completed", owner="ann"), OWNER),
    ],
)
async def test_lists(
    tmp_path: Path, wanted: RunFilter, index: str, after: str | None, *, oldest_first: bool
):
    """In the order of their ids, so that a page is found at once."""
    statement, values = select_rows(wanted, 50, after, oldest_first=oldest_first)
    plan = await plan_of(tmp_path, statement.sqlite, *values)
    assert index in plan[0], plan
    # nothing is sorted
    assert len(plan) == 1, plan


@pytest.mark.parametrize("status", ["running", "paused", "failed", "cancelled"])
async def test_counts(tmp_path: Path, status: RunStatus):
    """Each scrape counts the paused ones."""
    plan = await plan_of(tmp_path, f"SELECT count(*) FROM runs WHERE {has_status(status)}")
    assert f"INDEX {OPEN}" in plan[0], plan


@pytest.mark.parametrize(
    ("sql", "index"),
    [
        (OLD_RUNS, "INDEX ended_runs (revision=? AND <expr>=? AND ended_at<?)"),
        (OLD_EVENTS, "INDEX ended_runs (revision=? AND <expr>=? AND ended_at<?)"),
        (SURPLUS, "INDEX ended_runs (revision=? AND <expr>=? AND ended_at>?)"),
        (SURPLUS_OF_LONG_RUNS, "INDEX long_runs (<expr>>?)"),
        (OLD_REVISIONS, "COVERING INDEX ended_runs (revision=?)"),
        (STORED_BYTES.sqlite, "COVERING INDEX bytes_of_owners (owner=?)"),
    ],
)
async def test_purges_and_sums(tmp_path: Path, sql: str, index: str):
    """The last step is the one that reads the runs that are wanted, and no others."""
    values = ["1"] * (2 if "LIMIT" in sql else 1)
    if "json_extract" in sql:
        values.insert(1, "{}")
    plan = await plan_of(tmp_path, sql, *values)
    assert plan[-1] == f"SEARCH runs USING {index}", plan
    assert not any(step.startswith("SCAN runs") for step in plan), plan


@pytest.mark.parametrize("statement", [IS_DUE, TAKE])
async def test_due_chores(tmp_path: Path, statement: Statement):
    """Those that are not due are not read."""
    plan = await plan_of(tmp_path, statement.sqlite, *(["[]"] * statement.sqlite.count("?")))
    assert any("chores_by_time (due_at<?)" in step for step in plan), plan
    assert not any(step.startswith("SCAN chores") for step in plan), plan


async def plan_of(folder: Path, sql: str, *values: object) -> list[str]:
    store = SqliteStore(folder / "x.db")
    await store.aclose()
    with sqlite3.connect(store.path) as file:
        # one of the conditions calls it
        file.create_function("casefold", 1, str.casefold, deterministic=True)
        found = file.execute(f"EXPLAIN QUERY PLAN {sql}", values).fetchall()
    file.close()
    return [str(row[3]) for row in found]
