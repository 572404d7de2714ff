"""Chores that wait, in the database of a store."""

from collections.abc import Sequence

from crew.backends.sql.statements import sql
from crew.backends.sql.transactions import SqlDatabase, Steps
from crew.journal.records.conversations import CREW_OWNER, Chore, ChoreKind

ADD = sql("""
INSERT INTO crew_chores (kind, owner, key, due_at) VALUES ($1, $2, $3, $4)
ON CONFLICT (kind, owner, key) DO UPDATE SET again = crew_chores.attempts > 0,
    due_at = CASE WHEN crew_chores.attempts = 0 THEN excluded.due_at ELSE crew_chores.due_at END
""")
# "|| ''" keeps SQLite from the index that begins with the kind: that by time has few rows to read
IS_DUE = sql("SELECT 1 FROM crew_chores WHERE due_at <= $1 AND kind || '' = ANY($2) LIMIT 1")
# people do not wait for the thousands of files that a crew may have
TAKE = sql(f"""
UPDATE crew_chores SET due_at = $1, attempts = attempts + 1 WHERE (kind, owner, key) IN (
    SELECT kind, owner, key FROM crew_chores WHERE due_at <= $2 AND kind || '' = ANY($4)
    ORDER BY CASE owner WHEN '{CREW_OWNER}' THEN 1 ELSE 0 END, due_at
    LIMIT $3 FOR UPDATE SKIP LOCKED
) RETURNING kind, owner, key, due_at, attempts
""")  # noqa: S608 # a name of ours
SAME = "kind = $1 AND owner = $2 AND key = $3 AND attempts = $4 AND due_at = $5"
POSTPONE = sql(f"UPDATE crew_chores SET due_at = $6 WHERE {SAME}")  # noqa: S608 # ours
REPEAT = sql(
    "UPDATE crew_chores SET due_at = $6, attempts = 0, again = false"  # noqa: S608 # ours
    f" WHERE {SAME} AND (again OR $7)"
)
DELETE = sql(f"DELETE FROM crew_chores WHERE {SAME}")  # noqa: S608 # ours
FREE = sql("UPDATE crew_chores SET due_at = $1 WHERE attempts > 0 AND due_at > $1")
# what is left of them is a name
ERASING = frozenset({"erase", "drop"})
COUNT = sql("SELECT kind, count(*) FROM crew_chores GROUP BY kind")


def insert_chores(chores: Sequence[Chore]) -> Steps[None]:
    """Keep them, within a transaction."""
    for one in chores:
        yield ADD, (one.kind, one.owner, one.key, one.due_at)


class SqlChores:
    """See ChoreLog."""

    def __init__(self, database: SqlDatabase) -> None:
        self._database = database

    async def add(self, chore: Chore) -> None:
        """See ChoreLog."""
        values = (chore.kind, chore.owner, chore.key, chore.due_at)
        await self._database.fetch(ADD, *values, writes=True)

    async def take(
        self, now: str, until: str, limit: int, kinds: Sequence[ChoreKind]
    ) -> list[Chore]:
        """See ChoreLog."""
        # a look first: most of the time nothing is due, and a write waits for the disk
        if not await self._database.fetch(IS_DUE, now, list(kinds)):
            return []
        found = await self._database.fetch(TAKE, until, now, limit, list(kinds), writes=True)
        return [Chore(*one) for one in found]

    async def postpone(self, chore: Chore, until: str) -> None:
        """See ChoreLog."""
        await self._database.fetch(POSTPONE, *_key(chore), until, writes=True)

    async def finish(self, chore: Chore, now: str, *, more: bool = False) -> None:
        """See ChoreLog."""

        def work() -> Steps[None]:
            yield REPEAT, (*_key(chore), now, more)
            yield DELETE, _key(chore)

        await self._database.transact(work)
        if chore.kind in ERASING:
            # its owner and its key say who, and what
            await self._database.forget_deleted()

    async def free(self, now: str) -> None:
        """See ChoreLog."""
        await self._database.fetch(FREE, now, writes=True)

    async def counts(self) -> dict[ChoreKind, int]:
        """See ChoreLog."""
        return {kind: int(count) for kind, count in await self._database.fetch(COUNT)}


def _key(chore: Chore) -> tuple[object, ...]:
    """Return what makes it the one that was taken."""
    return (chore.kind, chore.owner, chore.key, chore.attempts, chore.due_at)
