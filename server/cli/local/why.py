"""Why a run of a folder went where it went."""

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any

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
from server.cli.exits import Exit, fail
from server.cli.opening import load_to_look, open_to_look
from server.cli.stored import find_run


def explained_here(
    folder: Path, run_id: str | None, event: int | None, missed: str | None
) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Return a run and its steps, as the API gives them; ends the command where there is none.

    Args:
        folder: the crew's.
        run_id: or its beginning, or `last`; None: the last run that failed or met a limit.
        event: only the steps of this one.
        missed: only the last step from which a way led to this agent.
    """
    crew = load_to_look(folder)
    store = open_to_look(folder)
    if store is None:
        fail("no run is kept")
    row, explained = asyncio.run(_explain(store, crew, run_id))
    steps = explained.steps
    if event is not None:
        steps = [one for one in steps if one.event == event]
        if not steps:
            fail(f"event {event} of run {row.run_id} follows from nothing, or is not there")
    if missed is not None:
        steps = _missed(explained, steps, missed)
    run = {"run_id": row.run_id, "status": row.status, "reason": row.reason}
    return run, [one.document() for one in steps]


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
        went = next((one for one in steps if one.step.endswith(f"→ {agent}")), None)
        if went is not None:
            fail(f"it went to {agent}, at event {went.event}")
        fail(f"no way led to {agent} from where this run was")
    return [found]
