"""How a command ends, and the argument that all commands have."""

import logging
import sys
from collections.abc import Mapping
from enum import IntEnum
from pathlib import Path
from typing import Annotated, NoReturn

import typer

from crew.config.problems import Problem
from crew.config.report import render_problem
from crew.routing.steps import LIMIT_REASONS
from tools.text.texts import visible

Folder = Annotated[
    Path,
    typer.Argument(
        metavar="DIR",
        help="The crew's folder, with crew.yaml in it.",
        show_default="the current folder",
    ),
]
HERE = Path()
log = logging.getLogger("crew.command")


class Exit(IntEnum):
    """Exit codes."""

    GOOD = 0
    # the crew has errors, a run failed
    FAILED = 1
    USAGE = 2
    PAUSED = 3
    # by a limit, or cancelled
    STOPPED = 4
    # no rehearsal was played
    NOTHING = 5
    # Ctrl-C, as shells have it
    INTERRUPTED = 130


def exit_code_of(status: str, reason: str | None) -> Exit:
    """Return the exit code for a run that has ended or is paused.

    Of its status, and why it ended.
    """
    match status:
        case "failed":
            return Exit.FAILED
        case "paused":
            return Exit.PAUSED
        case "cancelled":
            return Exit.STOPPED
        case _:
            return Exit.STOPPED if reason in LIMIT_REASONS else Exit.GOOD


class Outlet:
    """Where a command says what is wrong: on standard error in words, or in its log."""

    # each line of standard error is read by a program
    logs = False


def fail(message: str, code: Exit = Exit.FAILED) -> NoReturn:
    """Say why, and end."""
    if Outlet.logs:
        log.critical("%s", message)
    else:
        print(f"crew: {visible(message)}", file=sys.stderr)
    raise SystemExit(code)


def say_none(message: str, *, as_document: bool) -> None:
    """Say on standard error that there is nothing to list; a document of nothing says it itself."""
    if not as_document:
        print(visible(message), file=sys.stderr)


def print_problems(problems: tuple[Problem, ...], texts: Mapping[str, str]) -> None:
    """Print what is wrong with a crew's files; `texts`: of the files, by their names."""
    for problem in problems:
        if Outlet.logs:
            level = logging.ERROR if problem.severity == "error" else logging.WARNING
            place = {"file": problem.file, "line": problem.line, "column": problem.column}
            extra = {**place, "code": problem.code}
            log.log(level, "%s", render_problem(problem, {}), extra=extra)
            continue
        print(visible(render_problem(problem, texts)), file=sys.stderr)
