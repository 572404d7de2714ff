"""Vectors of texts, of a store that ends with its process."""

from collections.abc import Callable, Iterator, Sequence

from crew.backends.memory_chores import MemoryChores
from crew.journal.records.conversations import Chore
from crew.journal.records.remembered.vectors import QueryVector, Unembedded, numbers_of, similarity

# the owner, the collection, the number that the owner has once and never again, and the text
Text = tuple[str, str, int, str]


class MemoryVectors:
    """See VectorLog."""

    def __init__(self, chores: MemoryChores, texts: Callable[[], Iterator[Text]]) -> None:
        """Of a store.

        Args:
            chores: of the store.
            texts: yields all that may have a vector.
        """
        self._chores, self._texts = chores, texts
        # by owner and number: the space, and the vector
        self._vectors: dict[tuple[str, int], tuple[str, bytes]] = {}

    def _without(self, collection: str, space: str) -> Iterator[tuple[str, Unembedded]]:
        for owner, name, number, text in self._texts():
            known, _ = self._vectors.get((owner, number), ("", b""))
            if name == collection and known != space:
                yield owner, Unembedded(number, str(number), text)

    async def missing_extension(self) -> str:
        """See VectorLog."""
        return ""

    async def begin(self, collection: str, space: str, at: str) -> int:
        """See VectorLog."""
        owners = dict.fromkeys(owner for owner, _ in self._without(collection, space))
        for owner in owners:
            self._chores.insert(Chore("embed", owner, collection, at))
        return len(owners)

    async def missing(
        self, owner: str, collection: str, space: str, limit: int
    ) -> list[Unembedded]:
        """See VectorLog."""
        found = (text for one, text in self._without(collection, space) if one == owner)
        return sorted(found, key=lambda one: one.number)[:limit]

    async def put(
        self, owner: str, space: str, vectors: Sequence[tuple[Unembedded, bytes]]
    ) -> None:
        """See VectorLog."""
        for text, vector in vectors:
            self._vectors[owner, text.number] = space, vector
        self.prune()

    def prune(self) -> None:
        """Forget the vectors of texts that are not there any more."""
        if not self._vectors:
            return
        there = {(owner, number) for owner, _, number, _ in self._texts()}
        self._vectors = {key: one for key, one in self._vectors.items() if key in there}

    def alike(self, owner: str, number: int, query: QueryVector) -> float | None:
        """Return how alike a text is to what is looked for; None where it has no such vector."""
        space, vector = self._vectors.get((owner, number), ("", b""))
        if space != query.space or len(vector) != len(query.numbers):
            return None
        return similarity(numbers_of(vector), numbers_of(query.numbers))
