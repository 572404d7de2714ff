"""Who did what, in the database of a store."""

from operator import attrgetter

from crew.backends.postgres.server import PostgresServer
from crew.journal.audit import AuditAction, AuditEntry

# in the order of an AuditEntry
COLUMNS = "at, action, name, address, run_id, request_id, detail"
values_of = attrgetter(*COLUMNS.split(", "))
VALUES = "VALUES ($1, $2, $3, $4, $5, $6, $7)"
INSERT = f"INSERT INTO crew_audit ({COLUMNS}) {VALUES}"  # ours
SELECT = f"""
SELECT {COLUMNS} FROM crew_audit
WHERE ($1::text IS NULL OR action = $1) AND ($2::text IS NULL OR run_id = $2)
ORDER BY number DESC LIMIT $3
"""  # noqa: S608 # ours
PURGE = """
DELETE FROM crew_audit WHERE number IN (
    SELECT number FROM crew_audit WHERE at < $1 LIMIT $2 FOR UPDATE SKIP LOCKED
)
"""


class PostgresAudit:
    """See AuditLog."""

    def __init__(self, server: PostgresServer) -> None:
        self._server = server

    async def record(self, entry: AuditEntry) -> None:
        """See AuditLog."""
        async with self._server.connection(writes=True) as connection:
            await connection.execute(INSERT, *values_of(entry))

    async def entries(
        self, limit: int = 100, action: AuditAction | None = None, run_id: str | None = None
    ) -> list[AuditEntry]:
        """See AuditLog."""
        async with self._server.connection() as connection:
            found = await connection.fetch(SELECT, action, run_id, limit)
        return [AuditEntry(*row) for row in found]

    async def purge(self, before: str, limit: int = 1000) -> int:
        """See AuditLog."""
        async with self._server.connection(writes=True) as connection:
            done: str = await connection.execute(PURGE, before, limit)
        return int(done.rpartition(" ")[2])
