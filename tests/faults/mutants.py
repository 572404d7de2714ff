"""Mistakes of ours that the harness, or the conformance suite of the stores, must see."""

import subprocess
import sys
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from tests.support.crews import ROOT
from tests.support.postgres import Postgres
from tests.support.processes import clean_environment

# the suite on a store of each database, or of one PostgreSQL database, emptied each time
SUITE = """
import asyncio, sys, tempfile
from pathlib import Path
import asyncpg
from crew.backends.conformance import CHECKS
from crew.backends.postgres.schema import prepare
from crew.backends.postgres.server import PostgresServer
from crew.backends.postgres.store import PostgresStore
from crew.backends.sqlite.store import SqliteStore

async def one(check, url, folder):
    if url:
        connection = await asyncpg.connect(url)
        await connection.execute("DROP SCHEMA public CASCADE; CREATE SCHEMA public")
        await connection.close()
        store = PostgresStore(PostgresServer(url, 5, await prepare(url)))
    else:
        store = SqliteStore(Path(folder) / "x.db")
    try:
        await check(store)
    finally:
        await store.aclose()

for check in CHECKS:
    with tempfile.TemporaryDirectory() as folder:
        try:
            asyncio.run(one(check, sys.argv[1], folder))
        except Exception as error:
            print(check.__name__, type(error).__name__, error)
            sys.exit(1)
"""


@dataclass(frozen=True)
class Mutant:
    """A mistake of ours that the harness must see."""

    name: str
    file: str
    old: str
    new: str
    # of several machines
    postgres: bool = False

    def seen_by_suite(self, code: Path) -> str | None:
        """What the conformance suite says of the stores in `code`, if they break a promise."""
        with ExitStack() as stack:
            url = stack.enter_context(Postgres()).database() if self.postgres else ""
            suite = [sys.executable, "-c", SUITE, url]
            ended = subprocess.run(
                suite,
                capture_output=True,
                text=True,
                cwd=code,
                env=clean_environment(PYTHONPATH=str(code)),
            )
        return None if ended.returncode == 0 else f"conformance: {ended.stdout.splitlines()[-1]}"


MUTANTS = (
    Mutant(
        "an event is published before it is stored",
        "crew/journal/writer.py",
        "        write = batch.write(self.run_id, self.epoch)\n",
        "        write = batch.write(self.run_id, self.epoch)\n"
        "        self._publish_all(batch)\n        batch.events.clear()\n",
    ),
    Mutant(
        "an answer to whichever pause there is",
        "crew/runs/starter.py",
        "if answer.pause_seq is not None and answer.pause_seq != state.pause_seq:",
        "if answer.pause_seq == 0:",
    ),
    Mutant(
        "an intent that is not awaited",
        "crew/engine/emitting.py",
        "            case ToolStarted():\n"
        "                self._record(self._questions.with_approval(event))\n"
        "                await journal.settled()",
        "            case ToolStarted():\n"
        "                self._record(self._questions.with_approval(event))",
    ),
    Mutant(
        "an intent that is forgotten",
        "crew/journal/branches.py",
        "self.started_calls[call.id] = event.once",
        "self.started_calls[call.id] = False",
    ),
    Mutant(
        "the last event is not replayed",
        "crew/journal/replay.py",
        "        state.apply(event)\n",
        "        if record is records[-1]:\n            state.seq += 1\n            continue\n"
        "        state.apply(event)\n",
    ),
    Mutant(
        "an idempotency key that is not kept",
        "crew/backends/sqlite/writing.py",
        'connection.execute("INSERT INTO idempotency_records VALUES (?, ?, ?, ?)", values)',
        "pass",
    ),
    Mutant(
        "a number that is left out",
        "crew/journal/writer.py",
        "        self.seq += 1\n        if row",
        "        self.seq += 1 + (self.seq % 7 == 6)\n        if row",
    ),
    Mutant(
        "a start that is published again",
        "crew/engine/executor.py",
        "                    announce=not main.speaking,\n",
        "                    announce=True,\n",
    ),
    Mutant(
        "members who are asked again",
        "crew/journal/state.py",
        "                branch.respond(event)\n",
        "                if event.group is None:\n                    branch.respond(event)\n",
    ),
    Mutant(
        "runs that are not recovered",
        "crew/runs/claims.py",
        "for run_id in ours if run_id not in self.live}\n",
        "for run_id in sorted(ours)[1:] if run_id not in self.live}\n",
    ),
    Mutant(
        "a write that leaves a hole",
        "crew/backends/sqlite/writing.py",
        "        first > 1\n",
        "        first > 9\n",
    ),
    Mutant(
        "a write that leaves a hole, in the other database",
        "crew/backends/postgres/statements.py",
        "(($3::bigint[])[1] - 1 <= purged_seq OR",
        "(true OR",
        postgres=True,
    ),
    Mutant(
        "a due pause that several processes end",
        "crew/backends/postgres/statements.py",
        "        AND coalesce(given_until, now()) <= now()\n",
        "",
        postgres=True,
    ),
    Mutant(
        "claims that are not counted",
        "crew/backends/sqlite/store.py",
        "THEN 1 ELSE claims + 1 END",
        "THEN 1 ELSE 1 END",
    ),
    Mutant(
        "claims that are not counted, in the other database",
        "crew/backends/postgres/statements.py",
        "THEN 1 ELSE claims + 1 END",
        "THEN 1 ELSE 1 END",
        postgres=True,
    ),
    Mutant(
        "the row without its events",
        "crew/backends/sqlite/writing.py",
        "for one in write.records]\n",
        "for one in write.records][: None if row is None else -1]\n",
    ),
    Mutant(
        "other bytes after a restart",
        "crew/journal/wire.py",
        "return cls.decode(record.seq, record.public)",
        "return cls.decode(record.seq, record.public.replace('Z\"', '+00:00\"'))",
    ),
    Mutant(
        "a key that is another for each request",
        "tools/kinds/http/request.py",
        'headers["Idempotency-Key"] = key',
        'headers["Idempotency-Key"] = f"{key}-{id(headers)}"',
    ),
    Mutant(
        "an epoch that is not compared",
        "crew/backends/postgres/statements.py",
        "WITH held AS (SELECT FROM crew_runs WHERE run_id = $1 AND epoch = $2 AND",
        "WITH held AS (SELECT FROM crew_runs WHERE run_id = $1 AND $2::bigint > 0 AND",
        postgres=True,
    ),
    Mutant(
        "an answer to a run that is not paused",
        "crew/backends/postgres/writing.py",
        "if found is None or status != write.expected:",
        "if found is None:",
        postgres=True,
    ),
    Mutant(
        "two processes that claim one run",
        "crew/backends/postgres/statements.py",
        "AND epoch = coalesce($2, epoch)",
        "AND epoch >= coalesce($2, 0)",
        postgres=True,
    ),
    Mutant(
        "workers that died and are not missed",
        "crew/backends/postgres/jobs/worker.py",
        "        for job in stalled:\n",
        "        for job in ():\n",
        postgres=True,
    ),
    Mutant(
        "runs without a job that nobody finds",
        "crew/backends/postgres/jobs/worker.py",
        "            await self.queue.put(run_id, epoch, again=True)\n",
        "            continue\n",
        postgres=True,
    ),
    Mutant(
        "a remote tail that leaves an event out",
        "crew/runs/streams/remote.py",
        "                    self.tail.add(event)\n",
        "                    if event.seq == 5:\n"
        "                        self.tail.seq, self.tail.newest = 5, event\n"
        "                        continue\n"
        "                    self.tail.add(event)\n",
        postgres=True,
    ),
    Mutant(
        "a row without its events, in the other database",
        "crew/backends/postgres/writing.py",
        "    records = write.records\n",
        "    records = write.records[: None if write.row is None else -1]\n",
        postgres=True,
    ),
)


def mutated(mutant: Mutant, folder: Path) -> Path:
    """A copy of the packages with the mistake in it."""
    for package in ("crew", "agents", "tools", "server"):
        subprocess.run(["cp", "-r", ROOT / package, folder / package], check=True)
    path = folder / mutant.file
    text = path.read_text()
    place = f"\n{mutant.old}" if mutant.old.startswith(" ") else mutant.old
    assert text.count(place) == 1, f"{mutant.name}: its place in {mutant.file} has changed"
    path.write_text(text.replace(mutant.old, mutant.new))
    return folder
