"""What is kept of users, in the database of a store."""

from collections.abc import Callable, Mapping
from dataclasses import replace

from pydantic import TypeAdapter

from crew.backends.sql.audit import COLUMNS
from crew.backends.sql.deletion import delete_runs
from crew.backends.sql.remembered.core import delete_core
from crew.backends.sql.remembered.items import delete_recall
from crew.backends.sql.remembered.versions import erase_documents
from crew.backends.sql.spent.costs import remove_user
from crew.backends.sql.statements import sql
from crew.backends.sql.transactions import SqlDatabase, Steps
from crew.journal.records.audit import AuditEntry
from crew.journal.records.conversations import owner_of
from crew.journal.records.remembered.people import Erasure, digest_of_user

ERASURE: TypeAdapter[Erasure] = TypeAdapter(Erasure)
AUDIT = sql(f"""
SELECT {COLUMNS} FROM crew_audit WHERE number IN (
    SELECT number FROM crew_audit WHERE user_id = $1 AND user_id <> ''
    UNION SELECT number FROM crew_audit WHERE run_id IS NOT NULL AND run_id IN (
        SELECT run_id FROM crew_runs WHERE user_id = $1 AND user_id <> ''
    )
) ORDER BY number
""")  # noqa: S608 # ours
ENDED_RUNS = sql("""
SELECT run_id FROM crew_runs WHERE user_id = $1 AND user_id <> '' AND ended_at IS NOT NULL
ORDER BY run_id LIMIT $2 FOR UPDATE
""")
DELETE_GRANTS = sql("""
DELETE FROM crew_grants WHERE document::json ->> 'run_id' = ANY($1) RETURNING 1
""")
DELETE_GRANTS_OF_USER = sql("""
DELETE FROM crew_grants WHERE document::json ->> 'user_id' = $1 AND $1 <> '' RETURNING 1
""")
DELETE_AUDIT_OF_RUNS = sql("""
DELETE FROM crew_audit WHERE run_id IS NOT NULL AND run_id = ANY($1) RETURNING 1
""")
DELETE_AUDIT = sql("DELETE FROM crew_audit WHERE user_id = $1 AND user_id <> '' RETURNING 1")
# but of documents that have come meanwhile, which would never be read
DELETE_CHORES = sql("""
DELETE FROM crew_chores WHERE owner = $1 AND kind <> 'erase' AND NOT EXISTS (
    SELECT 1 FROM crew_documents AS found
    WHERE found.owner = crew_chores.owner AND (found.document_id = crew_chores.key
        OR crew_chores.kind = 'embed' AND found.collection = crew_chores.key)
) RETURNING 1
""")
COUNT_CORE = sql("SELECT count(*) FROM crew_core WHERE owner = $1")
COUNT_RECALL = sql("SELECT count(*) FROM crew_recall WHERE owner = $1")
ADD = sql("INSERT INTO crew_erasures VALUES ($1, $2, $3) ON CONFLICT DO NOTHING")
GET = sql("""
SELECT document FROM crew_erasures WHERE digest = $1 AND requested_at = $2 FOR UPDATE
""")
SET = sql("UPDATE crew_erasures SET document = $3 WHERE digest = $1 AND requested_at = $2")
LISTED = sql("SELECT document FROM crew_erasures WHERE digest = $1 ORDER BY requested_at")


class SqlPeople:
    """See PeopleLog."""

    def __init__(self, database: SqlDatabase) -> None:
        self._database = database

    async def audit(self, user_id: str) -> list[AuditEntry]:
        """See PeopleLog."""
        return [AuditEntry(*one) for one in await self._database.fetch(AUDIT, user_id)]

    async def begin(self, erasure: Erasure) -> None:
        """See PeopleLog."""
        await self._database.fetch(ADD, *_columns(erasure), writes=True)

    async def erase(self, user_id: str, requested_at: str, limit: int = 100) -> Mapping[str, int]:
        """See PeopleLog."""

        def work() -> Steps[dict[str, int]]:
            counts = yield from _erase(user_id, limit)
            if counts:
                yield from _change(user_id, requested_at, lambda one: one.with_counts(counts))
            return counts

        counts = await self._database.transact(work)
        await self._database.forget_deleted()
        return counts

    async def count(self, user_id: str, requested_at: str, more: Mapping[str, int]) -> None:
        """See PeopleLog."""
        await self._database.transact(
            lambda: _change(user_id, requested_at, lambda one: one.with_counts(more))
        )

    async def finish(self, user_id: str, requested_at: str, done_at: str) -> Erasure | None:
        """See PeopleLog."""
        return await self._database.transact(
            lambda: _change(user_id, requested_at, lambda one: replace(one, done_at=done_at))
        )

    async def erasures(self, user_id: str) -> list[Erasure]:
        """See PeopleLog."""
        found = await self._database.fetch(LISTED, digest_of_user(user_id))
        return [ERASURE.validate_json(document) for (document,) in found]


def _erase(user_id: str, limit: int) -> Steps[dict[str, int]]:
    found = yield ENDED_RUNS, (user_id, limit)
    if found:
        runs = [run_id for (run_id,) in found]
        grants = yield DELETE_GRANTS, (runs,)
        audit = yield DELETE_AUDIT_OF_RUNS, (runs,)
        yield from delete_runs(runs)
        counts = {"runs": len(runs), "grants": len(grants), "audit": len(audit)}
        return {name: count for name, count in counts.items() if count}
    owner = owner_of(user_id)
    if documents := (yield from erase_documents(owner, limit)):
        return {"documents": documents}
    ((core,),) = yield COUNT_CORE, (owner,)
    ((recall,),) = yield COUNT_RECALL, (owner,)
    yield from delete_core(owner)
    yield from delete_recall(owner)
    yield from remove_user(user_id)
    audit = yield DELETE_AUDIT, (user_id,)
    chores = yield DELETE_CHORES, (owner,)
    # of runs that are gone
    grants = yield DELETE_GRANTS_OF_USER, (user_id,)
    counts = {"core": core, "recall": recall, "audit": len(audit), "chores": len(chores)}
    counts["grants"] = len(grants)
    return {name: count for name, count in counts.items() if count}


def _change(
    user_id: str, requested_at: str, change: Callable[[Erasure], Erasure]
) -> Steps[Erasure | None]:
    found = yield GET, (digest_of_user(user_id), requested_at)
    if not found:
        return None
    changed = change(ERASURE.validate_json(found[0][0]))
    yield SET, _columns(changed)
    return changed


def _columns(one: Erasure) -> tuple[object, ...]:
    return one.digest, one.requested_at, ERASURE.dump_json(one).decode()
