"""Plays the steps of a store's roles on its file."""

import sqlite3
from collections.abc import Callable
from typing import Any, TypeVar

from crew.backends.sql.statements import Statement, sqlite_values
from crew.backends.sql.transactions import Rows, Steps
from crew.backends.sqlite.file import SqliteFile

T = TypeVar("T")


def do_steps(connection: sqlite3.Connection, steps: Steps[T]) -> T:
    """Play steps within a transaction, and return their result."""
    try:
        statement, values = next(steps)
        while True:
            rows: Rows = connection.execute(statement.sqlite, sqlite_values(values)).fetchall()
            statement, values = steps.send(rows)
    except StopIteration as end:
        result: T = end.value
        return result


class SqliteDatabase:
    """See SqlDatabase."""

    def __init__(self, file: SqliteFile) -> None:
        self._file = file

    async def fetch(
        self, statement: Statement, *values: Any, writes: bool = False, brief: bool = False
    ) -> Rows:
        """See SqlDatabase."""
        taken = sqlite_values(values)
        return await self._file.do(
            lambda c: c.execute(statement.sqlite, taken).fetchall(), writes=writes, brief=brief
        )

    async def transact(self, make: Callable[[], Steps[T]], *, brief: bool = False) -> T:
        """See SqlDatabase."""
        return await self._file.do(
            lambda connection: do_steps(connection, make()), writes=True, brief=brief
        )

    async def forget_deleted(self) -> None:
        """See SqlDatabase: it still stands in the log of writes."""
        await self._file.truncate_log()
