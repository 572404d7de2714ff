"""Chores that wait, in the file of a store."""

import sqlite3
from collections.abc import Sequence

from crew.backends.sqlite.file import SqliteFile
from crew.journal.conversations import Chore, ChoreKind

ADD_CHORE = """
INSERT INTO chores (kind, owner, key, due_at) VALUES (?, ?, ?, ?)
ON CONFLICT (kind, owner, key) DO UPDATE SET again = attempts > 0,
    due_at = CASE WHEN attempts = 0 THEN excluded.due_at ELSE due_at END
"""
TAKE_CHORES = """
UPDATE chores SET due_at = ?, attempts = attempts + 1 WHERE (kind, owner, key) IN (
    SELECT kind, owner, key FROM chores WHERE due_at <= ? ORDER BY due_at LIMIT ?
) RETURNING kind, owner, key, due_at, attempts
"""
SAME_CHORE = "kind = ? AND owner = ? AND key = ? AND attempts = ? AND due_at = ?"


def insert_chores(connection: sqlite3.Connection, chores: Sequence[Chore]) -> None:
    """Keep them, within a transaction."""
    rows = [(one.kind, one.owner, one.key, one.due_at) for one in chores]
    connection.executemany(ADD_CHORE, rows)


class SqliteChores:
    """See ChoreLog."""

    def __init__(self, file: SqliteFile) -> None:
        self._file = file

    async def take(self, now: str, until: str, limit: int) -> list[Chore]:
        """See ChoreLog."""
        sql = "SELECT 1 FROM chores WHERE due_at <= ? LIMIT 1"
        # a look first: most of the time nothing is due, and a write waits for the disk
        if await self._file.do(lambda c: c.execute(sql, (now,)).fetchone()) is None:
            return []
        values = (until, now, limit)
        found = await self._file.do(
            lambda c: c.execute(TAKE_CHORES, values).fetchall(), writes=True
        )
        return [Chore(*one) for one in found]

    async def postpone(self, chore: Chore, until: str) -> None:
        """See ChoreLog."""
        sql = f"UPDATE chores SET due_at = ? WHERE {SAME_CHORE}"  # noqa: S608 # ours
        values = (until, chore.kind, chore.owner, chore.key, chore.attempts, chore.due_at)
        await self._file.do(lambda c: c.execute(sql, values).rowcount, writes=True)

    async def finish(self, chore: Chore, now: str, *, more: bool = False) -> None:
        """See ChoreLog."""
        key = (chore.kind, chore.owner, chore.key, chore.attempts, chore.due_at)

        def work(connection: sqlite3.Connection) -> None:
            sql = f"UPDATE chores SET due_at = ?, attempts = 0, again = 0 WHERE {SAME_CHORE}"  # noqa: S608 # ours
            connection.execute(f"{sql} AND (again OR ?)", (now, *key, more))
            connection.execute(f"DELETE FROM chores WHERE {SAME_CHORE}", key)  # noqa: S608 # ours

        await self._file.do(work, writes=True)

    async def counts(self) -> dict[ChoreKind, int]:
        """See ChoreLog."""
        sql = "SELECT kind, count(*) FROM chores GROUP BY kind"
        return dict(await self._file.do(lambda c: c.execute(sql).fetchall()))
