"""Notices that are not sent yet, in the file of a store."""

import sqlite3
from collections.abc import Sequence

from pydantic import TypeAdapter

from crew.backends.sqlite.file import SqliteFile
from crew.journal.rows import Notice

NOTICE: TypeAdapter[Notice] = TypeAdapter(Notice)
INSERT = """
INSERT INTO notices (id, channel, made_at, due_at, document) VALUES (?, ?, ?, ?, ?)
ON CONFLICT (id) DO NOTHING
"""
TAKE = """
UPDATE notices SET due_at = ?, tries = tries + 1 WHERE id IN (
    SELECT id FROM notices WHERE channel = ? AND due_at <= ? ORDER BY due_at, id LIMIT ?
) RETURNING document, tries
"""
IS_DUE = "SELECT 1 FROM notices WHERE channel = ? AND due_at <= ? LIMIT 1"


def insert_notices(connection: sqlite3.Connection, notices: Sequence[Notice]) -> None:
    """Keep them, within a transaction."""
    rows = [(n.id, n.channel, n.at, n.at, NOTICE.dump_json(n).decode()) for n in notices]
    connection.executemany(INSERT, rows)


class SqliteOutbox:
    """See Outbox."""

    def __init__(self, file: SqliteFile) -> None:
        self._file = file

    async def take(
        self, channel: str, now: str, until: str, limit: int
    ) -> list[tuple[Notice, int]]:
        """See Outbox."""
        values = (until, channel, now, limit)
        # a look first: most of the time nothing is due, and a write waits for the disk
        if await self._file.do(lambda c: c.execute(IS_DUE, (channel, now)).fetchone()) is None:
            return []
        found = await self._file.do(lambda c: c.execute(TAKE, values).fetchall(), writes=True)
        taken = [(NOTICE.validate_json(document), tries) for document, tries in found]
        return sorted(taken, key=lambda pair: (pair[0].at, pair[0].id))

    async def add(self, notices: Sequence[Notice]) -> None:
        """See Outbox."""
        await self._file.do(lambda c: insert_notices(c, notices), writes=True)

    async def postpone(self, notice_id: str, until: str) -> None:
        """See Outbox."""
        await self._write("UPDATE notices SET due_at = ? WHERE id = ?", until, notice_id)

    async def finish(self, notice_id: str) -> None:
        """See Outbox."""
        await self._write("DELETE FROM notices WHERE id = ?", notice_id)

    async def purge(self, before: str) -> int:
        """See Outbox."""
        return await self._write("DELETE FROM notices WHERE made_at < ?", before)

    async def _write(self, sql: str, *values: str) -> int:
        return await self._file.do(lambda c: c.execute(sql, values).rowcount, writes=True)
