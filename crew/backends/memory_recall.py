"""Recall memory of a store that ends with its process."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import count

from crew.backends.memory_chores import MemoryChores
from crew.backends.memory_core import MemoryCore
from crew.backends.memory_vectors import MemoryVectors, Text
from crew.journal.errors import StoreError
from crew.journal.records.conversations import Chore, Conversation
from crew.journal.records.remembered.core import conversation_of
from crew.journal.records.remembered.recall import (
    NOT_KEPT,
    SCORE_STEPS,
    Addition,
    Lesson,
    RecallItem,
    RecallLimits,
    Remembered,
    Search,
    Terms,
    by_rank,
    day_of,
    ranked_score,
    said_again,
    same_topics,
    weights_of,
    word_score,
    worth,
)
from crew.journal.records.remembered.vectors import QueryVector
from tools.text.folding import fold

Place = tuple[str, str]


class MemoryRecall:
    """See RecallLog."""

    def __init__(
        self,
        core: MemoryCore,
        chores: MemoryChores,
        find: Callable[[Place], Conversation | None],
        keep: Callable[[Conversation], None],
    ) -> None:
        """Of a store.

        Args:
            core: keeps core memory.
            chores: of the store.
            find: returns a conversation by its owner and id.
            keep: keeps a conversation that has changed.
        """
        self._core, self._find, self._keep = core, find, keep
        self._chores, self.vectors = chores, MemoryVectors(chores, self._texts)
        # of an item, which has it once
        self._numbers: dict[tuple[str, str], int] = {}
        self._next = count(1)
        # by owner and id; the words of live ones
        self._items: dict[str, dict[str, RecallItem]] = {}
        self._terms: dict[str, dict[str, tuple[Terms, int]]] = {}

    def delete_all(self, owner: str) -> int:
        """Forget all that belongs to an owner; return how many items there were."""
        forgotten = len(self._items.pop(owner, ()))
        self._terms.pop(owner, None)
        self._numbers = {key: one for key, one in self._numbers.items() if key[0] != owner}
        self.vectors.prune()
        return forgotten

    def _texts(self) -> Iterator[Text]:
        for owner, items in self._items.items():
            for one in items.values():
                if not one.replaced_by:
                    yield owner, "", self._number(one), one.text

    def _number(self, item: RecallItem) -> int:
        key = item.owner, item.item_id
        if key not in self._numbers:
            self._numbers[key] = next(self._next)
        return self._numbers[key]

    async def add(
        self, owner: str, additions: Sequence[Addition], limits: RecallLimits
    ) -> list[Remembered] | None:
        """See RecallLog."""
        conversation = conversation_of(owner)
        if conversation is not None and self._find(conversation) is None:
            return None
        return self._add_all(owner, additions, limits)

    async def learn(self, lesson: Lesson, limits: RecallLimits) -> list[Remembered] | None:
        """See RecallLog."""
        known = self._find((lesson.owner, lesson.conversation_id))
        if known is None or known.created_at != lesson.created_at or known.learned != lesson.after:
            return None
        if not self._core.add_all(lesson.core):
            raise StoreError("a block has changed meanwhile")
        self._keep(replace(known, learned=lesson.through))
        if not lesson.additions:
            return []
        return self._add_all(lesson.additions[0].item.owner, lesson.additions, limits)

    def _add_all(
        self, owner: str, additions: Sequence[Addition], limits: RecallLimits
    ) -> list[Remembered]:
        items = self._items.setdefault(owner, {})
        for one in [one for one in items.values() if day_of(one.used_at) < limits.since]:
            self._forget(one)
        done = [self._add(one, limits) for one in additions]
        in_order = sorted(
            items.values(), key=lambda one: worth(one, limits.now, limits.half_life_days)
        )
        for one in in_order[: max(0, len(items) - limits.max_items)]:
            self._forget(one)
        done = [one if one.item_id in items else NOT_KEPT for one in done]
        if limits.embeds:
            self._chores.insert(Chore("embed", owner, "", additions[-1].item.seen_at))
        return done

    def _add(self, addition: Addition, limits: RecallLimits) -> Remembered:
        given = addition.item
        items = self._items[given.owner]
        terms = self._terms.setdefault(given.owner, {})
        known = self._same(addition, limits)
        if known is not None and given.call_key and known.call_key == given.call_key:
            return Remembered("added", known.item_id)
        item = given if known is None else said_again(known, given)
        key, others = fold(item.key), (one for one in items.values() if not one.replaced_by)
        replaced = [
            one
            for one in others
            if one.item_id != item.item_id
            and ((key and fold(one.key) == key) or one.item_id == addition.replaces)
        ]
        # the one of the key first
        replaced.sort(key=lambda one: one.item_id == addition.replaces)
        for one in replaced:
            items[one.item_id] = replace(one, replaced_by=item.item_id)
            terms.pop(one.item_id, None)
        items[item.item_id] = item
        terms.setdefault(item.item_id, (addition.terms, addition.length))
        if known is not None:
            return Remembered("again", item.item_id)
        if replaced:
            return Remembered("replaced", item.item_id, replaced[0].item_id)
        return Remembered("added", item.item_id)

    def _same(self, addition: Addition, limits: RecallLimits) -> RecallItem | None:
        items, digest = self._items[addition.item.owner], addition.item.digest
        known = next((one for one in items.values() if one.digest == digest), None)
        if known is None:
            # one that was replaced says something that is true no more
            same = items.get(addition.same_as)
            known = same if same is not None and not same.replaced_by else None
        if known is None and limits.merge_similarity is not None:
            live = [one for one in items.values() if not one.replaced_by]
            known = items.get(same_topics(addition.item, live, limits.merge_similarity))
        return known

    def _forget(self, item: RecallItem) -> None:
        del self._items[item.owner][item.item_id]
        self._terms.get(item.owner, {}).pop(item.item_id, None)
        self.vectors.prune()

    async def search(self, search: Search) -> list[tuple[RecallItem, float]]:
        """See RecallLog."""
        items, known = self._items.get(search.owner, {}), self._terms.get(search.owner, {})
        wanted = dict.fromkeys(search.terms)
        uses = {term: sum(term in terms for terms, _ in known.values()) for term in wanted}
        weights = weights_of({term: count for term, count in uses.items() if count}, len(known))
        average = max(1, sum(length for _, length in known.values())) / max(1, len(known))
        found: list[tuple[float, str]] = []
        for item_id, (terms, length) in known.items():
            item = items[item_id]
            score = sum(
                word_score(weight, terms[term], length, average)
                for term, weight in weights.items()
                if term in terms
            )
            if not score or day_of(item.used_at) < search.since:
                continue
            seen = day_of(item.seen_at)
            ranked = ranked_score(score, item.importance, seen, search.now, search.half_life_days)
            if ranked >= search.min_score * SCORE_STEPS:
                found.append((ranked, item_id))
        best = sorted(found, reverse=True)[: search.most]
        return [(items[item_id], score / SCORE_STEPS) for score, item_id in best]

    async def nearest(self, search: Search, query: QueryVector) -> list[RecallItem]:
        """See RecallLog."""
        items = self._items.get(search.owner, {}).values()
        live = [one for one in items if not one.replaced_by]
        scores = [
            (one, self.vectors.alike(one.owner, self._number(one), query))
            for one in live
            if day_of(one.used_at) >= search.since
        ]
        found = [(one, score) for one, score in scores if score is not None]
        return [item for item, _ in by_rank(found, search)]

    async def get(self, owner: str, item_id: str) -> RecallItem | None:
        """See RecallLog."""
        return self._items.get(owner, {}).get(item_id)

    async def listed(
        self, owner: str, limit: int = 50, after: str = "", *, replaced: bool = False
    ) -> list[RecallItem]:
        """See RecallLog."""
        items = sorted(self._items.get(owner, {}).items(), reverse=True)
        return [
            one
            for item_id, one in items
            if (not after or item_id < after) and (replaced or not one.replaced_by)
        ][:limit]

    async def touch(self, owner: str, item_ids: Sequence[str], at: str) -> None:
        """See RecallLog."""
        items = self._items.get(owner, {})
        for one in [items[item_id] for item_id in item_ids if item_id in items]:
            items[one.item_id] = replace(one, recalled_at=max(one.recalled_at, at))

    async def delete(self, owner: str, item_id: str) -> bool:
        """See RecallLog."""
        known = self._items.get(owner, {}).get(item_id)
        if known is not None:
            self._forget(known)
        return known is not None

    async def purge(self, since: float, limit: int = 1000) -> int:
        """See RecallLog."""
        every = [one for items in self._items.values() for one in items.values()]
        old = [one for one in every if day_of(one.used_at) < since][:limit]
        for one in old:
            self._forget(one)
        return len(old)
