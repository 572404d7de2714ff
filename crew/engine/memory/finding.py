"""Items and passages, found by words and by vectors: two rankings that are made one."""

import asyncio
from collections.abc import Awaitable, Mapping, Sequence
from dataclasses import replace
from typing import TypeVar

from agents.errors import ModelError
from agents.model import EmitModelEvent
from crew.assembly.embedders import OF_RECALL, Embedding
from crew.crew import Crew
from crew.journal.errors import StoreError
from crew.journal.records.remembered.documents import DocumentSearch, FoundPassage
from crew.journal.records.remembered.recall import RecallItem, Search
from crew.journal.records.remembered.vectors import DEPTH, QueryVector, fused
from crew.journal.store import RunStore
from tools.clock import Clock

T = TypeVar("T")
# of a text that is looked for, in characters
MAX_QUERY = 2000
# that a vector has where a person searches
PEOPLE_SECONDS = 2.0


class Within:
    """Loads what there is within some time."""

    def __init__(self, clock: Clock, seconds: float) -> None:
        """Begin; `seconds`: all that is loaded may take, from now on."""
        self.clock, self.seconds = clock, seconds
        self.started = clock.monotonic()

    async def load(self, loading: Awaitable[T]) -> T | None:
        """Return what is loaded; None where that takes too long, or fails."""
        left = self.seconds - (self.clock.monotonic() - self.started)
        timeout = self.clock.timeout(max(0.0, left))
        try:
            async with timeout:
                return await loading
        except (StoreError, ModelError):
            return None
        except TimeoutError:
            if not timeout.expired():
                raise
            return None


def patient_finder(
    crew: Crew, store: RunStore, emit: EmitModelEvent, seconds: float = PEOPLE_SECONDS
) -> "Finder":
    """Return what waits for words.

    Args:
        crew: of the texts.
        store: has them.
        emit: gets the requests for vectors.
        seconds: that vectors have.
    """
    return Finder(crew.embeddings, store, Within(crew.clock, seconds), emit)


class Finder:
    """Finds in a store by words and, where the texts have vectors, by these too.

    Where the vector of a question is late or cannot be had, words alone find.
    """

    def __init__(
        self,
        embeddings: Mapping[str, Embedding],
        store: RunStore,
        within: Within,
        emit: EmitModelEvent,
        *,
        waits: bool = True,
    ) -> None:
        """Begin to look.

        Args:
            embeddings: how texts get vectors, by collection.
            store: has the texts.
            within: the time that vectors have.
            emit: gets the requests for vectors.
            waits: for words, however long they take; else they have this time, too.
        """
        self._embeddings, self._store = embeddings, store
        self._within, self._emit, self._waits = within, emit, waits

    async def items(self, search: Search, text: str) -> list[RecallItem] | None:
        """Return items of recall memory, best first; None: words are late, which do not wait.

        Args:
            search: what is looked for, by words.
            text: the same, for the vector.

        Raises:
            StoreError: they cannot be searched, and words are waited for.
        """
        log = self._store.recall
        if OF_RECALL not in self._embeddings:
            found = await self._words(log.search(search))
            return None if found is None else [item for item, _ in found]
        deep = replace(search, most=max(DEPTH, search.most))
        found, vector = await asyncio.gather(
            self._words(log.search(deep)), self._vector(OF_RECALL, text)
        )
        if found is None:
            return None
        near: Sequence[RecallItem] = ()
        if vector is not None:
            near = await self._within.load(log.nearest(deep, vector)) or ()
        words = [item for item, _ in found]
        if search.min_score > 0:
            # which is of words: vectors may order these alone
            known_ids = {one.item_id for one in words}
            near = [one for one in near if one.item_id in known_ids]
        known = {item.item_id: item for item in (*words, *near)}
        ranked = fused([one.item_id for one in words], [one.item_id for one in near])
        return [known[item_id] for item_id in ranked[: search.most]]

    async def passages(self, search: DocumentSearch, text: str) -> list[FoundPassage] | None:
        """Return passages of documents, best first. See `items`."""
        log = self._store.documents
        # the collections of each model
        spaces: dict[str, list[str]] = {}
        for name, _ in search.owners:
            if (embedding := self._embeddings.get(name)) is not None:
                spaces.setdefault(embedding.embedder.space, []).append(name)
        if not spaces:
            return await self._words(log.search(search))
        deep = replace(search, most=max(DEPTH, search.most))
        found, near = await asyncio.gather(
            self._words(log.search(deep)),
            asyncio.gather(*(self._near(deep, names, text) for names in spaces.values())),
        )
        if found is None:
            return None
        known = {_key(one): one for passages in (found, *near) for one in passages}
        ranked = fused(*([_key(one) for one in passages] for passages in (found, *near)))
        return [known[key] for key in ranked[: search.most]]

    async def _words(self, searching: Awaitable[T]) -> T | None:
        return await searching if self._waits else await self._within.load(searching)

    async def _near(
        self, search: DocumentSearch, names: Sequence[str], text: str
    ) -> list[FoundPassage]:
        vector = await self._vector(names[0], text)
        if vector is None:
            return []
        of_space = replace(search, owners=[one for one in search.owners if one[0] in names])
        return await self._within.load(self._store.documents.nearest(of_space, vector)) or []

    async def _vector(self, name: str, text: str) -> QueryVector | None:
        embedder = self._embeddings[name].embedder
        if not text.strip():
            return None
        made = await self._within.load(embedder.embed([text[:MAX_QUERY]], self._emit))
        return QueryVector(embedder.space, made[0]) if made else None


def _key(passage: FoundPassage) -> tuple[str, str, int]:
    return passage.document.owner, passage.document.document_id, passage.number
