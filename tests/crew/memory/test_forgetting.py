"""What is forgotten by itself, and what an erasure drops: kept answers, and for as long as it takes."""

from collections.abc import Mapping
from pathlib import Path

from crew import MemoryStore, Runs, load_crew
from crew.backends.conformance.recall import LIMITS, addition
from crew.backends.memory_people import MemoryPeople
from crew.journal.errors import StoreError
from crew.runs.chores.chores import Chores, Counts
from crew.runs.upkeep.maintenance import Retention, purge_batch
from tests.support.crews import write_crew
from tests.support.learning import moving
from tools import VirtualClock
from tools.context import CallOrigin
from tools.limits.results import KeptResults

AGENTS = {"a": {"is_terminal": True}}


async def test_maintenance_forgets_what_was_not_used_for_long(tmp_path: Path):
    """Of users who never come back, too."""
    memory = {"recall": {"ttl_days": 5}}
    crew = load_crew(write_crew(tmp_path, AGENTS, [{"say": "x"}], memory=memory))
    store = MemoryStore()
    async with Runs(crew, store) as runs:
        await store.recall.add("user:ann", [addition(1, "of long ago")], LIMITS)
        await runs.memory.recall.add("eve", "", "eve", "of today")
        await purge_batch(runs, Retention())
        assert await store.recall.listed("user:ann") == []
        assert len(await store.recall.listed("user:eve")) == 1


def test_what_is_kept_for_a_user_is_dropped():
    """And nothing of others, nor what is kept for all."""
    kept = KeptResults(VirtualClock())
    keys = {
        user: ("tool", "{}", CallOrigin(owner="shop", user_id=user).keeper)
        for user in ("ann", "eve", "")
    }
    for user, key in keys.items():
        kept.keep(key, f"of {user}", 60)
    kept.keep(("tool", "{}", ""), "of all", 60)
    kept.forget("ann")
    assert kept.find(keys["ann"]) is None
    assert kept.find(keys["eve"]) == "of eve"
    assert kept.find(keys[""]) == "of "
    assert kept.find(("tool", "{}", "")) == "of all"


async def test_an_erasure_is_never_given_up(tmp_path: Path):
    """However often it fails; in the end all is gone."""
    failures = 5

    class Failing(MemoryPeople):
        async def erase(
            self, user_id: str, requested_at: str, limit: int = 100
        ) -> Mapping[str, int]:
            nonlocal failures
            if failures:
                failures -= 1
                raise StoreError("lost")
            return await super().erase(user_id, requested_at, limit)

    clock, outcomes = VirtualClock(), list[str]()
    crew = load_crew(
        write_crew(tmp_path, AGENTS, [{"say": "x"}], memory={"recall": {}}), clock=clock
    )
    store = MemoryStore(clock)
    kept = (store.core, store.recall, store.documents)
    logs = (store.audit, store.grants, store.outbox, store.chores, *kept)
    store.people = Failing({}, lambda run_id: None, *logs, store.costs)
    chores = Counts(lambda kind, outcome, seconds: outcomes.append(f"{kind} {outcome}"))
    async with moving(clock), Runs(crew, store) as runs:
        await runs.memory.recall.add("ann", "", "ann", "likes tea")
        await runs.memory.request_erasure("ann")
        for _ in range(8):
            await Chores(runs, chores).drain()
            await clock.sleep(300)
        (done,) = await store.people.erasures("ann")
    assert outcomes == [*["erase retried"] * 5, "erase done"]
    assert done.counts == {"recall": 1}
    assert done.done_at
