"""The chore that makes vectors of texts which have none: new ones, and all of another model."""

from agents.errors import ModelError
from agents.model import EmitModelEvent, VectorModel
from crew.engine.memory.counting import counting
from crew.journal.records.conversations import Chore
from crew.journal.records.remembered.core import user_behind
from crew.runs.chores.kinds import ChoreWork
from crew.runs.memory.vectors import log_of
from crew.runs.runs import Runs

EMBEDDING_LANE = "embeddings"
# of one request, with its time in the store
SECONDS = 300.0
# of a text, in characters: models of vectors have small windows, and some say so by an error
LENGTHS = (20_000, 2000, 500)
# of a text that the model does not take: it is not tried again, and words find it
NO_VECTOR = b""


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
        emit = counting(self.runs.crew, self.store, user_behind(chore.owner))
        vectors = await _vectors(embedding.embedder, [one.text for one in texts], emit)
        await log.put(chore.owner, space, list(zip(texts, vectors, strict=True)))
        return "more" if len(texts) == embedding.batch else "done"


async def _vectors(model: VectorModel, texts: list[str], emit: EmitModelEvent) -> list[bytes]:
    """Return a vector for each text; where one of them is refused, of each by itself.

    Raises:
        ModelError: no vectors can be had now.
    """
    try:
        return await model.embed([text[: LENGTHS[0]] for text in texts], emit)
    except ModelError as error:
        if error.retryable:
            raise
    # where this fails, too, it is not about one of the texts
    await model.embed(["text"], emit)
    return [await _vector(model, text, emit) for text in texts]


async def _vector(model: VectorModel, text: str, emit: EmitModelEvent) -> bytes:
    for length in LENGTHS:
        try:
            (vector,) = await model.embed([text[:length]], emit)
        except ModelError as error:
            if error.retryable:
                raise
            continue
        return vector
    return NO_VECTOR
