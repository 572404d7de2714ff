"""Generated runs: what is computed again from their files is what they have recorded."""

import tempfile
from pathlib import Path
from typing import Any

import anyio
from hypothesis import given, settings

from agents.events import Warned
from crew import Answer, MemoryStore, Query, Runs, load_crew
from crew.journal.events import HandedOff, Paused, RunDone, RunFailed
from crew.journal.replay import read_event
from crew.why.reading import explain_run
from crew.why.steps import WhyStep
from tests.crew.engine.test_random_crews import QUIET, crews, write


async def explained(folder: Path) -> tuple[list[tuple[int, Any]], list[WhyStep]]:
    """The events of a run that a person answers once, and why each came."""
    crew, store = load_crew(folder, environment={}), MemoryStore()
    async with Runs(crew, store) as runs:
        run = await runs.start(Query("go"))
        with anyio.fail_after(30):
            row = await run.outcome()
            if row.status == "paused":
                run = await runs.resume(run.id, Answer("go on"))
                row = await run.outcome()
        steps = list((await explain_run(store, row, crew)).steps)
        records = await store.records(row.run_id, 0, 1000)
    return [(one.seq, read_event(one, row.run_id)[0]) for one in records], steps


def lines_of(step: WhyStep) -> list[str | None]:
    return [one.source for one in (*step.decided, *step.limits) if one.applied]


@settings(QUIET, max_examples=120)
@given(crews())
def test_what_is_computed_is_what_was_recorded(files: dict[str, Any]):
    """Each handoff, pause and end by its rule: the same line, the same signal; limits with lines."""
    with tempfile.TemporaryDirectory() as made:
        folder = write(Path(made), files)
        events, steps = anyio.run(explained, folder)
    by_number = {one.event: one for one in steps}
    for seq, event in events:
        match event:
            case HandedOff():
                step = by_number[seq]
                assert lines_of(step) == [event.source], (step, event)
                if event.signal is not None:
                    assert step.matched is not None
                    assert event.signal.lower() in step.matched.text.lower()
                    assert event.signal in next(one.because for one in step.decided if one.applied)
                else:
                    assert step.matched is None
            case Paused(question=None):
                assert lines_of(by_number[seq]) == [event.source]
            case RunDone(reason="terminal" | "signal" | "output" | "no_next_agent"):
                assert lines_of(by_number[seq]) == [event.source]
            case (
                RunDone(reason="max_handoffs" | "max_rounds")
                | Warned(code="max_handoffs" | "max_rounds")
            ):
                assert [one.rule for one in by_number[seq].limits] == [
                    f"settings.{event.reason if isinstance(event, RunDone) else event.code}"
                ]
                assert lines_of(by_number[seq])[-1] is not None
            case RunFailed():
                assert by_number[seq].decided
            case _:
                pass
