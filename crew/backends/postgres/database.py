"""Plays the steps of a store's roles on its server."""

from collections.abc import Callable
from typing import Any, TypeVar

from crew.backends.postgres.server import Connection, PostgresServer
from crew.backends.sql.statements import Statement, postgres_values
from crew.backends.sql.transactions import Rows, Steps

T = TypeVar("T")


async def do_steps(connection: Connection, steps: Steps[T]) -> T:
    """Play steps within a transaction, and return their result."""
    try:
        statement, values = next(steps)
        while True:
            rows: Rows = await connection.fetch(statement.postgres, *postgres_values(values))
            statement, values = steps.send(rows)
    except StopIteration as end:
        result: T = end.value
        return result


class PostgresDatabase:
    """See SqlDatabase."""

    def __init__(self, server: PostgresServer) -> None:
        self._server = server

    async def fetch(
        self, statement: Statement, *values: Any, writes: bool = False, brief: bool = False
    ) -> Rows:
        """See SqlDatabase."""
        async with self._server.connection(writes=writes) as connection:
            rows: Rows = await connection.fetch(statement.postgres, *postgres_values(values))
        return rows

    async def transact(self, make: Callable[[], Steps[T]], *, brief: bool = False) -> T:
        """See SqlDatabase."""
        async with self._server.connection(writes=True) as connection, connection.transaction():
            return await do_steps(connection, make())

    async def forget_deleted(self) -> None:
        """See SqlDatabase: the server does it."""
