"""Where vectors of texts are kept, and which are to be made."""

from crew.crew import Crew
from crew.journal.errors import StoreError
from crew.journal.records.remembered.vectors import VectorLog
from crew.journal.store import RunStore
from tools.clock import rfc3339


def log_of(store: RunStore, collection: str) -> VectorLog:
    """Return what keeps the vectors of a collection; of recall memory "" is the name."""
    return store.passage_vectors if collection else store.item_vectors


async def require_extension(store: RunStore, crew: Crew) -> None:
    """Raise StoreError where a crew has vectors that its store cannot compare."""
    if crew.embeddings and (command := await store.item_vectors.missing_extension()):
        text = "embeddings need an extension of PostgreSQL that this database does not have"
        raise StoreError(f"{text}: install pgvector, and run {command}; in it")


async def begin_embeddings(store: RunStore, crew: Crew) -> None:
    """Add chores for all texts that have no vector of the crew's models; raises StoreError."""
    await require_extension(store, crew)
    for collection, embedding in crew.embeddings.items():
        log = log_of(store, collection)
        await log.begin(collection, embedding.embedder.space, rfc3339(store.now()))
