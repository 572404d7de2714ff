"""Procrastinate's statements over the store's own connections: one driver, one pool."""

import asyncio
import re
from collections.abc import Awaitable, Callable, Iterable
from contextlib import ExitStack
from functools import partial
from typing import Any

import asyncpg
from procrastinate.connector import BaseAsyncConnector
from procrastinate.exceptions import ConnectorException, NoResult, UniqueViolation

from crew.backends.postgres.server import Connection, PostgresServer

PLACEHOLDER = re.compile(r"%\((\w+)\)s")
TEXT_TYPES = frozenset({"text", "varchar"})


class UnregisteredWorker(Exception):
    """The registration of a worker is gone, such as after the restoring of a backup."""


class AsyncpgConnector(BaseAsyncConnector):
    """What Procrastinate needs of a driver; failures are raised as StoreError."""

    def __init__(self, server: PostgresServer) -> None:
        self.server = server
        # of each statement: its text and parameters as asyncpg takes them
        self._statements: dict[str, tuple[str, list[str]]] = {}
        # of each statement: the types that the server expects
        self._types: dict[str, list[str]] = {}

    async def open_async(self, pool: Any = None) -> None:
        """Do nothing: the server opens its connections when they are needed."""

    async def close_async(self) -> None:
        """Do nothing: the store closes the server."""

    async def execute_query_async(self, query: str, **arguments: Any) -> None:
        """Run a statement."""
        await self.execute_query_all_async(query, **arguments)

    async def execute_query_one_async(self, query: str, **arguments: Any) -> dict[str, Any]:
        """Run a statement; its first row. Raises NoResult."""
        rows = await self.execute_query_all_async(query, **arguments)
        if not rows:
            raise NoResult
        return rows[0]

    async def execute_query_all_async(self, query: str, **arguments: Any) -> list[dict[str, Any]]:
        """Run a statement; all rows.

        Raises:
            StoreError: the database fails.
            UniqueViolation: there is such a row already.
            UnregisteredWorker: the worker that asks for a job is not registered any more.
            ConnectorException: a function of Procrastinate's refuses.
        """
        async with self.server.connection(writes=True) as connection:
            return await self.fetch(connection, query, arguments)

    async def fetch(
        self, connection: Connection, query: str, arguments: dict[str, Any]
    ) -> list[dict[str, Any]]:
        """Run a statement of Procrastinate's over a connection; see `execute_query_all_async`."""
        sql, names = self._translate(query)
        if sql not in self._types:
            # without a name: behind a pooler it would stay in another's session
            prepared = await connection.prepare(sql, name="")
            self._types[sql] = [one.name for one in prepared.get_parameters()]
        pairs = zip(names, self._types[sql], strict=True)
        values = [_convert(arguments[name], type_) for name, type_ in pairs]
        try:
            return [dict(row) for row in await connection.fetch(sql, *values)]
        except asyncpg.UniqueViolationError as error:
            raise UniqueViolation(
                constraint_name=error.constraint_name or "", queueing_lock=None
            ) from error
        except asyncpg.ForeignKeyViolationError as error:
            raise UnregisteredWorker from error
        except asyncpg.RaiseError as error:
            raise ConnectorException from error

    def _translate(self, query: str) -> tuple[str, list[str]]:
        """Translate `%(name)s` to `$1`, a name that is used again to the same number."""
        if query not in self._statements:
            names: list[str] = []

            def number(found: re.Match[str]) -> str:
                if found[1] not in names:
                    names.append(found[1])
                return f"${names.index(found[1]) + 1}"

            sql = PLACEHOLDER.sub(number, query).replace("%%", "%")
            self._statements[query] = (sql, names)
        return self._statements[query]

    async def listen_notify(
        self, on_notification: Callable[..., Awaitable[None]], channels: Iterable[str]
    ) -> None:
        """Pass on the payloads of some channels, until this is cancelled."""
        received: asyncio.Queue[tuple[str, str]] = asyncio.Queue()
        with ExitStack() as subscriptions:
            for channel in channels:
                put = partial(_put, received, channel)
                subscriptions.enter_context(self.server.subscribe(channel, put))
            while True:
                channel, payload = await received.get()
                await on_notification(channel=channel, payload=payload)


def _put(received: "asyncio.Queue[tuple[str, str]]", channel: str, payload: str) -> None:
    received.put_nowait((channel, payload))


def _convert(value: Any, type_: str) -> Any:
    """Return a value as asyncpg takes it: it converts nothing to text by itself."""
    if type_ in TEXT_TYPES and value is not None and not isinstance(value, str):
        return str(value)
    return value
