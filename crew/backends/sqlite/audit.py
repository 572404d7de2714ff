"""Who did what, in the file of a store."""

import sqlite3
from operator import attrgetter

from crew.backends.sqlite.file import SqliteFile
from crew.journal.audit import AuditAction, AuditEntry

# in the order of an AuditEntry
COLUMNS = "at, action, name, address, run_id, request_id, detail"
values_of = attrgetter(*COLUMNS.split(", "))
INSERT = f"INSERT INTO audit ({COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?)"  # noqa: S608 # ours
SELECT = f"""
SELECT {COLUMNS} FROM audit
WHERE action = coalesce(?, action) AND (? IS NULL OR run_id = ?)
ORDER BY number DESC LIMIT ?
"""  # noqa: S608 # ours
PURGE = "DELETE FROM audit WHERE number IN (SELECT number FROM audit WHERE at < ? LIMIT ?)"


def insert_entry(connection: sqlite3.Connection, entry: AuditEntry) -> int:
    """Keep one, within the transaction of what it tells of."""
    return connection.execute(INSERT, values_of(entry)).rowcount


class SqliteAudit:
    """See AuditLog."""

    def __init__(self, file: SqliteFile) -> None:
        self._file = file

    async def record(self, entry: AuditEntry) -> None:
        """See AuditLog."""
        await self._file.do(lambda c: insert_entry(c, entry), writes=True)

    async def entries(
        self, limit: int = 100, action: AuditAction | None = None, run_id: str | None = None
    ) -> list[AuditEntry]:
        """See AuditLog."""
        values = (action, run_id, run_id, limit)
        found = await self._file.do(lambda c: c.execute(SELECT, values).fetchall())
        return [AuditEntry(*row) for row in found]

    async def purge(self, before: str, limit: int = 1000) -> int:
        """See AuditLog."""
        return await self._file.do(
            lambda c: c.execute(PURGE, (before, limit)).rowcount, writes=True
        )
