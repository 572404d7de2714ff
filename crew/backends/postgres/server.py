"""One PostgreSQL server: connections, what its failures mean, the migrations of its schema.

And what it rings for.
"""

import asyncio
import contextlib
import contextvars
import logging
from collections import defaultdict
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import asyncpg

from crew.errors import StoreError, StoreUnavailable
from crew.journal.watch import Watch

# One script a version, in the order of their names; a database of a later version is refused.
MIGRATIONS = tuple(
    path.read_text() for path in sorted((Path(__file__).parent / "migrations").glob("*.sql"))
)
# of the advisory lock under which schemas are changed; any number that nobody else takes
MIGRATION_LOCK = 0x1A4B7
CHANNEL = "crew_runs"
# longer payloads are refused by PostgreSQL; some of it goes before what is passed
MOST_PAYLOAD_BYTES = 7800
# for a connection, and for one statement
TIMEOUT_SECONDS = 10.0
# how often the connection that listens is asked whether it is still there
PROBE_SECONDS = 5.0
# between tries to listen again
AGAIN_SECONDS = 0.5
# what may be otherwise in a moment: connections, resources, an operator's doing, the system,
# rollbacks, locks, a standby
PASSING = ("08", "53", "57", "58", "40", "55P03", "25006")
# the last is what it says of a connection that was lost at the wrong moment
FAILURES = (
    OSError,
    TimeoutError,
    asyncpg.InterfaceError,
    asyncpg.PostgresError,
    asyncpg.InternalClientError,
)

log = logging.getLogger(__name__)
# of a pool, or by itself
Connection = asyncpg.pool.PoolConnectionProxy | asyncpg.Connection


class PostgresServer:
    """Connections as they are needed, and one that listens."""

    def __init__(self, url: str, connections: int) -> None:
        """`url`: postgresql://…; `connections`.

        At most so many at once, besides the one that listens.
        """
        self.url, self.connections, self.name = url, connections, shown(url)
        # why it could not be used when it was last; None once something was written
        self.failing: str | None = None
        self._opening = asyncio.Lock()
        self._pool: asyncpg.Pool | None = None
        self._watches: defaultdict[str, set[Watch]] = defaultdict(set)
        self._listening: asyncio.Task[None] | None = None
        self._to_ring: list[str] = []
        self._rung = 0
        self._ringing: asyncio.Task[None] | None = None
        self._closed = False

    @asynccontextmanager
    async def connection(self, *, writes: bool = False) -> AsyncIterator[Connection]:
        """A connection for some statements; what goes wrong is raised as StoreError."""
        if self._closed:
            raise StoreError("the database is closed")
        try:
            pool = await self._opened()
            async with pool.acquire(timeout=TIMEOUT_SECONDS) as connection:
                yield connection
        except FAILURES as error:
            raise self._failed(error) from error
        if writes:
            self.failing = None

    def ring(self, run_id: str, seq: int | None, passed: str = "") -> None:
        """Tell every process that watches, soon: up to which event a run has more.

        Or, without one, what is passed of it.
        """
        # the first line is the same for no two: PostgreSQL takes two alike in one transaction for
        # one
        self._rung += 1
        self._to_ring.append(f"{run_id} {self._rung} {'' if seq is None else seq}\n{passed}")
        if self._ringing is None or self._ringing.done():
            # in a context of its own: it is of no one request
            self._ringing = asyncio.create_task(self._ring(), context=contextvars.Context())

    @contextmanager
    def watching(self, run_id: str) -> Iterator[Watch]:
        """See RunStore."""
        if self._listening is None or self._listening.done():
            self._listening = asyncio.create_task(self._listen(), context=contextvars.Context())
        watch = Watch()
        self._watches[run_id].add(watch)
        try:
            yield watch
        finally:
            self._watches[run_id].discard(watch)
            if not self._watches[run_id]:
                del self._watches[run_id]

    async def aclose(self) -> None:
        """Close all connections."""
        self._closed = True
        for task in (self._listening, self._ringing):
            if task is not None:
                task.cancel()
                await asyncio.wait({task})
        if self._pool is not None:
            try:
                async with asyncio.timeout(TIMEOUT_SECONDS):
                    await self._pool.close()
            except FAILURES:
                self._pool.terminate()

    async def _opened(self) -> asyncpg.Pool:
        async with self._opening:
            if self._pool is None:
                self._pool = await asyncpg.create_pool(
                    self.url,
                    min_size=0,
                    max_size=self.connections,
                    timeout=TIMEOUT_SECONDS,
                    command_timeout=TIMEOUT_SECONDS,
                    server_settings={"application_name": "crew"},
                    # nothing here outlives its transaction, so there is nothing to reset: half of
                    # all trips to the server
                    reset=_as_it_is,
                )
            return self._pool

    def _failed(self, error: Exception) -> StoreError:
        said = str(error) or type(error).__name__
        if isinstance(error, asyncpg.PostgresError) and not (error.sqlstate or "").startswith(
            PASSING
        ):
            return StoreError(f"the database {self.name} failed: {said}")
        # a server that cannot be read now cannot be written either
        self.failing = said
        return StoreUnavailable(f"the database {self.name} cannot be used for now: {said}")

    async def _ring(self) -> None:
        while self._to_ring:
            texts, self._to_ring = self._to_ring, []
            # one that is not heard is no loss: who watches looks from time to time
            with contextlib.suppress(StoreError):
                async with self.connection() as connection:
                    await connection.execute(
                        f"SELECT pg_notify('{CHANNEL}', text) FROM unnest($1::text[]) AS text",
                        texts,
                    )  # a name of ours

    async def _listen(self) -> None:
        """Hear what others ring, over a connection that is made anew whenever it breaks."""
        while True:
            with contextlib.suppress(*FAILURES):
                listening = {"application_name": "crew listening"}
                connection = await asyncpg.connect(
                    self.url, timeout=TIMEOUT_SECONDS, server_settings=listening
                )
                broken = asyncio.Event()
                try:
                    connection.add_termination_listener(lambda _, broken=broken: broken.set())
                    await connection.add_listener(CHANNEL, self._heard)
                    # what was rung meanwhile was not heard
                    for watches in list(self._watches.values()):
                        for watch in watches:
                            watch.ring(None)
                    while not broken.is_set():
                        with contextlib.suppress(TimeoutError):
                            async with asyncio.timeout(PROBE_SECONDS):
                                await broken.wait()
                        # one that is silent may be dead
                        await connection.execute("SELECT 1", timeout=TIMEOUT_SECONDS)
                finally:
                    connection.terminate()
            await asyncio.sleep(AGAIN_SECONDS)

    def _heard(self, connection: object, pid: int, channel: str, payload: object) -> None:
        first, _, passed = str(payload).partition("\n")
        run_id, _, seq = first.split(" ")
        for watch in self._watches.get(run_id, ()):
            watch.ring(int(seq) if seq else passed)


async def _as_it_is(connection: object) -> None:
    """A connection that goes back to the pool."""


def shown(url: str) -> str:
    """A URL without what may be secret in it."""
    try:
        parts = urlsplit(url)
        place = f"{parts.hostname or ''}{f':{parts.port}' if parts.port else ''}{parts.path}"
    except ValueError:
        place = "@"
    # a password with special characters ends up anywhere
    return (
        "postgresql://…"
        if "@" in place or url.count("@") > 1 or "@" in url.partition("?")[2]
        else f"postgresql://{place}"
    )


@asynccontextmanager
async def _connected(url: str) -> AsyncIterator[Connection]:
    """A connection by itself; what goes wrong is raised as StoreError."""
    try:
        if not urlsplit(url).path.strip("/"):
            raise StoreError(
                f"CREW_DATABASE_URL names no database: write postgresql://user@host/database, not {shown(url)}"
            )
        connection = await asyncpg.connect(url, timeout=TIMEOUT_SECONDS)
        try:
            yield connection
        finally:
            connection.terminate()
    except (ValueError, asyncpg.ClientConfigurationError):
        # what the parser says may quote the password
        raise StoreError(
            "CREW_DATABASE_URL cannot be read: write postgresql://user:password@host:5432/database, "
            "with every special character of the password percent-encoded"
        ) from None
    except FAILURES as error:
        raise StoreError(
            f"the database {shown(url)} cannot be used: {str(error) or type(error).__name__}"
        ) from error


@asynccontextmanager
async def migrating(url: str) -> AsyncIterator[Connection]:
    """A connection that changes the schema while no other process does; raises StoreError."""
    async with _connected(url) as connection, connection.transaction():
        await connection.execute("SELECT pg_advisory_xact_lock($1)", MIGRATION_LOCK)
        yield connection


async def stands_at(url: str, table: str, version: str) -> object:
    """What a table of versions says, without a right to change anything.

    None if there is no such table. Raises StoreError.
    """
    async with _connected(url) as connection:
        if await connection.fetchval("SELECT to_regclass($1)", table) is None:
            return None
        return await connection.fetchval(f"SELECT {version} FROM {table}")  # noqa: S608 # names of ours


async def prepare(url: str, crew: str | None = None) -> None:
    """Bring the database's schema up to date; several processes may do so at once.

    Args:
        url: postgresql://…
        crew: whose runs are to be in it; None for whoever only looks.

    Raises:
        StoreError: the database cannot be reached, is of a later version, or has the runs of
            another crew.
    """
    if await stands_at(url, "crew_schema", "max(version)") != len(MIGRATIONS):
        await _migrate(url)
    if crew is None:
        return
    async with _connected(url) as connection:
        await connection.execute(
            "INSERT INTO crew_house VALUES (true, $1) ON CONFLICT DO NOTHING", crew
        )
        found: str = await connection.fetchval("SELECT crew FROM crew_house")
    if found != crew:
        raise StoreError(
            f"the database {shown(url)} has the runs of the crew {found!r}, and this is {crew!r}: give each crew a database of "
            "its own; if this is that crew under another name, write the name into the table crew_house"
        )


async def _migrate(url: str) -> None:
    async with migrating(url) as connection:
        await connection.execute("CREATE TABLE IF NOT EXISTS crew_schema (version int NOT NULL)")
        version: int = await connection.fetchval(
            "SELECT coalesce(max(version), 0) FROM crew_schema"
        )
        if version > len(MIGRATIONS):
            raise StoreError(
                f"the database {shown(url)} is of version {version}, newer than this program's {len(MIGRATIONS)}: update crewline"
            )
        for number, script in enumerate(MIGRATIONS[version:], version + 1):
            await connection.execute(script)
            await connection.execute("INSERT INTO crew_schema VALUES ($1)", number)
