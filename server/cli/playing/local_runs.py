"""Runs of a folder, played and looked at in this process."""

import asyncio
import os
import signal
import sys
from dataclasses import replace
from pathlib import Path
from types import FrameType
from typing import NoReturn

import typer

from crew.backends.memory import MemoryStore
from crew.crew import Crew
from crew.journal.events import RunStatus
from crew.journal.query import Answer, CallDecision, Decision, Query, is_blank, text_error
from crew.runs.errors import WrongDecision
from crew.runs.runs import Runs
from server.cli.exits import Exit, exit_code_of, fail
from server.cli.hints import answer_commands, command_here, quoted, say_how_to_answer
from server.cli.opening import keeps_runs, load, load_to_look, open_runs, open_to_look
from server.cli.playing.answers import answer_of
from server.cli.playing.asking import read_query
from server.cli.playing.play import Play, Resume, Retry, cancel_run, play
from server.cli.stored import list_runs, show_run
from server.cli.view.output import Output

# the run that is answered, and what is decided on its calls
Said = tuple[str, Decision | None, tuple[CallDecision, ...]]


def run_here(
    folder: Path,
    query: Query,
    said: Said | None,
    provider: str | None,
    *,
    dry: bool,
    as_lines: bool,
) -> NoReturn:
    """Run the crew of a folder, or answer one of its runs; ends the command.

    Args:
        folder: the crew's.
        query: the question, or the words of the answer; `-` reads them from stdin.
        said: of an answer.
        provider: replaces that of every agent.
        dry: only tools that read are called, and no run is kept.
        as_lines: print JSON, one event a line.
    """
    crew = load(folder, provider, dry=dry)
    if query.text == "-":
        text = read_query(int(crew.config.settings.max_input_size_kb * 1000))
        query = replace(query, text=text)
    if query.text or said is None or not (said[1] or said[2]):
        _check_query(query.text, crew)
    if dry:
        play_to_end(
            Runs(crew, MemoryStore(crew.clock)), query, folder, as_lines=as_lines, is_kept=False
        )
    asked: Play = query
    if said is not None:
        asked = Resume(said[0], answer_of(query.text, said[1], said[2]))
    play_to_end(open_runs(crew, folder), asked, folder, as_lines=as_lines)


def answer_here(folder: Path, run_id: str, answer: Answer, *, as_lines: bool) -> NoReturn:
    """Answer a paused run of a folder; ends the command."""
    runs = open_runs(load(folder, None), folder)
    play_to_end(runs, Resume(run_id, answer), folder, as_lines=as_lines)


def retry_here(folder: Path, run_id: str, *, as_lines: bool) -> NoReturn:
    """Go on with a failed run of a folder; ends the command."""
    runs = open_runs(load(folder, None), folder)
    play_to_end(runs, Retry(run_id), folder, as_lines=as_lines)


def cancel_here(folder: Path, run_id: str) -> bool:
    """End a run of a folder; False if its process has not ended it in time."""
    return asyncio.run(cancel_run(open_runs(load_to_look(folder), folder), run_id))


def list_here(
    folder: Path, run_id: str | None, status: RunStatus | None, *, watch: bool, as_document: bool
) -> int:
    """Print the runs of a folder, or one of them; returns how many were printed."""
    store = open_to_look(folder)
    if run_id is not None:
        if store is None:
            fail(f"there is no run {run_id}")
        asyncio.run(show_run(store, run_id, as_document=as_document))
        return 1
    if store is None:
        return 0
    return asyncio.run(list_runs(store, status, as_document=as_document, watch=watch))


def play_to_end(
    runs: Runs, asked: Play, folder: Path, *, as_lines: bool, is_kept: bool = True
) -> NoReturn:
    """Play, say how a pause is answered, and end the command."""
    output = Output(as_lines=as_lines)
    if is_kept and keeps_runs(folder):
        _say_what_sigterm_leaves(folder)
    try:
        row = asyncio.run(play(runs, asked, output))
    except WrongDecision as error:
        fail(str(error), Exit.USAGE)
    except KeyboardInterrupt:
        fail("ended by Ctrl-C: the run is cancelled", Exit.INTERRUPTED)
    if row.status == "paused" and not (is_kept and keeps_runs(folder)):
        what = "a database in memory" if is_kept else "a dry run"
        print(f"Paused; {what} is not kept, so it ends here.", file=sys.stderr)
    elif row.status == "paused" and not as_lines:
        view, command = output.view, command_here(folder, row.run_id)
        say_how_to_answer(answer_commands(command, view.question, view.calls))
    raise typer.Exit(exit_code_of(row.status, row.reason))


def _say_what_sigterm_leaves(folder: Path) -> None:
    """Print, when SIGTERM ends this process, that its run does not end by that."""
    where = quoted(folder)
    goes_on = f"`crew serve {where}` goes on with the run, `crew cancel last {where}` ends it"

    def end(number: int, frame: FrameType | None) -> None:
        print(f"crew: ended by SIGTERM: {goes_on}", file=sys.stderr, flush=True)
        signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)

    signal.signal(signal.SIGTERM, end)


def _check_query(query: str, crew: Crew) -> None:
    limit = int(crew.config.settings.max_input_size_kb * 1000)
    error = text_error(query)
    if error is None and is_blank(query):
        error = "is empty"
    if error is None and len(query) > limit:
        error = f"has {len(query):,} characters; at most {limit:,} are allowed"
    if error is not None:
        fail(f"QUERY {error}", Exit.USAGE)
