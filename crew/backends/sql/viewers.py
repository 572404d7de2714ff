"""Who looks at runs that wait, in the database of a store."""

from collections.abc import Sequence
from dataclasses import astuple

from crew.backends.sql.statements import sql
from crew.backends.sql.transactions import SqlDatabase, Steps
from crew.journal.records.viewers import Viewer

PURGE = sql("DELETE FROM crew_viewers WHERE until <= $1")
ANNOUNCE = sql("""
INSERT INTO crew_viewers VALUES ($1, $2, $3, $4, $5)
ON CONFLICT (run_id, viewer) DO UPDATE SET name = excluded.name, until = excluded.until
""")
FIND = sql("""
SELECT run_id, viewer, name, since, until FROM crew_viewers
WHERE run_id = ANY($1) AND until > $2 ORDER BY since, viewer
""")


class SqlViewers:
    """See ViewerLog."""

    def __init__(self, database: SqlDatabase) -> None:
        self._database = database

    async def announce(self, one: Viewer) -> None:
        """See ViewerLog."""

        def work() -> Steps[None]:
            yield PURGE, (one.since,)
            yield ANNOUNCE, astuple(one)

        await self._database.transact(work)

    async def find(self, run_ids: Sequence[str], now: str) -> list[Viewer]:
        """See ViewerLog."""
        return [Viewer(*row) for row in await self._database.fetch(FIND, list(run_ids), now)]
