"""What finding costs with much in memory: items of one user beside those of others, on both stores.

Texts are of a vocabulary of 20,000 words, as common as words of a language are (Zipf); queries are
sentences of such words. Both stores must find the same items in the same order.

Run: python -m tests.bench.stored_memory [--items 10000] [--others 100000] [--queries 300]
"""

import argparse
import asyncio
import itertools
import random
import tempfile
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

from crew.database import open_store
from crew.journal.records.remembered.recall import RecallItem
from crew.journal.store import RunStore
from crew.memory.recall import RecallRule
from crew.memory.words import Words
from tests.support.postgres import Postgres
from tools.clock import rfc3339

NOW = datetime(2026, 1, 1, tzinfo=UTC)
VOCABULARY, SHORTEST, LONGEST = 20_000, 6, 25
AT_ONCE = 500
# most queries, in ms
SHARES = (0.5, 0.95, 0.99)
RULE = RecallRule("user", 200_000, 36_500, 180.0, None, None, Words("en"))


class Sentences:
    """Sentences of generated words: the same for equal seeds."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        spelt = itertools.product("bdgklmnprst", "aeiou", "bdgklmnprst", "aeiou", "lmnrst")
        words = ["".join(one) for one in spelt]
        random.Random(0).shuffle(words)
        self._words = words[:VOCABULARY]
        self._sums = list(itertools.accumulate(1 / (rank + 3) for rank in range(len(self._words))))

    def one(self) -> str:
        """Return a sentence."""
        count = self._random.randint(SHORTEST, LONGEST)
        return " ".join(self._random.choices(self._words, cum_weights=self._sums, k=count))


def items(count: int, others: int) -> Iterator[RecallItem]:
    """Return items of one user, then those of 100 others."""
    sentences, choice = Sentences(1), random.Random(2)
    for number in range(count + others):
        at = rfc3339(NOW - timedelta(days=choice.uniform(0, 400)))
        owner = "user:ann" if number < count else f"user:u{number % 100}"
        text = sentences.one()
        item = RecallItem(owner, f"m{number:06}", text, at, at, importance=choice.random())
        yield item


async def fill(store: RunStore, count: int, others: int) -> None:
    """Store all items, those of one owner at once."""
    of_owner: dict[str, list[RecallItem]] = {}
    for item in items(count, others):
        of_owner.setdefault(item.owner, []).append(item)
    for owner, known in of_owner.items():
        for first in range(0, len(known), AT_ONCE):
            additions = [RULE.addition(item) for item in known[first : first + AT_ONCE]]
            assert await store.recall.add(owner, additions, RULE.limits(NOW)) is not None


async def measure(name: str, store: RunStore, queries: list[str]) -> list[list[str]]:
    """Print how long the queries take, and return what each has found."""
    took, found = [], []
    for query in queries:
        search = RULE.search("user:ann", query, 10, NOW)
        started = time.perf_counter()
        best = await store.recall.search(search)
        took.append(1000 * (time.perf_counter() - started))
        found.append([item.item_id for item, _ in best])
    took.sort()
    shares = ", ".join(f"p{100 * part:.0f} {took[int(part * len(took))]:.1f}" for part in SHARES)
    print(f"{name:<12} {shares} ms", flush=True)
    return found


async def main(count: int, others: int, queries: int) -> None:
    """Measure both stores, and compare what they find."""
    sentences = Sentences(3)
    asked = [sentences.one() for _ in range(queries)]
    with tempfile.TemporaryDirectory() as folder, Postgres(durable=True) as server:
        found = []
        for name, url in (
            ("SQLite", f"sqlite:///{folder}/x.db"),
            ("PostgreSQL", server.database()),
        ):
            store = await open_store(url, Path(folder))
            await fill(store, count, others)
            found.append(await measure(name, store, asked))
            await store.aclose()
    same = sum(one == other for one, other in zip(*found, strict=True))
    print(f"{same} of {queries} queries find the same items in the same order on both")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--items", type=int, default=10_000)
    parser.add_argument("--others", type=int, default=100_000)
    parser.add_argument("--queries", type=int, default=300)
    given = parser.parse_args()
    asyncio.run(main(given.items, given.others, given.queries))
