"""Who did what, in the database of a store."""

from dataclasses import astuple
from operator import attrgetter

from crew.backends.sql.statements import sql
from crew.backends.sql.transactions import SqlDatabase, Steps
from crew.journal.records.audit import ALL_ENTRIES, AuditEntry, AuditFilter

# in the order of an AuditEntry
COLUMNS = "at, action, name, address, run_id, request_id, detail, user_id"
values_of = attrgetter(*COLUMNS.split(", "))
# what is done to a run is about its person
INSERT = sql(f"""
INSERT INTO crew_audit ({COLUMNS}) VALUES ($1, $2, $3, $4, $5, $6, $7, CASE
    WHEN $8::text = '' THEN coalesce((SELECT user_id FROM crew_runs WHERE run_id = $5), '')
    ELSE $8 END)
""")  # noqa: S608 # ours
# the numbers are those of an AuditFilter's fields
SELECT = sql(f"""
SELECT {COLUMNS} FROM crew_audit
WHERE ($1::text IS NULL OR action = $1) AND ($2::text IS NULL OR run_id = $2)
    AND ($3::text IS NULL OR name = $3)
    AND ($4::text IS NULL OR at >= $4) AND ($5::text IS NULL OR at < $5)
ORDER BY number DESC LIMIT $6
""")  # noqa: S608 # ours
PURGE = sql("""
DELETE FROM crew_audit WHERE number IN (
    SELECT number FROM crew_audit WHERE at < $1 LIMIT $2 FOR UPDATE SKIP LOCKED
) RETURNING 1
""")


def insert_entry(entry: AuditEntry) -> Steps[None]:
    """Keep one, within the transaction of its act."""
    yield INSERT, values_of(entry)


class SqlAudit:
    """See AuditLog."""

    def __init__(self, database: SqlDatabase) -> None:
        self._database = database

    async def record(self, entry: AuditEntry) -> None:
        """See AuditLog."""
        await self._database.fetch(INSERT, *values_of(entry), writes=True)

    async def entries(
        self, limit: int = 100, wanted: AuditFilter = ALL_ENTRIES
    ) -> list[AuditEntry]:
        """See AuditLog."""
        found = await self._database.fetch(SELECT, *astuple(wanted), limit)
        return [AuditEntry(*row) for row in found]

    async def purge(self, before: str, limit: int = 1000) -> int:
        """See AuditLog."""
        return len(await self._database.fetch(PURGE, before, limit, writes=True))
