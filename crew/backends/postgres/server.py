"""One PostgreSQL server: its connections, and what their failures mean."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractContextManager, asynccontextmanager
from typing import Any

import asyncpg

from crew.backends.postgres.address import DatabaseAddress
from crew.backends.postgres.notices import FAILURES, TIMEOUT_SECONDS, Notices
from crew.backends.postgres.shared_time import SharedTime
from crew.journal.errors import StoreError, StoreUnavailable
from crew.journal.records.cluster import Watch
from tools.clock import SYSTEM_CLOCK, Clock

# by their SQLSTATE, what may pass: connections, resources, an operator's doing, the system,
# rollbacks, locks, a standby
PASSING = ("08", "53", "57", "58", "40", "55P03", "25006")
# the first byte of a jsonb value
JSONB_VERSION = b"\x01"
# of a pool, or by itself
Connection = asyncpg.pool.PoolConnectionProxy | asyncpg.Connection


class PostgresServer:
    """A pool of connections, and one more that listens, of the store or of the queue."""

    def __init__(
        self,
        url: str,
        connections: int,
        time: SharedTime,
        clock: Clock = SYSTEM_CLOCK,
        *,
        of_queue: bool = False,
    ) -> None:
        """Connect when first used.

        Args:
            url: postgresql://…
            connections: at most so many at the same time, besides the one that listens.
            time: of the database.
            clock: of waits between tries.
            of_queue: a crash of the server may lose its last commits; see `address`.
        """
        self.of_queue = of_queue
        self.address, self.connections, self.time = DatabaseAddress.of(url), connections, time
        # why the newest use failed; None once something was written
        self.failing: str | None = None
        self._opening = asyncio.Lock()
        self._pool: asyncpg.Pool | None = None
        self._closed = False
        self._notices = Notices(self.address, self._send, clock)

    @asynccontextmanager
    async def connection(self, *, writes: bool = False) -> AsyncIterator[Connection]:
        """Yield a connection for some statements; failures are raised as StoreError.

        Without prepared statements they are one transaction.
        """
        if self._closed:
            raise StoreError("the database is closed")
        try:
            pool = await self._open()
            async with pool.acquire(timeout=TIMEOUT_SECONDS) as connection:
                if self.address.prepares:
                    yield connection
                else:
                    async with connection.transaction(isolation="read_committed"):
                        yield connection
        except FAILURES as error:
            raise self._to_store_error(error) from error
        if writes:
            self.failing = None

    def notify(self, run_id: str, seq: int | None, events: Sequence[str]) -> None:
        """Notify every process that watches a run, soon.

        Args:
            run_id: the run.
            seq: the number of its newest event; None for an ephemeral one.
            events: the newest ones, or the ephemeral one, as clients get them: each on one line.
        """
        self._notices.notify(run_id, seq, events)

    async def listen(self) -> None:
        """See Cluster."""
        await self._notices.listen()

    def watch(self, run_id: str) -> AbstractContextManager[Watch]:
        """See Cluster."""
        return self._notices.watch(run_id)

    def subscribe(
        self, channel: str, callback: Callable[[str], None]
    ) -> AbstractContextManager[None]:
        """Get the payloads of a channel; after a lost connection some may be missing."""
        return self._notices.subscribe(channel, callback)

    async def aclose(self) -> None:
        """Close all connections."""
        self._closed = True
        await self._notices.aclose()
        if self._pool is not None:
            try:
                async with asyncio.timeout(TIMEOUT_SECONDS):
                    await self._pool.close()
            except FAILURES:
                self._pool.terminate()

    async def _open(self) -> asyncpg.Pool:
        async with self._opening:
            if self._pool is None:
                self._pool = await asyncpg.create_pool(
                    self.address.url,
                    min_size=0,
                    max_size=self.connections,
                    timeout=TIMEOUT_SECONDS,
                    command_timeout=TIMEOUT_SECONDS,
                    **self.address.options("crew", of_queue=self.of_queue),
                    init=_read_json,
                    # nothing here outlives its transaction, so there is nothing to reset: it
                    # would be half of all trips to the server
                    reset=_keep,
                )
            return self._pool

    async def _send(self, payloads: list[tuple[str, str]]) -> None:
        sql = "SELECT pg_notify(channel, payload) FROM unnest($1::text[], $2::text[])"
        sql = f"{sql} AS notice (channel, payload)"
        channels = [channel for channel, _ in payloads]
        async with self.connection() as connection:
            await connection.execute(sql, channels, [payload for _, payload in payloads])

    def _to_store_error(self, error: Exception) -> StoreError:
        reason, name = self.address.explain(error), self.address.name
        if isinstance(error, asyncpg.PostgresError) and not _passes(error):
            return StoreError(f"the database {name} failed: {reason}")
        # a server that cannot be read now cannot be written either
        self.failing = reason
        return StoreUnavailable(f"the database {name} cannot be used for now: {reason}")


def _passes(error: asyncpg.PostgresError) -> bool:
    return (error.sqlstate or "").startswith(PASSING)


async def _keep(connection: object) -> None:
    """Leave a connection as it is when it returns to the pool."""


async def _read_json(connection: asyncpg.Connection) -> None:
    """Have JSON columns read as Python values; only the queue has any.

    In their binary form, since a composite type cannot have a part in text.
    """
    async with connection.transaction():
        for name, (encoder, decoder) in JSON_CODECS.items():
            await connection.set_type_codec(
                name, schema="pg_catalog", encoder=encoder, decoder=decoder, format="binary"
            )


def _encode_json(value: Any) -> bytes:
    return json.dumps(value).encode()


def _encode_jsonb(value: Any) -> bytes:
    return JSONB_VERSION + _encode_json(value)


def _decode_jsonb(data: bytes) -> Any:
    return json.loads(data[len(JSONB_VERSION) :])


JSON_CODECS: dict[str, tuple[Callable[[Any], bytes], Callable[[bytes], Any]]] = {
    "json": (_encode_json, json.loads),
    "jsonb": (_encode_jsonb, _decode_jsonb),
}
