"""A run in the terminal, from the query to the answer; and the runs that were kept."""

import asyncio
import json
import sys
from dataclasses import replace

import anyio
from rich.console import Console

from crew.errors import CrewError, UnknownRun
from crew.journal.query import Query, Verdict
from crew.journal.store import RunRow, RunStore
from crew.journal.wire import ends
from crew.runs.maintenance import heed
from crew.runs.reader import RunReader
from crew.runs.run import Run
from crew.runs.runs import Runs
from server.cli.run_view import RunView


async def play(runs: Runs, asked: Query, answer: str | None, as_lines: bool) -> tuple[RunRow, str]:
    """Run a crew and show its events as they come; on a terminal, ask at a pause.

    Args:
        runs: the crew and its store; both are closed at the end.
        asked: the query, or the answer to a paused run.
        answer: the id of that run.
        as_lines: print the events as JSON.

    Returns:
        The run as it then is, and how a pause is answered on the command line.
    """
    console = Console(highlight=False)
    view, interactive = RunView(console), sys.stdin.isatty() and not as_lines
    deltas = interactive and console.is_terminal
    asked = replace(asked, deltas=deltas)
    async with runs:
        if answer is not None and asked.decision is None:
            asked = replace(asked, decision=await _decision(runs, answer, asked.text))
        heeding = asyncio.create_task(heed(runs))
        started: Run | None = None
        try:
            started = await (runs.start(asked) if answer is None else runs.resume(answer, asked))
            if runs.queue is not None and not (await runs.queue.counts())[0]:
                print(
                    "crew: no worker is at work; the run waits for one: start `crew worker DIR` beside this",
                    file=sys.stderr,
                )
            while True:
                async for line in runs.follow(started.id, started.before):
                    if line is not None and as_lines:
                        print(line.public, flush=True)
                    elif line is not None:
                        view.show(line.public)
                    if line is not None and ends(line.public):
                        break
                row = await (started.outcome() if started.here else runs.row(started.id))
                if row.status != "paused" or not interactive:
                    return row, view.asks
                text = await anyio.to_thread.run_sync(
                    console.input, view.prompt, abandon_on_cancel=True
                )
                decided = view.decision(text)
                started = await runs.resume(
                    started.id,
                    Query(text if decided is None else "", deltas=deltas, decision=decided),
                )
        except BaseException:
            # Ctrl-C, or a reader that has gone: nobody would see the rest
            if started is not None:
                with anyio.CancelScope(shield=True):
                    await _end(runs, started)
            raise
        finally:
            heeding.cancel()


async def _end(runs: Runs, started: Run) -> None:
    try:
        if (await runs.row(started.id)).status == "running":
            await runs.cancel(started.id)
        await started.stopped()
    except CrewError as error:
        print(f"crew: run {started.id} could not be ended, and goes on: {error}", file=sys.stderr)


async def _decision(runs: Runs, run_id: str, text: str) -> Verdict | None:
    """What an answer in words decides where the run's pause asks about calls, as at the prompt."""
    view = RunView(Console(quiet=True))
    async for line in runs.follow(run_id):
        if line is not None:
            view.show(line.public)
    return view.decision(text)


async def show_runs(store: RunStore, run_id: str | None, as_document: bool) -> bool:
    """List the newest runs, or show one with its events; False if there is no such run."""
    console = Console(highlight=False)
    try:
        if run_id is None:
            for row in await store.rows():
                if as_document:
                    print(
                        json.dumps(
                            {
                                "run_id": row.run_id,
                                "status": row.status,
                                "reason": row.reason,
                                "started_at": row.started_at,
                                "query": row.query,
                            },
                            ensure_ascii=False,
                        )
                    )
                else:
                    print(
                        f"{row.run_id}  {row.started_at}  {row.status:<9}  {' '.join(row.query.split())[:60]}"
                    )
            return True
        view = RunView(console)
        try:
            async for line in RunReader(store).follow(run_id, stored=True):
                if line is not None:
                    print(line.public) if as_document else view.show(line.public)
        except UnknownRun:
            return False
        return True
    finally:
        await store.aclose()
