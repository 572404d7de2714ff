"""From `CREW_DATABASE_URL` to a store."""

from pathlib import Path

from crew.errors import StoreError
from crew.stores.contract import RunStore
from crew.stores.memory import MemoryStore
from crew.stores.sqlite import SqliteStore


def open_store(url: str | None, folder: Path) -> RunStore:
    """The store that a URL names: `memory:`, `sqlite:///file`, or None for `.crew/crew.db` in the crew's folder.

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
    # only its scheme is told: a URL may hold a password
    raise StoreError(f"CREW_DATABASE_URL {url.partition(':')[0]}:… is not known; write sqlite:///file.db or memory:")
