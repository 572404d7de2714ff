"""What looking costs with many stored runs: lists, counts, look-ups and purges, on both stores.

Run: python -m tests.bench.stored_runs [--runs 1000000] [--postgres]
"""

import argparse
import asyncio
import sqlite3
import statistics
import tempfile
import time
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import psycopg

from crew.backends.sqlite.store import SqliteStore
from crew.database import open_store
from crew.journal.records.listing import RunFilter
from crew.journal.records.rows import PurgeAges, Record, RunRow, Write
from crew.journal.store import RunStore
from tests.support.postgres import Postgres
from tools.clock import rfc3339

ROUNDS = 5
# one run in so many has failed
RARE = 50_000
NOW = datetime(2026, 1, 1, tzinfo=UTC)
OLD = rfc3339(NOW - timedelta(days=2))


def a_run(run_id: str) -> Write:
    row = RunRow(
        run_id,
        "c",
        "completed",
        "is it up?",
        OLD,
        "r",
        "rev",
        ended_at=OLD,
        last_seq=2,
        stored_bytes=800,
    )
    records = [Record(seq, "{}" * 100, "{}" * 100) for seq in (1, 2)]
    return Write(run_id, records, row)


# a copy of the template for each number; a few keep their events
COPIES = """
INSERT INTO {runs} ({columns}) SELECT {values} FROM {runs}, {numbers} WHERE run_id = 'template'
"""


def copies(columns: list[str], *, postgres: bool, count: int) -> str:
    number = "'r' || lpad(n::text, 9, '0')" if postgres else "printf('r%09d', n)"
    row = "replace(row::text, 'template', {0})" if postgres else "replace(row, 'template', {0})"
    status = f"CASE WHEN n % {RARE} = 7 THEN 'failed' ELSE status END"
    made = {
        "run_id": number,
        "row": row.format(number) + ("::jsonb" if postgres else ""),
        "status": status,
        # of most, the events have been purged
        "purged_seq": f"CASE WHEN n > {count - 1000} THEN 0 ELSE last_seq END",
        "owner": "'o' || (n % 100)",
    }
    if postgres:
        numbers = f"generate_series(1, {count}) AS s (n)"
    else:
        series = f"SELECT 1 AS n UNION ALL SELECT n + 1 FROM s WHERE n < {count}"
        numbers = f"(WITH RECURSIVE s AS ({series}) SELECT n FROM s)"
    return COPIES.format(
        runs="crew_runs" if postgres else "runs",
        columns=", ".join(columns),
        values=", ".join(made.get(column, column) for column in columns),
        numbers=numbers,
    )


async def fill(store: RunStore, count: int, url: str) -> None:
    await store.append(a_run("template"))
    if isinstance(store, SqliteStore):
        with sqlite3.connect(store.path) as file:
            columns = [one[1] for one in file.execute("PRAGMA table_info(runs)")]
            file.execute(copies(columns, postgres=False, count=count))
        file.close()
        return
    with psycopg.connect(url, autocommit=True) as connection:
        sql = "SELECT column_name FROM information_schema.columns WHERE table_name = 'crew_runs'"
        columns = [name for (name,) in connection.execute(sql)]
        connection.execute(copies(columns, postgres=True, count=count).encode())
        connection.execute("VACUUM ANALYZE crew_runs")


async def measure(name: str, look: Callable[[], Awaitable[Any]]) -> None:
    took = []
    for _ in range(ROUNDS):
        started = time.perf_counter()
        await look()
        took.append(1000 * (time.perf_counter() - started))
    print(f"{name:<44} {statistics.median(took):9.2f} ms", flush=True)


async def measure_all(store: RunStore, count: int) -> None:
    ages = PurgeAges(
        rfc3339(NOW - timedelta(days=9)), 50_000, rfc3339(NOW - timedelta(days=9)), OLD
    )
    middle = f"r{count // 2:09d}"
    looks: dict[str, Callable[[], Awaitable[Any]]] = {
        "a run": lambda: store.row(middle),
        "its events": lambda: store.records(middle),
        "the newest 50": lambda: store.rows(),
        "50 in the middle": lambda: store.rows(after=middle),
        "the running ones": lambda: store.rows(RunFilter(status="running")),
        "the failed ones": lambda: store.rows(RunFilter(status="failed")),
        "an owner's": lambda: store.rows(RunFilter(owner="o7")),
        "an owner's failed ones": lambda: store.rows(RunFilter(status="failed", owner="o7")),
        "an owner that has none": lambda: store.rows(RunFilter(owner="none")),
        "an agent that spoke in none": lambda: store.rows(RunFilter(agent_id="nobody")),
        "a source that none has": lambda: store.rows(RunFilter(source="hook")),
        "a reason that none has": lambda: store.rows(RunFilter(reason="budget")),
        "a user that has none": lambda: store.rows(RunFilter(user_id="nobody")),
        "words that none has": lambda: store.rows(RunFilter(text="nothing of it")),
        "more than 1 USD": lambda: store.rows(RunFilter(over_usd=1.0)),
        "since a time behind all": lambda: store.rows(RunFilter(since="2027-01-01T00:00:00Z")),
        "until a time before all": lambda: store.rows(RunFilter(until="2020-01-01T00:00:00Z")),
        "totals of all": lambda: store.totals(),
        "totals of the failed": lambda: store.totals(RunFilter(status="failed")),
        "totals of a source that none has": lambda: store.totals(RunFilter(source="hook")),
        "count of the paused (each scrape)": lambda: store.count("paused"),
        "an owner's stored bytes (each start)": lambda: store.stored_bytes("o7"),
        "pauses that are over (each second)": lambda: store.due_pauses(100, 1),
        "runs to cancel (each second)": lambda: store.cancellations(),
        "a purge with nothing to do (each minute)": lambda: store.purge(ages),
    }
    for name, look in looks.items():
        await measure(name, look)
    await measure(
        "a purge of 200 runs' events",
        lambda: store.purge(PurgeAges(rfc3339(NOW), 50_000, rfc3339(NOW - timedelta(days=9)), OLD)),
    )


async def main(count: int, *, postgres: bool) -> None:
    with tempfile.TemporaryDirectory() as folder:
        if postgres:
            with Postgres(durable=True) as server:
                url = server.database()
                store = await open_store(url, Path(folder))
                await fill(store, count, url)
                await measure_all(store, count)
                await store.aclose()
            return
        store = await open_store(f"sqlite:///{folder}/x.db", Path(folder))
        await fill(store, count, "")
        await measure_all(store, count)
        await store.aclose()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=1_000_000)
    parser.add_argument("--postgres", action="store_true")
    given = parser.parse_args()
    asyncio.run(main(given.runs, postgres=given.postgres))
