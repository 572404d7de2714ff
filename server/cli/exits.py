"""How a command ends where it cannot go on, and the argument that all of them take."""

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, NoReturn

import typer

from crew.config.problems import Problem, as_text

Folder = Annotated[
    Path,
    typer.Argument(
        metavar="DIR",
        help="The crew's folder, with crew.yaml in it.",
        show_default="the current folder",
    ),
]
HERE = Path()


def fail(message: str, code: int = 1) -> NoReturn:
    """Say why, and end."""
    print(f"crew: {message}", file=sys.stderr)
    raise SystemExit(code)


def print_problems(problems: tuple[Problem, ...], texts: Mapping[str, str]) -> None:
    """What is wrong with a crew's files; `texts`: of the files, by their names."""
    for problem in problems:
        print(as_text(problem, texts), file=sys.stderr)
