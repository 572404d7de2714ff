"""How long an agent's context takes with every kind of block: python -m tests.bench.contexts [--postgres].

Each of 20 users has a conversation with a summary, core memory, many items of recall memory, and
documents. Prints p50 and p99 of the stage `context` of runs, one at a time and 20 at once, in ms.
"""

import argparse
import asyncio
import json
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import quantiles

from crew import Crew, Query, Runs, load_crew
from crew.database import open_store
from crew.journal.records.remembered.recall import RecallItem
from crew.runs.chores.chores import Chores
from tests.bench.stored_memory import NOW, Sentences
from tests.support.crews import write_crew
from tests.support.postgres import Postgres
from tools.clock import rfc3339

USERS, EXCHANGES, DOCUMENTS, RUNS = 20, 20, 10, 400
AT_ONCE = 500
SUMMARY = json.dumps({"summary": "They talked of hosts.", "facts": []})
BLOCKS = [
    "core",
    {"kind": "summary", "every": 5, "keep": 2},
    {"kind": "history", "exchanges": 10},
    {"kind": "recall", "most": 8},
    "documents",
]


def crew_at(folder: Path) -> Crew:
    """A crew that is shown all that there is."""
    return load_crew(
        write_crew(
            folder,
            {"a": {"is_terminal": True, "documents": ["papers"]}},
            [{"helper": "summary", "say": SUMMARY}, {"say": "It was restarted at noon. " * 8}],
            conversations={"title_after": 0},
            context={"blocks": BLOCKS},
            memory={"core": {"notes": {"description": "what is known"}}, "recall": {}},
            documents={"papers": {"description": "x", "scope": "user", "summaries": "none"}},
        )
    )


async def fill(runs: Runs, items: int) -> None:
    """What each user has."""
    sentences, rule = Sentences(1), runs.crew.memory.recall
    assert rule is not None
    at = rfc3339(NOW)
    for user in map(str, range(USERS)):
        texts = [sentences.one() for _ in range(items)]
        found = [RecallItem(f"user:{user}", f"m{n:06}", one, at, at) for n, one in enumerate(texts)]
        for first in range(0, items, AT_ONCE):
            made = [rule.addition(one) for one in found[first : first + AT_ONCE]]
            await runs.store.recall.add(f"user:{user}", made, rule.limits(NOW))
        await runs.memory.core.put("notes", sentences.one() * 4, None, "ann", user)
        for number in range(DOCUMENTS):
            text = "\n\n".join(sentences.one() for _ in range(50)).encode()
            await runs.documents.upload("papers", f"{number}.txt", text, user, "ann")
        for _ in range(EXCHANGES):
            query = Query(sentences.one(), user_id=user, conversation_id="c")
            await (await runs.start(query)).outcome()
    await Chores(runs).drain()


async def measure(runs: Runs, at_once: int) -> list[float]:
    """Milliseconds of the stage `context` of RUNS runs, each in a copy of a conversation."""
    found: list[float] = []
    sentences = Sentences(2)

    async def ask(user: str) -> None:
        copy = await runs.conversations.fork(user, "c", EXCHANGES)
        query = Query(sentences.one(), user_id=user, conversation_id=copy.conversation_id)
        run = await runs.start(query)
        await run.outcome()
        found.append(run.executor.state.stages["context"] * 1000)

    for _ in range(0, RUNS, at_once):
        await asyncio.gather(*(ask(str(number % USERS)) for number in range(at_once)))
    return found


@contextmanager
def database(folder: Path, *, postgres: bool) -> Iterator[str]:
    """The address of a new one."""
    if not postgres:
        yield f"sqlite:///{folder}/crew.db"
        return
    with Postgres(durable=True) as server:
        yield server.database()


async def main(items: int, *, postgres: bool) -> None:
    """Fill, measure, print."""
    with tempfile.TemporaryDirectory() as name, database(Path(name), postgres=postgres) as url:
        folder = Path(name)
        store = await open_store(url, folder)
        async with Runs(crew_at(folder / "crew"), store) as runs:
            await fill(runs, items)
            for at_once in (1, USERS):
                cuts = quantiles(await measure(runs, at_once), n=100)
                print(f"{at_once:>2} at once: p50 {cuts[49]:.1f} ms, p99 {cuts[98]:.1f} ms")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--items", type=int, default=500)
    parser.add_argument("--postgres", action="store_true")
    given = parser.parse_args()
    asyncio.run(main(given.items, postgres=given.postgres))
