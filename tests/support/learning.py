"""A crew that learns, what its helper was sent, and what became of its answers."""

import asyncio
import json
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from crew import MemoryStore, Query, Runs, load_crew
from crew.journal.records.remembered.recall import RecallItem
from crew.journal.store import RunStore
from crew.runs.chores.chores import Chores, Counts
from tests.support.crews import write_crew
from tools import VirtualClock

Answer = dict[str, Any]
PROFILE = {
    "description": "who this is",
    "schema": {"properties": {"risk": {"enum": ["low", "high"]}, "style": {"type": "string"}}},
}


def taught(text: str, quote: str, exchange: int = 1, **more: Any) -> Answer:
    return {"text": text, "quote": quote, "exchange": exchange, **more}


def lesson(*items: Any, core: Any = (), outcome: str = "") -> str:
    answer = {"remember": list(items), "core": list(core), "outcome": outcome}
    return json.dumps(answer, ensure_ascii=False)


class Learned:
    """A crew that learns, what its helper was sent, and what became of its answers."""

    def __init__(self, runs: Runs) -> None:
        self.runs = runs
        self.changes: Counter[str] = Counter()
        self.refused: Counter[str] = Counter()
        self.outcomes: list[str] = []

    async def say(self, *texts: str, user: str = "ann", conversation: str = "c1") -> None:
        for text in texts:
            query = Query(text, user_id=user, conversation_id=conversation)
            await (await self.runs.start(query)).outcome()

    async def learn(self) -> None:
        counts = Counts(
            lambda kind, outcome, seconds: self.outcomes.append(f"{kind} {outcome}"),
            learned=lambda op: self.changes.update([op]),
            unlearned=lambda reason: self.refused.update([reason]),
        )
        await Chores(self.runs, counts).drain()

    async def items(self, owner: str = "user:ann") -> list[RecallItem]:
        found = await self.runs.store.recall.listed(owner, replaced=True)
        return sorted(found, key=lambda one: one.text)

    async def texts(self) -> list[str]:
        return [one.text for one in await self.items()]


@asynccontextmanager
async def moving(clock: VirtualClock) -> AsyncIterator[None]:
    """Let time pass as soon as all wait for it."""
    task = asyncio.create_task(clock.run())
    yield
    task.cancel()


def learning(
    folder: Path,
    answer: str,
    *,
    store: RunStore | None = None,
    learn: dict[str, Any] | None = None,
    rules: list[dict[str, Any]] | None = None,
    memory: dict[str, Any] | None = None,
    clock: VirtualClock | None = None,
    **crew: Any,
) -> Learned:
    given = {"recall": {"learn": {"idle_seconds": 0, **(learn or {})}, **(memory or {})}}
    given["core"] = {"profile": PROFILE}
    written = [{"helper": "learn", "say": answer}, *(rules or [{"say": "I own VNM, says a"}])]
    agents = crew.pop("agents", {"a": {"is_terminal": True}})
    path = write_crew(folder, agents, written, memory=given, conversations={}, **crew)
    loaded = load_crew(path, clock=clock) if clock is not None else load_crew(path)
    return Learned(Runs(loaded, store or MemoryStore(loaded.clock)))
