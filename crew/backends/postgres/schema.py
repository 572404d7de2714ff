"""The schema of a database: brought up to date by whichever process starts first."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from urllib.parse import urlsplit

import asyncpg
from procrastinate.schema import SchemaManager

from crew.backends.postgres.address import DatabaseAddress
from crew.backends.postgres.notices import FAILURES, TIMEOUT_SECONDS
from crew.backends.postgres.server import Connection
from crew.backends.postgres.shared_time import SharedTime
from crew.backends.postgres.shown import without_secrets
from crew.journal.errors import OlderSchema, StoreError

# One script a version, in the order of their names; a database of a later version is refused.
MIGRATIONS = tuple(
    path.read_text() for path in sorted((Path(__file__).parent / "migrations").glob("*.sql"))
)
# of Procrastinate's tables, in order
QUEUE_MIGRATIONS = sorted(Path(SchemaManager.get_migrations_path()).glob("*.sql"))
# of the advisory lock under which schemas are changed; any number that no other program uses
MIGRATION_LOCK = 0x1A4B7


async def prepare(url: str, crew: str | None = None, *, upgrades: bool = True) -> SharedTime:
    """Bring the store's tables up to date; several processes may do so at the same time.

    Args:
        url: postgresql://…
        crew: the name of the crew that has its runs in it; None for a process that only looks.
        upgrades: tables of an older version are brought up to date.

    Returns:
        The database's time.

    Raises:
        StoreError: the database cannot be reached, is of a later version, or has the runs of
            another crew.
    """
    version = await _version(url, "crew_schema", "max(version)")
    if version != len(MIGRATIONS):
        if isinstance(version, int) and 0 < version < len(MIGRATIONS) and not upgrades:
            raise OlderSchema(without_secrets(url), version, len(MIGRATIONS))
        await _migrate(url)
    async with _connected(url) as connection:
        time = SharedTime(await connection.fetchval("SELECT clock_timestamp()"))
        if crew is None:
            return time
        await connection.execute(
            "INSERT INTO crew_owner VALUES (true, $1) ON CONFLICT DO NOTHING", crew
        )
        found: str = await connection.fetchval("SELECT crew FROM crew_owner")
    if found != crew:
        raise StoreError(
            f"the database {without_secrets(url)} has the runs of the crew {found!r}, and this is "
            f"{crew!r}: give each crew a database of its own; if this is that crew under another "
            "name, write the name into the table crew_owner"
        )
    return time


async def prepare_queue(url: str) -> None:
    """Bring Procrastinate's tables up to date; several processes may do so at the same time.

    Raises:
        StoreError: the database cannot be reached, or its tables are of a later Procrastinate.
    """
    newest = QUEUE_MIGRATIONS[-1].name
    if await _version(url, "crew_queue_schema", "max(newest)") == newest:
        return
    async with _migrating(url) as connection:
        await connection.execute(
            "CREATE TABLE IF NOT EXISTS crew_queue_schema (newest text NOT NULL)"
        )
        found: str = await connection.fetchval(
            "SELECT coalesce(max(newest), '') FROM crew_queue_schema"
        )
        if found > newest:
            raise StoreError(
                f"the queue's tables are of {found}, newer than this program's {newest}: "
                "update procrastinate"
            )
        await _migrate_queue(connection, found)
        if found != newest:
            await connection.execute("INSERT INTO crew_queue_schema VALUES ($1)", newest)


async def _migrate_queue(connection: Connection, found: str) -> None:
    if found:
        for script in QUEUE_MIGRATIONS:
            if script.name > found:
                await connection.execute(script.read_text())
        return
    # tables that another program has made are assumed to be of this version
    if await connection.fetchval("SELECT to_regclass('procrastinate_jobs') IS NULL"):
        await connection.execute(SchemaManager.get_schema())


async def _migrate(url: str) -> None:
    async with _migrating(url) as connection:
        await connection.execute("CREATE TABLE IF NOT EXISTS crew_schema (version int NOT NULL)")
        version: int = await connection.fetchval(
            "SELECT coalesce(max(version), 0) FROM crew_schema"
        )
        if version > len(MIGRATIONS):
            raise StoreError(
                f"the database {without_secrets(url)} is of version {version}, newer than this "
                f"program's {len(MIGRATIONS)}: update crewline"
            )
        for number, script in enumerate(MIGRATIONS[version:], version + 1):
            await connection.execute(script)
            await connection.execute("INSERT INTO crew_schema VALUES ($1)", number)


async def _version(url: str, table: str, version: str) -> object:
    """Return a table of versions, with the right to read alone; None without the table."""
    async with _connected(url) as connection:
        if await connection.fetchval("SELECT to_regclass($1)", table) is None:
            return None
        sql = f"SELECT {version} FROM {table}"  # noqa: S608 # names of ours
        return await connection.fetchval(sql)


@asynccontextmanager
async def _migrating(url: str) -> AsyncIterator[Connection]:
    """Yield a connection that changes the schema while no other process does; raises StoreError."""
    async with _connected(url) as connection, connection.transaction():
        await connection.execute("SELECT pg_advisory_xact_lock($1)", MIGRATION_LOCK)
        yield connection


@asynccontextmanager
async def _connected(url: str) -> AsyncIterator[Connection]:
    """Yield a connection by itself; failures are raised as StoreError."""
    address = DatabaseAddress.of(url)
    name = address.name
    try:
        if not urlsplit(url).path.strip("/"):
            raise StoreError(
                "CREW_DATABASE_URL names no database: "
                f"write postgresql://user@host/database, not {name}"
            )
        connection = await asyncpg.connect(
            address.url, timeout=TIMEOUT_SECONDS, **address.options("crew")
        )
        try:
            if address.prepares:
                yield connection
            else:
                async with connection.transaction():
                    yield connection
        finally:
            connection.terminate()
    except (ValueError, asyncpg.ClientConfigurationError):
        # the parser's message may quote the password
        raise StoreError(
            "CREW_DATABASE_URL cannot be read: "
            "write postgresql://user:password@host:5432/database, "
            "with every special character of the password percent-encoded"
        ) from None
    except FAILURES as error:
        raise StoreError(f"the database {name} cannot be used: {address.explain(error)}") from error
