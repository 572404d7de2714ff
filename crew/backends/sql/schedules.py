"""How far each schedule has come, in the database of a store."""

from pydantic import TypeAdapter

from crew.backends.sql.statements import sql
from crew.backends.sql.transactions import SqlDatabase
from crew.journal.records.schedules import ScheduleState

STATE: TypeAdapter[ScheduleState] = TypeAdapter(ScheduleState)
SELECT = sql("SELECT name, document, version FROM crew_schedules")
INSERT = sql("INSERT INTO crew_schedules VALUES ($1, 1, $2) ON CONFLICT DO NOTHING RETURNING 1")
UPDATE = sql("""
UPDATE crew_schedules SET version = version + 1, document = $1 WHERE name = $2 AND version = $3
RETURNING 1
""")
DELETE = sql("DELETE FROM crew_schedules WHERE name = $1")


class SqlSchedules:
    """See ScheduleLog."""

    def __init__(self, database: SqlDatabase) -> None:
        self._database = database

    async def states(self) -> dict[str, tuple[ScheduleState, int]]:
        """See ScheduleLog."""
        found = await self._database.fetch(SELECT)
        return {name: (STATE.validate_json(document), version) for name, document, version in found}

    async def move(self, name: str, state: ScheduleState, version: int | None) -> bool:
        """See ScheduleLog."""
        document = STATE.dump_json(state).decode()
        if version is None:
            return bool(await self._database.fetch(INSERT, name, document, writes=True))
        return bool(await self._database.fetch(UPDATE, document, name, version, writes=True))

    async def forget(self, name: str) -> None:
        """See ScheduleLog."""
        await self._database.fetch(DELETE, name, writes=True)
