"""Chores that wait, in the database of a store."""

from collections.abc import Sequence

from crew.backends.postgres.server import Connection, PostgresServer
from crew.journal.conversations import Chore, ChoreKind

ADD_CHORE = """
INSERT INTO crew_chores VALUES ($1, $2, $3, $4)
ON CONFLICT (kind, owner, key) DO UPDATE SET again = crew_chores.attempts > 0,
    due_at = CASE WHEN crew_chores.attempts = 0 THEN excluded.due_at ELSE crew_chores.due_at END
"""
TAKE_CHORES = """
UPDATE crew_chores SET due_at = $1, attempts = attempts + 1 WHERE (kind, owner, key) IN (
    SELECT kind, owner, key FROM crew_chores WHERE due_at <= $2
    ORDER BY due_at LIMIT $3 FOR UPDATE SKIP LOCKED
) RETURNING kind, owner, key, due_at, attempts
"""
SAME_CHORE = "kind = $1 AND owner = $2 AND key = $3 AND attempts = $4 AND due_at = $5"


async def insert_chores(connection: Connection, chores: Sequence[Chore]) -> None:
    """Keep them, within a transaction."""
    for one in chores:
        await connection.execute(ADD_CHORE, one.kind, one.owner, one.key, one.due_at)


class PostgresChores:
    """See ChoreLog."""

    def __init__(self, server: PostgresServer) -> None:
        self._server = server

    async def take(self, now: str, until: str, limit: int) -> list[Chore]:
        """See ChoreLog."""
        async with self._server.connection(writes=True) as connection:
            return [Chore(*one) for one in await connection.fetch(TAKE_CHORES, until, now, limit)]

    async def postpone(self, chore: Chore, until: str) -> None:
        """See ChoreLog."""
        sql = f"UPDATE crew_chores SET due_at = $6 WHERE {SAME_CHORE}"  # noqa: S608 # ours
        async with self._server.connection(writes=True) as connection:
            values = (*_key(chore), until)
            await connection.execute(sql, *values)

    async def finish(self, chore: Chore, now: str, *, more: bool = False) -> None:
        """See ChoreLog."""
        sql = "UPDATE crew_chores SET due_at = $6, attempts = 0, again = false"
        sql = f"{sql} WHERE {SAME_CHORE} AND (again OR $7)"
        async with self._server.connection(writes=True) as connection, connection.transaction():
            await connection.execute(sql, *_key(chore), now, more)
            sql = f"DELETE FROM crew_chores WHERE {SAME_CHORE}"  # noqa: S608 # ours
            await connection.execute(sql, *_key(chore))

    async def counts(self) -> dict[ChoreKind, int]:
        """See ChoreLog."""
        async with self._server.connection() as connection:
            found = await connection.fetch("SELECT kind, count(*) FROM crew_chores GROUP BY kind")
        return {kind: int(count) for kind, count in found}


def _key(chore: Chore) -> tuple[object, ...]:
    """Return what makes it the one that was taken."""
    return (chore.kind, chore.owner, chore.key, chore.attempts, chore.due_at)
