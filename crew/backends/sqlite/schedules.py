"""How far each schedule has come, in the file of a store."""

from pydantic import TypeAdapter

from crew.backends.sqlite.file import SqliteFile
from crew.journal.schedules import ScheduleState

STATE: TypeAdapter[ScheduleState] = TypeAdapter(ScheduleState)
INSERT = "INSERT INTO schedules VALUES (?, 1, ?) ON CONFLICT (name) DO NOTHING"
UPDATE = "UPDATE schedules SET version = version + 1, document = ? WHERE name = ? AND version = ?"


class SqliteSchedules:
    """See ScheduleLog."""

    def __init__(self, file: SqliteFile) -> None:
        self._file = file

    async def states(self) -> dict[str, tuple[ScheduleState, int]]:
        """See ScheduleLog."""
        sql = "SELECT name, document, version FROM schedules"
        found = await self._file.do(lambda c: c.execute(sql).fetchall())
        return {name: (STATE.validate_json(document), version) for name, document, version in found}

    async def move(self, name: str, state: ScheduleState, version: int | None) -> bool:
        """See ScheduleLog."""
        document = STATE.dump_json(state).decode()
        if version is None:
            return await self._write(INSERT, name, document) > 0
        return await self._write(UPDATE, document, name, version) > 0

    async def forget(self, name: str) -> None:
        """See ScheduleLog."""
        await self._write("DELETE FROM schedules WHERE name = ?", name)

    async def _write(self, sql: str, *values: str | int) -> int:
        return await self._file.do(lambda c: c.execute(sql, values).rowcount, writes=True)
