"""Core memory: checks of what every store promises."""

import asyncio
from dataclasses import replace

from crew.backends.conformance.conversations import begin_conversation, continue_run, ended, start
from crew.backends.conformance.samples import DAY
from crew.journal.records.remembered.core import KEPT_VERSIONS, CoreFill, CoreVersion
from crew.journal.store import RunStore

AT, ANN, EVE = DAY.format(1), "user:ann", "user:eve"
# of the conversation that is begun here
CONVERSATION = "conversation:ann:c1"


def sample(number: int, owner: str = ANN, block: str = "profile") -> CoreVersion:
    """Return a version of a block."""
    value = {"number": number, "text": "bán"}
    return CoreVersion(owner, block, number, value, AT, "person", "ann", "r1", "I said so", "k")


async def core_is_kept_in_versions(store: RunStore) -> None:
    """Check that versions follow each other, the newest are kept, and owners do not meet."""
    core = store.core
    assert await core.newest([ANN]) == []
    assert await core.versions(ANN, "profile") == []
    assert not await core.add(sample(2))
    assert await core.add(sample(1))
    assert not await core.add(sample(1))
    assert not await core.add(sample(3))
    for owner, block in ((EVE, "profile"), (ANN, "other"), ("crew", "profile")):
        assert await core.add(sample(1, owner, block))
    for number in range(2, KEPT_VERSIONS + 4):
        assert await core.add(sample(number))
    kept = await core.versions(ANN, "profile")
    assert kept == [sample(number) for number in range(KEPT_VERSIONS + 3, 3, -1)], kept
    newest = {(one.owner, one.block): one.version for one in await core.newest([ANN, "crew"])}
    found = {(ANN, "profile"): KEPT_VERSIONS + 3, (ANN, "other"): 1, ("crew", "profile"): 1}
    assert newest == found, newest
    assert await core.newest([]) == []


async def of_two_writers_one_adds_a_version(store: RunStore) -> None:
    """Check that the other finds it there."""
    texts = [replace(sample(1), value=f"by {number}") for number in range(8)]
    added = await asyncio.gather(*(store.core.add(one) for one in texts))
    assert added.count(True) == 1, added
    (kept,) = await store.core.newest([ANN])
    assert kept == texts[added.index(True)], kept


async def exchanges_fill_core(store: RunStore) -> None:
    """Check that the newest texts come first, each once; and that they go with the conversation."""
    assert await store.core.add(sample(1))
    for number, texts in enumerate((("b", "a"), ("b", "a"), ("c", "a"), ()), 1):
        run_id = f"r{number}"
        fill = CoreFill("shares", texts, 3, 100, "x")
        await begin_conversation(store, run_id, start(run_id, number))
        await continue_run(store, run_id, replace(ended(run_id, number), core=(fill,)))
    kept = await store.core.versions(CONVERSATION, "shares")
    found = [(one.version, one.value, one.by, one.who, one.run_id) for one in kept]
    wanted = [(2, "c\na\nb", "output", "x", "r3"), (1, "b\na", "output", "x", "r1")]
    assert found == wanted, found
    assert await store.conversations.delete(ANN, "c1") == "deleted"
    assert await store.core.newest([CONVERSATION]) == []
    assert len(await store.core.newest([ANN])) == 1
    # one that is deleted gets none any more
    assert not await store.core.add(sample(1, CONVERSATION))
    assert await store.core.newest([CONVERSATION]) == []


async def no_fill_is_lost_beside_a_change(store: RunStore) -> None:
    """Check that what an exchange adds stays, while a person changes the same block."""
    numbers = range(1, 9)
    await begin_conversation(store, "r1", start("r1", 1))
    ended_by_now = asyncio.Event()

    async def change() -> None:
        while not ended_by_now.is_set():
            kept = await store.core.versions(CONVERSATION, "shares")
            number, text = (kept[0].version, kept[0].value) if kept else (0, "")
            other = replace(sample(number + 1, CONVERSATION, "shares"), value=f"{text}\nmore")
            await store.core.add(other)
            # a store in memory waits for nothing
            await asyncio.sleep(0)

    async def fill() -> None:
        for number in numbers:
            run_id = f"r{number}"
            if number > 1:
                await begin_conversation(store, run_id, start(run_id, number))
            fill = CoreFill("shares", (run_id,), 1000, 100_000, "x")
            await continue_run(store, run_id, replace(ended(run_id, number), core=(fill,)))
        ended_by_now.set()

    await asyncio.gather(change(), change(), fill())
    (kept,) = await store.core.newest([CONVERSATION])
    missing = {f"r{number}" for number in numbers} - set(str(kept.value).split("\n"))
    assert not missing, missing


CHECKS = (
    core_is_kept_in_versions,
    of_two_writers_one_adds_a_version,
    exchanges_fill_core,
    no_fill_is_lost_beside_a_change,
)
