"""Vectors: by which texts are found beside their words.

Pure but for the contract. A vector has numbers of 4 bytes, little-endian, and is of length 1. Only
vectors of the same model are compared.
"""

import array
import sys
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar

# what is fused: so many of each list
DEPTH = 50
# of reciprocal rank fusion, measured with all-MiniLM-L6-v2 on LoCoMo
K, OF_WORDS, OF_VECTORS = 20, 3.0, 2.0
T = TypeVar("T", bound=Hashable)


@dataclass(frozen=True, slots=True)
class QueryVector:
    """What is looked for."""

    # names the model, so that no other one's vectors are compared
    space: str
    numbers: bytes

    @property
    def dimensions(self) -> int:
        """How many numbers it has."""
        return len(self.numbers) // 4


@dataclass(frozen=True, slots=True)
class Unembedded:
    """A text without a vector."""

    # of its owner's texts; one that is deleted leaves it to another
    number: int
    # of the item, or of the document and the place of the passage in it; no other one has it ever
    id: str
    text: str


class VectorLog(Protocol):
    """Keeps vectors of the texts of one kind. Methods raise StoreError.

    Texts are in collections; "" is the name of the only one of recall memory.
    """

    async def missing_extension(self) -> str:
        """Return how to install what compares vectors here; "" where it is there."""
        ...

    async def begin(self, collection: str, space: str, at: str) -> int:
        """Add a chore for each owner with texts that have no vector of this space.

        Args:
            collection: of the texts.
            space: of the vectors.
            at: when they are due.

        Returns:
            How many owners.
        """
        ...

    async def missing(
        self, owner: str, collection: str, space: str, limit: int
    ) -> list[Unembedded]:
        """Return some texts that have no vector of this space."""
        ...

    async def put(
        self, owner: str, space: str, vectors: Sequence[tuple[Unembedded, bytes]]
    ) -> None:
        """Keep vectors of texts, where these are still there."""
        ...


def numbers_of(vector: bytes) -> "array.array[float]":
    """Return the numbers of a vector."""
    numbers = array.array("f", vector)
    if sys.byteorder == "big":
        numbers.byteswap()
    return numbers


def similarity(first: "array.array[float]", second: "array.array[float]") -> float:
    """Return how alike two vectors of the same space are, -1 to 1."""
    return sum(one * other for one, other in zip(first, second, strict=True))


def fused(words: Sequence[T], *vectors: Sequence[T]) -> list[T]:
    """Return what rankings have found, best first; of equal ones the first by words.

    Args:
        words: found by words, best first.
        vectors: found by the vectors of each model, best first.
    """
    scores: dict[T, float] = {}
    for ranking, weight in ((words, OF_WORDS), *((one, OF_VECTORS) for one in vectors)):
        for rank, one in enumerate(ranking, 1):
            scores[one] = scores.get(one, 0.0) + weight / (K + rank)
    return sorted(scores, key=lambda one: -scores[one])
