"""Stored runs that were shown items of recall memory, on other files."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from crew import MemoryStore, Query, Runs, load_crew
from crew.config.files.sources import read_sources
from crew.rehearsal.replaying.comparison import Compared
from crew.rehearsal.replaying.replays import Replays
from tests.crew.rehearsal.test_replays import edit
from tests.support.crews import write_crew

OWNER = "user:ann"
FACTS = ("Ann owns shares of FPT", "Ann sells shares early", "Ann likes tea")
RULES: list[dict[str, Any]] = [
    {"agent": "desk", "say": "all of you [G]"},
    {"agent": "b", "seen": "shares of FPT", "say": "b knows"},
    {"agent": "c", "seen": "shares of FPT", "say": "c knows"},
    {"agent": "end", "seen": "sells shares early", "say": "You own FPT."},
]
GROUP = {"agents": ["b", "c"], "next_agent": "end"}
CREW: dict[str, Any] = {
    "memory": {"recall": {}},
    "context": {"blocks": ["history", {"kind": "recall", "most": 2}]},
    "routing": {
        "signals": {"desk": [{"signal": "[G]", "target": "g"}]},
        "parallel_groups": {"g": GROUP},
    },
}


def folder_of(path: Path, **changes: Any) -> Path:
    one = {"blocks": ["history", {"kind": "recall", "most": 1}]}
    agents: dict[str, Any] = {"desk": {}, "b": {}, "c": {"context": one}}
    agents["end"] = {"is_terminal": True}
    return write_crew(path, agents, RULES, **CREW, **changes)


async def remember(runs: Runs, text: str, key: str = "") -> str:
    """Remember a text of Ann's; its id."""
    item, _ = await runs.memory.recall.add("ann", "", "tester", text, key or text)
    return item.item_id


async def recorded(folder: Path) -> tuple[MemoryStore, list[str]]:
    """A run that was shown items; the store, and their ids."""
    crew = load_crew(folder)
    store = MemoryStore(crew.clock)
    runs = Runs(crew, store)
    ids = [await remember(runs, text) for text in FACTS]
    run = await runs.start(Query("what of my shares of FPT?", user_id="ann"))
    assert (await run.outcome()).answer == "You own FPT."
    await runs.drain(1)
    return store, ids


async def replayed(store: MemoryStore, folder: Path) -> Compared:
    replays = Replays(store, folder, read_sources(folder))
    (result,) = [one async for one in replays.play(await store.rows())]
    return result.compared


async def test_it_is_shown_the_same_items(tmp_path: Path):
    """In the same order, members with fewer of them, too; whatever is remembered now."""
    folder = folder_of(tmp_path)
    store, _ = await recorded(folder)
    runs = Runs(load_crew(folder), store)
    for text in ("shares shares FPT", "all of my shares of FPT are sold", "FPT"):
        await remember(runs, text)
    assert await replayed(store, folder) == Compared("same")
    await runs.drain(1)


async def test_fewer_items_are_another_question(tmp_path: Path):
    folder = folder_of(tmp_path)
    store, _ = await recorded(folder)
    edit(folder, "crew.yaml", {"context.blocks": ["history", {"kind": "recall", "most": 1}]})
    found = await replayed(store, folder)
    assert (found.verdict, found.asked is not None) == ("assumed", True)


async def test_what_was_replaced_is_still_known(tmp_path: Path):
    folder = folder_of(tmp_path)
    store, ids = await recorded(folder)
    runs = Runs(load_crew(folder), store)
    await remember(runs, "Ann has sold her shares", FACTS[0])
    item = await store.recall.get(OWNER, ids[0])
    assert item is not None
    assert item.replaced_by
    assert await replayed(store, folder) == Compared("same")
    await runs.drain(1)


@pytest.mark.parametrize(
    ("is_forgotten", "why"),
    [(True, "which it was shown, is forgotten"), (False, "said again or changed since")],
)
async def test_what_is_gone_is_not_guessed(tmp_path: Path, is_forgotten: bool, why: str):
    """An item that is forgotten, or has another date since."""
    folder = folder_of(tmp_path)
    store, ids = await recorded(folder)
    item, rule = await store.recall.get(OWNER, ids[0]), load_crew(folder).memory.recall
    assert item is not None
    assert rule is not None
    if is_forgotten:
        await store.recall.delete(OWNER, ids[0])
    else:
        later = replace(item, seen_at="2027-01-01T00:00:00.000Z")
        await store.recall.add(OWNER, [rule.addition(later)], rule.limits(store.now()))
    found = await replayed(store, folder)
    assert (found.verdict, why in found.why) == ("not kept", True), found
