"""Recall memory: items of a user, or of a conversation, that are found by their words.

Pure but for the contract: what an addition changes, and how items rank. Each store does both in
its own way, with these rules.
"""

import hashlib
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Literal, Protocol

from crew.journal.records.remembered.core import CoreVersion
from crew.journal.records.remembered.vectors import DEPTH, QueryVector
from tools.text.folding import fold

# of BM25, for short texts
K1, B = 0.9, 0.4
# of a query: its rarest words, with no more postings than this together
MAX_TERMS, MAX_POSTINGS = 32, 50_000
# a score as it is compared: equal ones are the same number on every store
SCORE_STEPS = 1e9
DAY_SECONDS = 86_400.0
# of an item's importance, at most: PostgreSQL takes what is too small for a number as an error
HALVINGS = 500
# who has an item remembered
RememberedBy = Literal["person", "agent", "learn"]
# the words of a text, with how often each stands there
Terms = Mapping[str, int]


@dataclass(frozen=True, slots=True)
class RecallItem:
    """What is remembered. Times are RFC 3339, UTC."""

    owner: str
    # the greater, the newer
    item_id: str
    text: str
    created_at: str
    # when it was last said, and how often it was
    seen_at: str
    seen: int = 1
    # of the live items of an owner one has a key; "" for none
    key: str = ""
    topics: tuple[str, ...] = ()
    # 0 to 1
    importance: float = 0.5
    # what became of the conversation in which it was said
    outcome: str = ""
    # words of the person that prove it; "" for none
    quote: str = ""
    # where it was said
    conversation_id: str = ""
    exchange: int = 0
    run_id: str = ""
    by: RememberedBy = "person"
    # the agent, or the name of the caller
    who: str = ""
    # when it was last found for an agent; "": never
    recalled_at: str = ""
    # the item that has taken its place; "": it is live
    replaced_by: str = ""
    # of the call that made it: made again, it changes nothing
    call_key: str = ""
    # the tools and collections of others that had been read when it was remembered
    taint: tuple[str, ...] = ()

    @property
    def digest(self) -> str:
        """By which the same text is known again."""
        return hashlib.sha256(fold(self.text).encode()).hexdigest()

    @property
    def used_at(self) -> str:
        """When it was last said or found."""
        return max(self.seen_at, self.recalled_at)


@dataclass(frozen=True, slots=True)
class Addition:
    """An item that is to be remembered, unless it is there already."""

    item: RecallItem
    terms: Terms
    # how many words it has
    length: int
    # ids of the item that says the same, and of the one that it takes the place of
    same_as: str = ""
    replaces: str = ""


@dataclass(frozen=True, slots=True)
class RecallLimits:
    """What an owner may have."""

    max_items: int
    half_life_days: float
    # days since 1970, with a part of a day
    now: float
    # what was not used since then is forgotten
    since: float
    # items of which so many topics are the same are one; None: only items of the same text
    merge_similarity: float | None = None
    # they get vectors
    embeds: bool = False


@dataclass(frozen=True, slots=True)
class Remembered:
    """What an addition has come to."""

    # added, said again, in the place of another one; or not kept, as all others count for more
    op: Literal["added", "again", "replaced", "full"]
    # "" for what is not kept
    item_id: str
    # the one that is live no more
    replaced: str = ""


NOT_KEPT = Remembered("full", "")


@dataclass(frozen=True, slots=True)
class Lesson:
    """What is learned of exchanges of a conversation, in one go."""

    # of the conversation
    owner: str
    conversation_id: str
    created_at: str
    # the last exchange of before, and of these
    after: int
    through: int
    # all of one owner
    additions: tuple[Addition, ...] = ()
    core: tuple[CoreVersion, ...] = ()


@dataclass(frozen=True, slots=True)
class Search:
    """What is looked for among the items of an owner."""

    owner: str
    terms: Sequence[str]
    most: int
    half_life_days: float
    # see RecallLimits
    now: float
    since: float
    min_score: float = 0.0


def said_again(known: RecallItem, given: RecallItem) -> RecallItem:
    """Return an item that was said once more; it is live again, if it was not.

    Words that prove another text prove this one only where it is the same.
    """
    proof = given.quote if known.digest == given.digest else ""
    return replace(
        known,
        seen=known.seen + 1,
        seen_at=max(known.seen_at, given.seen_at),
        importance=max(known.importance, given.importance),
        key=given.key or known.key,
        topics=known.topics or given.topics,
        outcome=given.outcome or known.outcome,
        quote=known.quote or proof,
        replaced_by="",
        call_key=given.call_key or known.call_key,
    )


def weights_of(statistics: Mapping[str, int], items: int) -> dict[str, float]:
    """Return the words of a query that count, each with its weight.

    Args:
        statistics: how many items have each word.
        items: how many there are.
    """
    chosen: dict[str, float] = {}
    postings = 0
    for term, uses in sorted(statistics.items(), key=lambda pair: (pair[1], pair[0]))[:MAX_TERMS]:
        postings += uses
        if postings > MAX_POSTINGS:
            break
        chosen[term] = math.log(1 + (items - uses + 0.5) / (uses + 0.5))
    return chosen


def word_score(weight: float, uses: int, length: int, average: float) -> float:
    """Return what a word adds to an item's score (BM25)."""
    return weight * (K1 + 1) * uses / (uses + K1 * (1 - B + B * length / average))


def ranked_score(
    score: float, importance: float, seen_day: float, now: float, half_life_days: float
) -> float:
    """Return a score with the item's importance and age."""
    whole = score * (0.7 + 0.3 * importance) * _decay(seen_day, now, half_life_days)
    return round(whole * SCORE_STEPS)


def by_rank(
    found: Sequence[tuple[RecallItem, float]], search: "Search"
) -> list[tuple[RecallItem, float]]:
    """Return items with how alike they are, by that with their importance and age."""

    def rank(one: tuple[RecallItem, float]) -> tuple[float, str]:
        item, score = one
        days = day_of(item.seen_at), search.now, search.half_life_days
        return ranked_score(score, item.importance, *days), item.item_id

    alike = [one for one in found if one[1] > 0]
    return sorted(alike, key=rank, reverse=True)[:DEPTH]


def _decay(seen_day: float, now: float, half_life_days: float) -> float:
    return math.pow(0.5, min(max(0.0, now - seen_day) / half_life_days, HALVINGS))


def worth(item: RecallItem, now: float, half_life_days: float) -> tuple[bool, float, str]:
    """Return by what items are kept where an owner has too many: the least goes first."""
    value = item.importance * _decay(day_of(item.seen_at), now, half_life_days)
    return not item.replaced_by, value, item.item_id


def same_topics(item: RecallItem, others: Iterable[RecallItem], similarity: float) -> str:
    """Return the id of the item with the most topics in common, if these are enough; else ""."""
    topics = {fold(one) for one in item.topics}
    best, found = similarity, ""
    for other in others:
        known = {fold(one) for one in other.topics}
        if not topics or not known:
            continue
        common = len(topics & known) / len(topics | known)
        if common >= best and (common > best or not found or other.item_id > found):
            best, found = common, other.item_id
    return found


def day_of(at: str) -> float:
    """Return a time as days since 1970, with a part of a day."""
    return datetime.fromisoformat(at).timestamp() / DAY_SECONDS


class RecallLog(Protocol):
    """Keeps recall memory. The owner comes first in all; methods raise StoreError."""

    async def add(
        self, owner: str, additions: Sequence[Addition], limits: RecallLimits
    ) -> list[Remembered] | None:
        """Remember items, each unless it is there; what is too much or too old is forgotten.

        One of these may be what counts least: it is `full`.

        None: the owner is a conversation that does not exist.
        """
        ...

    async def learn(self, lesson: Lesson, limits: RecallLimits) -> list[Remembered] | None:
        """Remember what exchanges have taught, with how far that has come.

        None: another process was first, or the conversation does not exist any more.
        """
        ...

    async def search(self, search: Search) -> list[tuple[RecallItem, float]]:
        """Return the best live items with their scores, best first; of equal ones the newest."""
        ...

    async def nearest(self, search: Search, query: QueryVector) -> list[RecallItem]:
        """Return live items with the vectors that are most alike, best first.

        How alike they are counts with their importance and age, as words do.
        """
        ...

    async def get(self, owner: str, item_id: str) -> RecallItem | None:
        """Return an item."""
        ...

    async def listed(
        self, owner: str, limit: int = 50, after: str = "", *, replaced: bool = False
    ) -> list[RecallItem]:
        """Return items, newest first.

        Args:
            owner: of them.
            limit: so many at most.
            after: the id of the last one of the page before.
            replaced: those, too, that another one has taken the place of.
        """
        ...

    async def touch(self, owner: str, item_ids: Sequence[str], at: str) -> None:
        """Note that items were found for an agent."""
        ...

    async def delete(self, owner: str, item_id: str) -> bool:
        """Forget an item; False if there is none."""
        ...

    async def purge(self, since: float, limit: int = 1000) -> int:
        """Forget what was not used since then (days since 1970), of all owners."""
        ...
