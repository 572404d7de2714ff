"""What both databases do alike with runs: rows, lists, claims, cancellations."""

from collections.abc import Sequence
from dataclasses import replace

from pydantic import TypeAdapter

from crew.backends.sql.audit import SqlAudit
from crew.backends.sql.chores import SqlChores
from crew.backends.sql.conversations import SqlConversations
from crew.backends.sql.deletion import delete_runs
from crew.backends.sql.grants import SqlGrants
from crew.backends.sql.listing import has_status, select_counted, select_rows
from crew.backends.sql.outbox import SqlOutbox
from crew.backends.sql.remembered.core import SqlCore
from crew.backends.sql.remembered.documents import SqlDocuments
from crew.backends.sql.remembered.people import SqlPeople
from crew.backends.sql.remembered.recall import SqlRecall
from crew.backends.sql.remembered.vectors import OF_DOCUMENTS, OF_RECALL, SqlVectors
from crew.backends.sql.revisions import SqlRevisions
from crew.backends.sql.schedules import SqlSchedules
from crew.backends.sql.searching import select_found
from crew.backends.sql.spent.budgets import SqlBudgets
from crew.backends.sql.spent.costs import SqlCosts
from crew.backends.sql.statements import sql
from crew.backends.sql.transactions import SqlDatabase, Steps
from crew.backends.sql.viewers import SqlViewers
from crew.journal.events import CancelReason, RunStatus
from crew.journal.records.listing import ALL_RUNS, CountedRun, RunFilter, Totals, listed_answer
from crew.journal.records.rows import (
    Cancellation,
    HeldWork,
    IdempotencyRecord,
    Newest,
    RunRow,
)

RUN_ROW: TypeAdapter[RunRow] = TypeAdapter(RunRow)
RUN = sql("SELECT row, answer FROM crew_runs WHERE run_id = $1")
NEWEST = sql("""
SELECT run_id, status, greatest(purged_seq, coalesce(
    (SELECT max(seq) FROM crew_events WHERE crew_events.run_id = run.run_id), 0))
FROM crew_runs AS run WHERE run_id = ANY($1)
""")
STORED_BYTES = sql("""
SELECT coalesce(sum(bytes), 0)::bigint FROM crew_runs WHERE owner = $1 AND bytes > 0
""")
RELEASE = sql("""
UPDATE crew_runs SET claims = claims - 1 WHERE run_id = $1 AND epoch = $2 AND claims > 0
""")
CLAIMS = sql("""
SELECT run_id, claims FROM crew_runs AS run WHERE run_id = ANY($1) AND claims > 0
    AND NOT EXISTS (
        SELECT 1 FROM crew_events WHERE crew_events.run_id = run.run_id AND seq > claimed_seq
    )
""")
REQUEST_CANCELLATION = sql("UPDATE crew_runs SET to_cancel = $2 WHERE run_id = $1")
CANCELLATIONS = sql("""
SELECT row, to_cancel FROM crew_runs WHERE to_cancel IS NOT NULL AND ended_at IS NULL
ORDER BY run_id DESC LIMIT $1
""")
DELETABLE = sql("""
SELECT run_id FROM crew_runs WHERE run_id = ANY($1) AND ended_at IS NOT NULL
    AND coalesce(conversation_id, '') = '' FOR UPDATE
""")
# of an old state of the database, which is the present one again
AT_WORK = sql("SELECT row FROM crew_runs WHERE status = 'running' FOR UPDATE")
TIMED = sql("""
SELECT row FROM crew_runs WHERE status = 'paused' AND paused_until IS NOT NULL FOR UPDATE
""")
SET = sql("UPDATE crew_runs SET row = $2, paused_until = $3 WHERE run_id = $1")
DROP = sql("DELETE FROM crew_notices RETURNING 1")
BEGIN_ANEW = sql("DELETE FROM crew_schedules RETURNING 1")
IDEMPOTENCY_RECORD = sql("SELECT * FROM crew_idempotency_records WHERE key = $1")


def run_row(text: str, answer: str | None) -> RunRow:
    """Return a run's row, with its answer."""
    return replace(RUN_ROW.validate_json(text), answer=answer)


class SqlRuns:
    """The part of a RunStore that both databases do alike; see there."""

    def __init__(self, database: SqlDatabase) -> None:
        self.database = database
        self.audit = SqlAudit(database)
        self.conversations = SqlConversations(database)
        self.core = SqlCore(database)
        self.recall = SqlRecall(database)
        self.documents = SqlDocuments(database)
        self.item_vectors = SqlVectors(database, OF_RECALL)
        self.passage_vectors = SqlVectors(database, OF_DOCUMENTS)
        self.people = SqlPeople(database)
        self.costs = SqlCosts(database)
        self.budgets = SqlBudgets(database)
        self.chores = SqlChores(database)
        self.grants = SqlGrants(database)
        self.outbox = SqlOutbox(database)
        self.schedules = SqlSchedules(database)
        self.viewers = SqlViewers(database)
        self.revisions = SqlRevisions(database)

    async def release(self, run_id: str, epoch: int) -> None:
        """See RunLog."""
        await self.database.fetch(RELEASE, run_id, epoch, writes=True, brief=True)

    async def claims(self, run_ids: Sequence[str]) -> dict[str, int]:
        """See RunLog."""
        return dict(await self.database.fetch(CLAIMS, list(run_ids)))

    async def request_cancellation(self, run_id: str, reason: CancelReason) -> None:
        """See Cancellations."""
        await self.database.fetch(REQUEST_CANCELLATION, run_id, reason, writes=True)

    async def cancellations(self, limit: int = 500) -> list[Cancellation]:
        """See Cancellations."""
        found = await self.database.fetch(CANCELLATIONS, limit)
        return [Cancellation(RUN_ROW.validate_json(row), reason) for row, reason in found]

    async def row(self, run_id: str) -> RunRow | None:
        """See RunLog."""
        found = await self.database.fetch(RUN, run_id, brief=True)
        return run_row(*found[0]) if found else None

    async def rows(
        self,
        wanted: RunFilter = ALL_RUNS,
        limit: int = 50,
        after: str | None = None,
        *,
        oldest_first: bool = False,
    ) -> list[RunRow]:
        """See RunLog."""
        statement, values = select_rows(wanted, limit, after, oldest_first=oldest_first)
        found = await self.database.fetch(statement, *values)
        return [run_row(row, listed_answer(answer)) for row, answer in found]

    async def totals(self, wanted: RunFilter = ALL_RUNS) -> Totals:
        """See RunLog."""
        statement, values = select_counted(wanted)
        found = await self.database.fetch(statement, *values)
        return Totals.of([CountedRun(*row) for row in found])

    async def search(self, text: str, run_ids: Sequence[str], limit: int) -> list[tuple[str, str]]:
        """See RunLog."""
        statement, values = select_found(text, run_ids, limit)
        found = await self.database.fetch(statement, *values)
        return [(run_id, public) for run_id, _, public in found]

    async def delete_runs(self, run_ids: Sequence[str]) -> list[str]:
        """See RunLog."""

        def work() -> Steps[list[str]]:
            found = yield DELETABLE, (list(run_ids),)
            deleted = [run_id for (run_id,) in found]
            if deleted:
                yield from delete_runs(deleted)
            return deleted

        deleted = await self.database.transact(work)
        await self.database.forget_deleted()
        return deleted

    async def hold(self, taken_at: str, *, runs: bool = True) -> HeldWork:
        """See Restoring."""
        return await self.database.transact(lambda: _hold(taken_at, runs=runs))

    async def count(self, status: RunStatus) -> int:
        """See RunLog."""
        statement = sql(f"SELECT count(*) FROM crew_runs WHERE {has_status(status)}")  # noqa: S608 # ours
        found = await self.database.fetch(statement)
        return int(found[0][0])

    async def stored_bytes(self, owner: str) -> int:
        """See RunLog."""
        found = await self.database.fetch(STORED_BYTES, owner)
        return int(found[0][0])

    async def newest(self, run_ids: Sequence[str]) -> dict[str, Newest]:
        """See RunLog."""
        found = await self.database.fetch(NEWEST, list(run_ids))
        return {run_id: Newest(status, seq) for run_id, status, seq in found}

    async def idempotency_record(self, key: str) -> IdempotencyRecord | None:
        """See RunLog."""
        found = await self.database.fetch(IDEMPOTENCY_RECORD, key, brief=True)
        return IdempotencyRecord(*found[0]) if found else None


def _hold(taken_at: str, *, runs: bool) -> Steps[HeldWork]:
    """Do what `Restoring.hold` says, within a transaction."""
    at_work = (yield AT_WORK, ()) if runs else []
    timed = (yield TIMED, ()) if runs else []
    for (text,) in at_work:
        yield from _set(replace(RUN_ROW.validate_json(text), held_at=taken_at))
    for (text,) in timed:
        yield from _set(replace(RUN_ROW.validate_json(text), paused_until=None))
    notices, schedules = (yield DROP, ()), (yield BEGIN_ANEW, ())
    return HeldWork(len(at_work), len(timed), len(notices), len(schedules))


def _set(row: RunRow) -> Steps[None]:
    text = RUN_ROW.dump_json(row, exclude={"answer"}).decode()
    yield SET, (row.run_id, text, row.paused_until)
