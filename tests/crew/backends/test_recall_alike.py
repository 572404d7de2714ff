"""Recall memory: whatever is done, the stores hold and find the same."""

import asyncio
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from crew import MemoryStore, SqliteStore
from crew.backends.conformance.recall import ANN, LIMITS, NOW, addition
from crew.backends.conformance.samples import DAY
from crew.journal.records.remembered.recall import Search
from crew.journal.store import RunStore

WORDS = st.sampled_from(["tea", "green", "Hue", "lives", "bán", "ban", "in", "likes"])
TEXTS = st.lists(WORDS, min_size=1, max_size=5).map(" ".join)
NUMBERS = st.integers(0, 5)
IDS = st.one_of(st.just(""), NUMBERS.map(lambda n: f"m{n:06}"))
ADDED = st.tuples(
    st.just("add"),
    TEXTS,
    st.integers(1, 19),
    st.fixed_dictionaries(
        {
            "key": st.sampled_from(["", "home", "Home "]),
            "importance": st.sampled_from([0.0, 0.3, 1.0]),
            "topics": st.sampled_from([(), ("a", "b"), ("B", "c")]),
        }
    ),
    IDS,
    IDS,
)
DELETED = st.tuples(st.just("delete"), NUMBERS)
TOUCHED = st.tuples(st.just("touch"), NUMBERS, st.integers(1, 19))
PURGED = st.tuples(st.just("purge"), st.integers(0, 25))
SEARCHED = st.tuples(st.just("search"), TEXTS, st.integers(1, 6), st.sampled_from([0.5, 180.0]))
STEPS = st.lists(st.one_of(ADDED, ADDED, ADDED, SEARCHED, DELETED, TOUCHED, PURGED), max_size=20)
OPTIONS = st.fixed_dictionaries(
    {
        "max_items": st.sampled_from([3, 1000]),
        "half_life_days": st.sampled_from([0.01, 180.0]),
        "merge_similarity": st.sampled_from([None, 0.5]),
    }
)


async def play(store: RunStore, steps: list[Any], options: dict[str, Any]) -> list[Any]:
    """Do all steps; what each has given, and what is there in the end."""
    limits, log, added = replace(LIMITS, **options), list[Any](), 0
    for kind, *values in steps:
        match kind:
            case "add":
                text, day, more, same_as, replaces = values
                one = addition(added, text, day, **more)
                added += 1
                one = replace(one, same_as=same_as, replaces=replaces)
                log.append(await store.recall.add(ANN, [one], limits))
            case "delete":
                log.append(await store.recall.delete(ANN, f"m{values[0]:06}"))
            case "touch":
                await store.recall.touch(ANN, [f"m{values[0]:06}"], DAY.format(values[1]))
            case "purge":
                log.append(await store.recall.purge(NOW - values[0]))
            case "search":
                text, most, half_life = values
                search = Search(
                    ANN, sorted(set(text.casefold().split())), most, half_life, NOW, 0.0
                )
                found = await store.recall.search(search)
                log.append([(item, round(score, 6)) for item, score in found])
    log.append(await store.recall.listed(ANN, replaced=True))
    await store.aclose()
    return log


@settings(max_examples=150)
@given(STEPS, OPTIONS)
def test_two_stores_hold_and_find_the_same(steps: list[Any], options: dict[str, Any]):
    async def both() -> tuple[list[Any], list[Any]]:
        with tempfile.TemporaryDirectory() as folder:
            stored = await play(SqliteStore(Path(folder) / "runs.db"), steps, options)
        return await play(MemoryStore(), steps, options), stored

    kept, stored = asyncio.run(both())
    assert kept == stored
