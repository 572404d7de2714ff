"""From `CREW_DATABASE_URL` to a store, and to a queue where several processes share it."""

import asyncio
import contextlib
import importlib
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

from crew.backends.memory import MemoryStore
from crew.backends.sqlite.store import SqliteStore
from crew.journal.errors import StoreError
from crew.journal.store import RunStore
from crew.runs.queue import Queue

POSTGRES = ("postgresql://", "postgres://")
# of the store, to one database, from one process; one more listens, and two are the queue's
CONNECTIONS = 5


@dataclass(frozen=True, slots=True)
class Database:
    """Where runs are kept, and where they wait for workers (None: this process plays its own)."""

    store: RunStore
    queue: Queue | None = None


def is_shared(url: str | None) -> bool:
    """Return whether several processes may use the database of a URL at the same time."""
    return url is not None and url.startswith(POSTGRES)


async def open_store(
    url: str | None,
    folder: Path,
    *,
    crew: str | None = None,
    connections: int = CONNECTIONS,
    upgrades: bool = True,
) -> RunStore:
    """Open the store that a URL names; its schema is brought up to date.

    Args:
        url: `sqlite:///file`, `memory:`, `postgresql://…`, or None for `.crew/crew.db` in the
            crew's folder.
        folder: the crew's.
        crew: the name of the crew that has its runs in it; several crews do not share a PostgreSQL
            database.
        connections: to a PostgreSQL server, at most so many at the same time.
        upgrades: False: an older schema is an error. Processes of the older version may still be
            at work, and could not start again.

    Raises:
        StoreError: the URL names no store, or the store cannot be opened.
    """
    database = await open_database(
        url, folder, crew=crew, connections=connections, queued=False, upgrades=upgrades
    )
    return database.store


async def open_database(
    url: str | None,
    folder: Path,
    *,
    crew: str | None = None,
    connections: int = CONNECTIONS,
    queued: bool = True,
    upgrades: bool = True,
) -> Database:
    """Open the store, and the queue where it is shared. See `open_store`.

    `queued`: open the queue.
    """
    if url is not None and is_shared(url):
        return await _open_postgres(url, crew, connections, queued=queued, upgrades=upgrades)
    path = sqlite_path(url, folder)
    if path is None:
        return Database(MemoryStore())
    if not url:
        await asyncio.to_thread(_make_private, path.parent)
    # migrations may take a while
    return Database(await asyncio.to_thread(SqliteStore, path, upgrades=upgrades))


def sqlite_path(url: str | None, folder: Path) -> Path | None:
    """Find the file that a URL of SQLite names; None for `memory:`.

    Args:
        url: see `open_store`; not one of PostgreSQL.
        folder: the crew's.

    Raises:
        StoreError: the URL names no store.
    """
    if not url:
        return folder / ".crew" / "crew.db"
    if url in ("memory:", "memory://"):
        return None
    if url.startswith("sqlite:///") and len(url) > len("sqlite:///"):
        # as SQLAlchemy has it: three slashes and a relative path, four and an absolute one
        return Path(url.removeprefix("sqlite:///"))
    # only its scheme is shown: a URL may hold a password
    scheme = url.partition(":")[0]
    raise StoreError(
        f"CREW_DATABASE_URL {scheme}:… is not known; "
        "write sqlite:///file.db, memory: or postgresql://user@host/db"
    )


def _make_private(folder: Path) -> None:
    """Make a folder private: only for the owner of the crew's files, and in no version control."""
    # the store says what cannot be done
    with contextlib.suppress(OSError):
        folder.mkdir(parents=True, exist_ok=True)
        folder.chmod(0o700)
        ignored = folder / ".gitignore"
        if not ignored.exists():
            ignored.write_text("*\n")
        for file in folder.glob("crew.db*"):
            file.chmod(0o600)


async def _open_postgres(
    url: str, crew: str | None, connections: int, *, queued: bool, upgrades: bool
) -> Database:
    schema, server_module, store_module = _optional("schema", "server", "store")
    time = await schema.prepare(url, crew, upgrades=upgrades)
    if queued:
        await schema.prepare_queue(url)
    store: RunStore = store_module.PostgresStore(
        server_module.PostgresServer(url, connections, time)
    )
    if not queued:
        return Database(store)
    (queue_module,) = _optional("jobs.queue")
    # connections of its own: a worker's heartbeat must not wait behind the writes of its runs; and
    # what a crash loses of the queue is made again from the runs
    server = server_module.PostgresServer(url, store_module.QUEUE_CONNECTIONS, time, of_queue=True)
    return Database(store, queue_module.JobQueue(server))


def _optional(*modules: str) -> list[ModuleType]:
    """Import modules that need packages which may not be installed."""
    try:
        return [importlib.import_module(f"crew.backends.postgres.{name}") for name in modules]
    except ModuleNotFoundError as error:
        raise StoreError(
            f"PostgreSQL needs {error.name}: pip install 'crewline[distributed]'"
        ) from None
