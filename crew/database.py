"""From `CREW_DATABASE_URL` to a store, and to a queue where several processes share it."""

import asyncio
import importlib
from pathlib import Path
from types import ModuleType

from crew.backends.memory import MemoryStore
from crew.backends.sqlite.store import SqliteStore
from crew.errors import StoreError
from crew.journal.store import RunStore
from crew.runs.starter import Queue

POSTGRES = ("postgresql://", "postgres://")
# to one database, from one process, besides the one that listens
CONNECTIONS = 5


def open_store(
    url: str | None, folder: Path, connections: int = CONNECTIONS, crew: str | None = None
) -> RunStore:
    """The store that a URL names; its schema is brought up to date. Not from within an event loop.

    Args:
        url: `sqlite:///file`, `memory:`, `postgresql://…`, or None for `.crew/crew.db` in the
            crew's folder.
        folder: the crew's.
        connections: to a PostgreSQL server, at most so many at once.
        crew: the name of the crew whose runs are to be in it; several crews do not share a
            PostgreSQL database.

    Raises:
        StoreError: the URL names no store, or the store cannot be opened.
    """
    if url is None or url == "":
        return SqliteStore(folder / ".crew" / "crew.db")
    if url in ("memory:", "memory://"):
        return MemoryStore()
    if url.startswith("sqlite:///") and len(url) > len("sqlite:///"):
        # as SQLAlchemy has it: three slashes and a relative path, four and an absolute one
        return SqliteStore(Path(url.removeprefix("sqlite:///")))
    if url.startswith(POSTGRES):
        asyncio.run(_optional("crew.backends.postgres.server").prepare(url, crew))
        store: RunStore = _optional("crew.backends.postgres.store").PostgresStore(url, connections)
        return store
    # only its scheme is told: a URL may hold a password
    raise StoreError(
        f"CREW_DATABASE_URL {url.partition(':')[0]}:… is not known; write sqlite:///file.db, memory: or postgresql://user@host/db"
    )


def open_queue(url: str | None) -> Queue | None:
    """The queue beside a store that several processes share.

    None for one that a process has to itself.

    Raises:
        StoreError: the database cannot be used.
    """
    if url is None or not url.startswith(POSTGRES):
        return None
    jobs = _optional("crew.backends.postgres.queue")
    asyncio.run(jobs.prepare_queue(url))
    queue: Queue = jobs.JobQueue(url)
    return queue


def _optional(module: str) -> ModuleType:
    """A module that needs what not everybody has installed."""
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        raise StoreError(
            f"PostgreSQL needs {error.name}: pip install 'crewline[distributed]'"
        ) from None
