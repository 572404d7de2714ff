"""A run in the terminal, from the query to the answer."""

import asyncio
import sys
from dataclasses import dataclass, replace

import anyio

from crew.errors import CrewError
from crew.journal.query import Answer, Query, Source
from crew.journal.records.remembered.people import Erasure
from crew.journal.records.rows import RunRow
from crew.runs.chores.chores import Chores
from crew.runs.chores.documents import DOCUMENTS_LANE
from crew.runs.chores.erasure import LANE as ERASURES
from crew.runs.errors import AnsweredTooLate, ChangedCall, WrongDecision
from crew.runs.forks import ForkPoint
from crew.runs.run import Run
from crew.runs.runs import Runs
from crew.runs.upkeep.maintenance import apply_cancellations, recover_left
from server.cli.commands.audit import action_entry, record_action, user_name
from server.cli.playing.asking import ask_for_answer, with_decisions
from server.cli.stored import find_run
from server.cli.view.output import Output
from tools.text.texts import visible

# how long another process may take to end a run, and between two looks
CANCEL_SECONDS = 10.0
LOOK_SECONDS = 0.1
NO_WORKER = "crew: no worker is at work; the run waits for one: start `crew worker DIR` beside this"


@dataclass(frozen=True, slots=True)
class Resume:
    """A paused run is to be resumed."""

    run_id: str
    answer: Answer


@dataclass(frozen=True, slots=True)
class Retry:
    """A failed run is to be taken up again."""

    run_id: str


@dataclass(frozen=True, slots=True)
class CopiedRun:
    """A copy of a run is to go on by itself."""

    run_id: str
    point: ForkPoint
    # to the pause that it begins with
    answer: Answer | None = None


Play = Query | Resume | Retry | CopiedRun


async def play(runs: Runs, asked: Play, output: Output) -> RunRow:
    """Run a crew and print its events as they come; on a terminal, ask at a pause.

    Args:
        runs: the crew and its store; both are closed at the end.
        asked: the query, the answer to a paused run, a failed run, or a copy of one.
        output: prints the events.

    Returns:
        The run as it then is.
    """
    async with runs:
        await runs.documents.sync()
        chores, reading = Chores(runs), None
        await chores.take_over()
        if runs.queue is None and runs.crew.documents:
            # while the run goes on
            reading = asyncio.create_task(chores.drain(DOCUMENTS_LANE))
        row = await play_in(runs, asked, output)
        if reading is not None:
            await reading
        crew = runs.crew
        if runs.queue is None and (crew.helpers or crew.documents or crew.embeddings):
            # no other process does them
            await chores.drain()
        return row


async def play_in(runs: Runs, asked: Play, output: Output) -> RunRow:
    """Return the same with runs that are open, and stay so."""
    interactive = sys.stdin.isatty() and not output.as_lines
    deltas = interactive and output.console.is_terminal
    upkeep = [asyncio.create_task(apply_cancellations(runs))]
    if runs.queue is None:
        # a run that waits for another one of its conversation
        upkeep.append(asyncio.create_task(recover_left(runs)))
    started: Run | None = None
    try:
        started = await _start(runs, asked, output, deltas=deltas)
        output.view.query = asked.text if isinstance(asked, Query) else ""
        await _warn_without_worker(runs)
        while True:
            row = await _show_segment(runs, started, output)
            if row.status != "paused" or not interactive:
                return row
            resumed = await _resume_by_person(runs, started.id, output, deltas=deltas)
            if resumed is None:
                return row
            started = resumed
    except BaseException:
        # Ctrl-C while it runs: the rest would not be seen
        if started is not None:
            with anyio.CancelScope(shield=True):
                await _end(runs, started)
        raise
    finally:
        for task in upkeep:
            task.cancel()


async def _start(runs: Runs, asked: Play, output: Output, *, deltas: bool) -> Run:
    if isinstance(asked, Query):
        run = await runs.start(replace(asked, deltas=deltas), by=user_name(), source=Source("user"))
        await record_action(runs.store, "start", run.id)
        return run
    run_id = await find_run(runs.store, asked.run_id)
    if isinstance(asked, Retry):
        run = await runs.retry(run_id)
        await record_action(runs.store, "retry", run.id)
        return run
    if isinstance(asked, CopiedRun):
        return await _fork(runs, run_id, asked, output)
    answer = replace(asked.answer, deltas=deltas)
    if answer.decision is None and not answer.decisions:
        try:
            answer = await with_decisions(runs.stored(run_id), answer)
        except ValueError as error:
            raise WrongDecision(str(error)) from None
    try:
        return await _resume(runs, run_id, answer)
    except AnsweredTooLate as error:
        return _show_late(error, output)


async def _fork(runs: Runs, run_id: str, asked: CopiedRun, output: Output) -> Run:
    run = await runs.fork(run_id, asked.point)
    await record_action(runs.store, "fork", run.id, f"{run_id}:{asked.point.after}")
    print(f"Run {run.id} goes on from event {asked.point.after} of {run_id}.", file=sys.stderr)
    if asked.answer is None:
        return run
    await _show_segment(runs, run, output)
    return await _resume(runs, run.id, asked.answer)


def _show_late(error: AnsweredTooLate, output: Output) -> Run:
    """Say that an answer came too late; what has begun without it is shown instead."""
    output.view.question = ""
    print(f"crew: {error}", file=sys.stderr)
    return error.run


async def _resume_by_person(runs: Runs, run_id: str, output: Output, *, deltas: bool) -> Run | None:
    """Ask until an answer fits; None: the run stays paused."""
    while (answer := await ask_for_answer(output)) is not None:
        try:
            return await _resume(runs, run_id, replace(answer, deltas=deltas))
        except AnsweredTooLate as error:
            return _show_late(error, output)
        except (WrongDecision, ChangedCall) as error:
            output.console.print(f"  {visible(str(error))}", markup=False)
    return None


async def _resume(runs: Runs, run_id: str, answer: Answer) -> Run:
    entry = action_entry(runs.store, "answer", run_id, answer.decides)
    return await runs.resume(run_id, replace(answer, by=user_name()), entry=entry)


async def _warn_without_worker(runs: Runs) -> None:
    if runs.queue is None:
        return
    workers, _ = await runs.queue.counts()
    if not workers:
        print(NO_WORKER, file=sys.stderr)


async def _show_segment(runs: Runs, started: Run, output: Output) -> RunRow:
    with output.live():
        async for event in runs.follow(started.id, started.before):
            if event is None:
                continue
            output.show(event)
            if event.ends_segment:
                break
    if started.is_played_here:
        return await started.outcome()
    return await runs.row(started.id)


async def _end(runs: Runs, started: Run) -> None:
    try:
        row = await runs.row(started.id)
        if row.status == "running":
            await runs.cancel(started.id)
            await record_action(runs.store, "cancel", started.id, "Ctrl-C")
        await started.stopped()
    except CrewError as error:
        text = f"crew: run {started.id} could not be ended, and goes on: {error}"
        print(text, file=sys.stderr)


async def cancel_run(runs: Runs, run_id: str) -> bool:
    """End a run, wherever it is played; False if its process has not ended it in time.

    Raises:
        UnknownRun, RunEnded, StoreError
    """
    clock = runs.crew.clock
    async with runs:
        run_id = await find_run(runs.store, run_id)
        await runs.cancel(run_id)
        await record_action(runs.store, "cancel", run_id)
        try:
            async with clock.timeout(CANCEL_SECONDS):
                while (await runs.row(run_id)).status in ("running", "paused"):
                    await clock.sleep(LOOK_SECONDS)
        except TimeoutError:
            return False
        return True


async def forget_user(runs: Runs, user_id: str) -> Erasure:
    """Erase a user; without a time of its end where another process does it."""
    async with runs:
        begun = await runs.memory.request_erasure(user_id)
        await record_action(runs.store, "erase", None, begun.digest)
        await Chores(runs).drain(ERASURES)
        found = await runs.store.people.erasures(user_id)
        return next(one for one in found if one.requested_at == begun.requested_at)
