"""How long an agent's context takes in a long conversation: python -m tests.bench.conversations --exchanges 2000.

Prints p50 and p99 of the stage `context` of runs, one at a time and 20 at once, in milliseconds; and
the same in conversations of 20 exchanges, as the ratio that the length costs.
"""

import argparse
import asyncio
import tempfile
from pathlib import Path
from statistics import quantiles

from crew import Query, Runs, SqliteStore, load_crew
from tests.support.crews import write_crew

AT_ONCE = 20
RUNS = 200
ANSWER = "It was restarted at noon, since its disk was nearly full; nobody noticed anything. " * 4


async def fill(runs: Runs, exchanges: int) -> list[str]:
    """Conversations of so many exchanges; their ids."""
    for number in range(exchanges):
        text = f"What about host {number}?"
        await (await runs.start(Query(text, conversation_id=f"of-{exchanges}"))).outcome()
    log = runs.conversations
    copies = [await log.fork("", f"of-{exchanges}", exchanges) for _ in range(AT_ONCE)]
    return [one.conversation_id for one in copies]


async def measure(runs: Runs, ids: list[str], at_once: int) -> list[float]:
    """Milliseconds of the stage `context` of RUNS runs."""
    found: list[float] = []

    async def ask(conversation_id: str) -> None:
        run = await runs.start(Query("and now?", conversation_id=conversation_id))
        await run.outcome()
        found.append(run.executor.state.stages["context"] * 1000)

    for first in range(0, RUNS, at_once):
        await asyncio.gather(*(ask(ids[(first + n) % len(ids)]) for n in range(at_once)))
    return found


async def main(exchanges: int) -> None:
    """Fill, measure, print."""
    with tempfile.TemporaryDirectory() as folder:
        crew = load_crew(
            write_crew(
                Path(folder) / "crew",
                {"a": {"is_terminal": True}},
                [{"say": ANSWER}],
                conversations={},
            )
        )
        async with Runs(crew, SqliteStore(Path(folder) / "crew.db")) as runs:
            long, short = await fill(runs, exchanges), await fill(runs, 20)
            for at_once in (1, AT_ONCE):
                figures = {}
                for name, ids in (("short", short), ("long", long)):
                    cuts = quantiles(await measure(runs, ids, at_once), n=100)
                    figures[name] = (cuts[49], cuts[98])
                (p50, p99), (short_p50, short_p99) = figures["long"], figures["short"]
                print(
                    f"{at_once:>2} at once: {exchanges} exchanges p50 {p50:.2f} p99 {p99:.2f} ms; "
                    f"20 exchanges p50 {short_p50:.2f} p99 {short_p99:.2f} ms"
                )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--exchanges", type=int, default=2000)
    asyncio.run(main(parser.parse_args().exchanges))
