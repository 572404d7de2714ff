"""The chore that makes vectors of texts which have none: new ones, and all of another model."""

from crew.journal.records.conversations import Chore
from crew.runs.chores.kinds import ChoreWork
from crew.runs.memory.vectors import log_of
from crew.runs.runs import Runs

EMBEDDING_LANE = "embeddings"
# of one request, with its time in the store
SECONDS = 300.0
# of a text, in characters: models of vectors have small windows, and say so by an error
MAX_TEXT = 20_000


class EmbeddingChores:
    """Makes vectors of the texts of a store."""

    def __init__(self, runs: Runs) -> None:
        self.runs, self.store = runs, runs.store

    @property
    def works(self) -> tuple[ChoreWork, ...]:
        """The kinds of chores that this does."""
        # what cannot be had now is found by words meanwhile
        work = ChoreWork("embed", EMBEDDING_LANE, self._embed, seconds=SECONDS, gives_up=False)
        return (work,)

    async def _embed(self, chore: Chore) -> str:
        """Make some vectors of an owner; "more": there may be the rest."""
        collection = chore.key
        embedding = self.runs.crew.embeddings.get(collection)
        if embedding is None:
            return "skipped"
        log, space = log_of(self.store, collection), embedding.embedder.space
        texts = await log.missing(chore.owner, collection, space, embedding.batch)
        if not texts:
            return "done"
        vectors = await embedding.embedder.embed([one.text[:MAX_TEXT] for one in texts])
        numbers = [one.number for one in texts]
        await log.put(chore.owner, space, list(zip(numbers, vectors, strict=True)))
        return "more" if len(texts) == embedding.batch else "done"
