"""Notices that are not sent yet, in the database of a store."""

from collections.abc import Sequence
from itertools import chain

from pydantic import TypeAdapter

from crew.backends.sql.statements import insert, sql
from crew.backends.sql.transactions import SqlDatabase, Steps
from crew.journal.records.rows import Notice

NOTICE: TypeAdapter[Notice] = TypeAdapter(Notice)
COLUMNS = "id, channel, made_at, due_at, document"
IS_DUE = sql("SELECT 1 FROM crew_notices WHERE channel = $1 AND due_at <= $2 LIMIT 1")
TAKE = sql("""
UPDATE crew_notices SET due_at = $1, tries = tries + 1 WHERE id IN (
    SELECT id FROM crew_notices WHERE channel = $2 AND due_at <= $3
    ORDER BY due_at, id LIMIT $4 FOR UPDATE SKIP LOCKED
) RETURNING document, tries
""")
POSTPONE = sql("UPDATE crew_notices SET due_at = $1 WHERE id = $2")
FINISH = sql("DELETE FROM crew_notices WHERE id = $1")
PURGE = sql("DELETE FROM crew_notices WHERE made_at < $1 RETURNING 1")


def insert_notices(notices: Sequence[Notice]) -> Steps[None]:
    """Keep them, within a transaction."""
    rows = [(n.id, n.channel, n.at, n.at, NOTICE.dump_json(n).decode()) for n in notices]
    if rows:
        yield insert("notices", COLUMNS, len(rows)), list(chain.from_iterable(rows))


class SqlOutbox:
    """See Outbox."""

    def __init__(self, database: SqlDatabase) -> None:
        self._database = database

    async def take(
        self, channel: str, now: str, until: str, limit: int
    ) -> list[tuple[Notice, int]]:
        """See Outbox."""
        # a look first: most of the time nothing is due, and a write waits for the disk
        if not await self._database.fetch(IS_DUE, channel, now):
            return []
        found = await self._database.fetch(TAKE, until, channel, now, limit, writes=True)
        taken = [(NOTICE.validate_json(document), tries) for document, tries in found]
        return sorted(taken, key=lambda pair: (pair[0].at, pair[0].id))

    async def add(self, notices: Sequence[Notice]) -> None:
        """See Outbox."""
        await self._database.transact(lambda: insert_notices(notices))

    async def postpone(self, notice_id: str, until: str) -> None:
        """See Outbox."""
        await self._database.fetch(POSTPONE, until, notice_id, writes=True)

    async def finish(self, notice_id: str) -> None:
        """See Outbox."""
        await self._database.fetch(FINISH, notice_id, writes=True)

    async def purge(self, before: str) -> int:
        """See Outbox."""
        return len(await self._database.fetch(PURGE, before, writes=True))
