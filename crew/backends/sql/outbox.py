"""Notices that are not sent yet, in the database of a store."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import chain

from pydantic import TypeAdapter

from crew.backends.sql.statements import insert, sql
from crew.backends.sql.transactions import SqlDatabase, Steps
from crew.journal.records.notices import ChannelNews, ChannelState
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
NEWS = sql("""
INSERT INTO crew_channels VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT (name) DO UPDATE SET
    sent = crew_channels.sent + excluded.sent,
    sent_at = greatest(crew_channels.sent_at, excluded.sent_at),
    given_up = crew_channels.given_up + excluded.given_up,
    given_up_at = greatest(crew_channels.given_up_at, excluded.given_up_at),
    failed_at = greatest(crew_channels.failed_at, excluded.failed_at),
    error = CASE WHEN excluded.failed_at = '' THEN crew_channels.error ELSE excluded.error END
""")
CHANNELS = sql("SELECT * FROM crew_channels")
WAITING = sql("SELECT channel, count(*), min(made_at) FROM crew_notices GROUP BY channel")
PURGE = sql("DELETE FROM crew_notices WHERE made_at < $1 RETURNING 1")


def insert_notices(notices: Sequence[Notice]) -> Steps[None]:
    """Keep them, within a transaction."""
    rows = [(n.id, n.channel, n.at, n.at, NOTICE.dump_json(n).decode()) for n in notices]
    if rows:
        yield insert("notices", COLUMNS, len(rows)), list(chain.from_iterable(rows))


def _values(news: ChannelNews) -> tuple[object, ...]:
    """Return the row of one try."""
    one = ChannelState().after(news)
    sent, given_up = (one.sent, one.sent_at), (one.given_up, one.given_up_at)
    return (news.channel, *sent, *given_up, one.failed_at, one.error)


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

    async def postpone(self, notice_id: str, until: str, news: ChannelNews) -> None:
        """See Outbox."""

        def work() -> Steps[None]:
            yield POSTPONE, (until, notice_id)
            yield NEWS, _values(news)

        await self._database.transact(work)

    async def finish(self, notice_id: str, news: ChannelNews) -> None:
        """See Outbox."""

        def work() -> Steps[None]:
            yield FINISH, (notice_id,)
            yield NEWS, _values(news)

        await self._database.transact(work)

    async def channels(self) -> dict[str, ChannelState]:
        """See Outbox."""
        rows = await self._database.fetch(CHANNELS)
        found = {str(name): ChannelState(*state) for name, *state in rows}
        for name, waiting, since in await self._database.fetch(WAITING):
            state = found.get(name, ChannelState())
            found[name] = replace(state, waiting=waiting, waiting_since=since)
        return found

    async def purge(self, before: str) -> int:
        """See Outbox."""
        return len(await self._database.fetch(PURGE, before, writes=True))
