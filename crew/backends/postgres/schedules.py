"""How far each schedule has come, in the database of a store."""

from pydantic import TypeAdapter

from crew.backends.postgres.server import PostgresServer
from crew.journal.schedules import ScheduleState

STATE: TypeAdapter[ScheduleState] = TypeAdapter(ScheduleState)
INSERT = "INSERT INTO crew_schedules VALUES ($1, 1, $2) ON CONFLICT (name) DO NOTHING"
UPDATE = """
UPDATE crew_schedules SET version = version + 1, document = $1 WHERE name = $2 AND version = $3
"""


class PostgresSchedules:
    """See ScheduleLog."""

    def __init__(self, server: PostgresServer) -> None:
        self._server = server

    async def states(self) -> dict[str, tuple[ScheduleState, int]]:
        """See ScheduleLog."""
        async with self._server.connection() as connection:
            found = await connection.fetch("SELECT name, document, version FROM crew_schedules")
        return {name: (STATE.validate_json(document), version) for name, document, version in found}

    async def move(self, name: str, state: ScheduleState, version: int | None) -> bool:
        """See ScheduleLog."""
        document = STATE.dump_json(state).decode()
        if version is None:
            return await self._write(INSERT, name, document) > 0
        return await self._write(UPDATE, document, name, version) > 0

    async def forget(self, name: str) -> None:
        """See ScheduleLog."""
        await self._write("DELETE FROM crew_schedules WHERE name = $1", name)

    async def _write(self, sql: str, *values: str | int) -> int:
        async with self._server.connection(writes=True) as connection:
            done: str = await connection.execute(sql, *values)
        return int(done.rpartition(" ")[2])
