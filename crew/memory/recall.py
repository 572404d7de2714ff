"""Items of recall memory: what each may hold, and how agents are shown them."""

import math
import secrets
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal

from crew.journal.query import text_error
from crew.journal.records.remembered.recall import (
    DAY_SECONDS,
    Addition,
    RecallItem,
    RecallLimits,
    Search,
)
from crew.memory.words import Words
from tools.text.folding import fold

# in characters: of a text, of a quote, a key, an outcome; topics and their characters
MAX_TEXT, MAX_QUOTE, MAX_KEY, MAX_OUTCOME = 500, 2000, 100, 200
MAX_TOPICS, MAX_TOPIC = 10, 60
Teacher = Literal["person", "agents"]


class RecallError(Exception):
    """An item that may not be remembered."""


@dataclass(frozen=True, slots=True)
class LearnRule:
    """When and of what is learned, as the configuration says."""

    idle_seconds: float
    # the words that prove something
    teachers: frozenset[Teacher]


@dataclass(frozen=True, slots=True)
class RecallRule:
    """Recall memory, as the configuration says."""

    scope: Literal["user", "conversation"]
    max_items: int
    ttl_days: float
    half_life_days: float
    merge_similarity: float | None
    # None: nothing is learned
    learn: LearnRule | None
    # finds words in the language of the crew
    words: Words
    # items have vectors
    embeds: bool = False

    @property
    def full(self) -> str:
        """What is said where there is no room for an item."""
        text = f"there are {self.max_items} items (max_items), and each of them counts for more"
        return f"{text}: give it a higher importance, or forget one"

    def limits(self, now: datetime) -> RecallLimits:
        """Return what an owner may have, at a time."""
        day = now.timestamp() / DAY_SECONDS
        return RecallLimits(
            self.max_items,
            self.half_life_days,
            day,
            day - self.ttl_days,
            self.merge_similarity,
            self.embeds,
        )

    def search(
        self, owner: str, query: str, most: int, now: datetime, min_score: float = 0.0
    ) -> Search:
        """Return what is to be looked for among the items of an owner."""
        limits, terms = self.limits(now), self.words.query(query)
        return Search(owner, terms, most, self.half_life_days, limits.now, limits.since, min_score)

    def addition(self, item: RecallItem, same_as: str = "", replaces: str = "") -> Addition:
        """Return an item with its words, and the ones of its day."""
        at = datetime.fromisoformat(item.created_at)
        terms, length = self.words.dated_terms(item.text, at)
        return Addition(item, terms, length, same_as, replaces)


def new_item_id(now: datetime) -> str:
    """Return the id of a new item: the greater, the later it was made."""
    return f"m{int(now.timestamp() * 1000):012x}{secrets.token_hex(4)}"


def checked_text(text: str) -> str:
    """Return the text of an item as it is kept; raises RecallError if it may not be."""
    kept = " ".join(text.split())
    if not any(map(str.isalnum, kept)):
        raise RecallError("text has no words")
    if len(kept) > MAX_TEXT:
        raise RecallError(f"text has {len(kept)} characters, and {MAX_TEXT} at most are kept")
    if (error := text_error(kept)) is not None:
        raise RecallError(f"text {error}")
    return kept


def checked_key(key: str) -> str:
    """Return the key of an item as it is kept; raises RecallError if it may not be."""
    kept = " ".join(key.split())
    if len(kept) > MAX_KEY:
        raise RecallError(f"key has {len(kept)} characters, and {MAX_KEY} at most are kept")
    if (error := text_error(kept)) is not None:
        raise RecallError(f"key {error}")
    return kept


def checked_importance(importance: float) -> float:
    """Return an importance; raises RecallError if it is none."""
    if math.isnan(importance) or not 0 <= importance <= 1:
        raise RecallError("importance is a number from 0 to 1")
    return float(importance)


def checked_topics(topics: Sequence[str]) -> tuple[str, ...]:
    """Return topics as they are kept, each once; raises RecallError if they may not be."""
    kept = {fold(one): " ".join(one.split()) for one in topics}
    kept.pop("", None)
    if len(kept) > MAX_TOPICS or any(len(one) > MAX_TOPIC for one in kept.values()):
        raise RecallError(f"topics are {MAX_TOPICS} at most, of {MAX_TOPIC} characters each")
    for one in kept.values():
        if (error := text_error(one)) is not None:
            raise RecallError(f"a topic {error}")
    return tuple(kept.values())


def taint_of(items: Iterable[RecallItem]) -> tuple[str, ...]:
    """Return what had been read of others where items were remembered."""
    return tuple(dict.fromkeys(source for one in items for source in one.taint))


def item_line(item: RecallItem) -> str:
    """Return an item as agents are shown it, on one line."""
    quoted = f' (said: "{" ".join(item.quote.split())}")' if item.quote else ""
    return f"{item.item_id} {item.seen_at[:10]}: {item.text}{quoted}"


def touched_ids(items: Iterable[RecallItem], now: datetime) -> list[str]:
    """Return the items of which it is to be noted that they were found; once a day is enough."""
    recently = now - timedelta(days=1)
    return [
        one.item_id
        for one in items
        if not one.recalled_at or datetime.fromisoformat(one.recalled_at) <= recently
    ]
