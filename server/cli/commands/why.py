"""Why a run went where it went: `crew why`."""

import asyncio
import json
from collections.abc import Iterator, Sequence
from typing import Annotated

import typer

from crew.crew import Crew
from crew.journal.records.listing import RunFilter
from crew.journal.records.rows import PAGE, RunRow
from crew.journal.store import RunStore
from crew.routing.steps import LIMIT_REASONS
from crew.runs.errors import UnknownRun
from crew.why.missed import last_way_to
from crew.why.reading import ExplainedRun, explain_run
from crew.why.steps import WhyStep
from server.cli.commands.spent.costs import usd_text
from server.cli.exits import HERE, Exit, Folder, fail
from server.cli.opening import load, open_to_look
from server.cli.stored import find_run
from tools.text.texts import visible, visible_json

# of what took longest, or cost most
MOST = 10
# of a fact, on a terminal
MAX_FACT = 300


def why(
    folder: Folder = HERE,
    run_id: Annotated[
        str | None,
        typer.Argument(
            metavar="RUN",
            help="The run: its id, the beginning of it, or last; the last one that failed or met "
            "a limit unless given.",
            show_default=False,
        ),
    ] = None,
    number: Annotated[
        int | None,
        typer.Argument(metavar="N", min=1, help="The event; all unless given.", show_default=False),
    ] = None,
    missed: Annotated[
        str | None,
        typer.Option("--not", metavar="AGENT", help="Why it did not go there, the last time."),
    ] = None,
    by_time: Annotated[bool, typer.Option("--time", help="What took longest.")] = False,
    by_cost: Annotated[bool, typer.Option("--cost", help="What cost most.")] = False,
    as_document: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Say why a run went where it went: each rule, the words that decided, and their lines.

    By the files that it was started with, never by those of today.

    Example: [bold]crew why examples/it-support last[/]
    """
    if sum((missed is not None, by_time, by_cost)) > 1:
        raise typer.BadParameter("give one of --not, --time and --cost", param_hint="--not")
    crew = load(folder, None, asks=False)
    store = open_to_look(folder)
    if store is None:
        fail("no run is kept")
    row, explained = asyncio.run(_explain(store, crew, run_id))
    steps = explained.steps
    if number is not None:
        steps = [one for one in steps if one.event == number]
        if not steps:
            fail(f"event {number} of run {row.run_id} follows from nothing, or is not there")
    if missed is not None:
        steps = _missed(explained, steps, missed)
    if by_time:
        steps = sorted(steps, key=lambda one: -one.seconds)[:MOST]
    if by_cost:
        steps = sorted(steps, key=lambda one: -(one.cost_usd or 0.0))[:MOST]
    if as_document:
        document = {"run_id": row.run_id, "steps": [one.document() for one in steps]}
        print(visible_json(json.dumps(document, ensure_ascii=False)))
        return
    print(visible(f"{row.run_id}  {row.status} ({row.reason or '-'})"))
    for one in steps:
        for line in _lines(one, in_full=number is not None):
            print(visible(line))


async def _explain(store: RunStore, crew: Crew, run_id: str | None) -> tuple[RunRow, ExplainedRun]:
    try:
        row = await (_last_wrong(store) if run_id is None else _row(store, run_id))
        return row, await explain_run(store, row, crew)
    finally:
        await store.aclose()


async def _row(store: RunStore, text: str) -> RunRow:
    run_id = await find_run(store, text)
    row = await store.row(run_id)
    if row is None:
        raise UnknownRun(run_id)
    return row


async def _last_wrong(store: RunStore) -> RunRow:
    """Find the last run that failed or met a limit."""
    after: str | None = None
    found: RunRow | None = None
    while found is None and (page := await store.rows(RunFilter(), PAGE, after)):
        wrong = (row for row in page if row.status == "failed" or row.reason in LIMIT_REASONS)
        found, after = next(wrong, None), page[-1].run_id
    if found is None:
        fail("no run has failed or met a limit; name one: crew why DIR last", Exit.USAGE)
    return found


def _missed(explained: ExplainedRun, steps: Sequence[WhyStep], agent: str) -> list[WhyStep]:
    routing = explained.routing
    if routing is None:
        fail("the files of the run are no longer kept: where it could go is not known")
    if agent not in routing.agents and agent not in routing.groups:
        raise typer.BadParameter(f"there is no agent or group {agent}", param_hint="--not")
    found = last_way_to(routing, steps, agent)
    if found is None:
        fail(f"no way led to {agent} from where this run was")
    return [found]


def _lines(step: WhyStep, *, in_full: bool) -> Iterator[str]:
    cost = "?" if step.cost_usd is None else usd_text(step.cost_usd)
    costs = f"   {cost}" if step.cost_usd != 0 else ""
    yield f"{step.event:>4} {step.step}   {step.seconds:.1f} s{costs}"
    rulings = [*step.decided, *step.limits]
    width = max((len(one.rule) for one in rulings), default=0)
    for one in rulings:
        applied = "applies   " if one.applied else ""
        source = f"   {one.source}" if one.source else ""
        yield f"       {one.rule:<{width}}   {applied}{one.because}{source}"
    if in_full:
        for name, value in step.facts.items():
            yield f"       {name}: {json.dumps(value, ensure_ascii=False)[:MAX_FACT]}"
