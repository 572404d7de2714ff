"""Notices that are not sent yet, in the database of a store."""

from collections.abc import Sequence

from pydantic import TypeAdapter

from crew.backends.postgres.server import Connection, PostgresServer
from crew.journal.rows import Notice

NOTICE: TypeAdapter[Notice] = TypeAdapter(Notice)
INSERT = """
INSERT INTO crew_notices (id, channel, made_at, due_at, document)
SELECT * FROM unnest($1::text[], $2::text[], $3::text[], $3::text[], $4::text[])
ON CONFLICT (id) DO NOTHING
"""
TAKE = """
UPDATE crew_notices SET due_at = $1, tries = tries + 1 WHERE id IN (
    SELECT id FROM crew_notices WHERE channel = $2 AND due_at <= $3
    ORDER BY due_at, id LIMIT $4 FOR UPDATE SKIP LOCKED
) RETURNING document, tries
"""


async def insert_notices(connection: Connection, notices: Sequence[Notice]) -> None:
    """Keep them, within a transaction."""
    rows = [(n.id, n.channel, n.at, NOTICE.dump_json(n).decode()) for n in notices]
    await connection.execute(INSERT, *map(list, zip(*rows, strict=True)))


class PostgresOutbox:
    """See Outbox."""

    def __init__(self, server: PostgresServer) -> None:
        self._server = server

    async def take(
        self, channel: str, now: str, until: str, limit: int
    ) -> list[tuple[Notice, int]]:
        """See Outbox."""
        async with self._server.connection(writes=True) as connection:
            found = await connection.fetch(TAKE, until, channel, now, limit)
        taken = [(NOTICE.validate_json(document), tries) for document, tries in found]
        return sorted(taken, key=lambda pair: (pair[0].at, pair[0].id))

    async def add(self, notices: Sequence[Notice]) -> None:
        """See Outbox."""
        async with self._server.connection(writes=True) as connection:
            await insert_notices(connection, notices)

    async def postpone(self, notice_id: str, until: str) -> None:
        """See Outbox."""
        await self._write("UPDATE crew_notices SET due_at = $1 WHERE id = $2", until, notice_id)

    async def finish(self, notice_id: str) -> None:
        """See Outbox."""
        await self._write("DELETE FROM crew_notices WHERE id = $1", notice_id)

    async def purge(self, before: str) -> int:
        """See Outbox."""
        return await self._write("DELETE FROM crew_notices WHERE made_at < $1", before)

    async def _write(self, sql: str, *values: str) -> int:
        async with self._server.connection(writes=True) as connection:
            done: str = await connection.execute(sql, *values)
        return int(done.rpartition(" ")[2])
