"""The command test."""

import importlib
import os
import secrets
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from crew.rehearsal.covering.units import AREAS, Area
from server.cli.exits import Exit, fail
from server.cli.opening import guard_process
from server.cli.rehearsed.chosen import Choice, NothingChosen
from server.cli.rehearsed.expressions import WrongExpression
from server.cli.rehearsed.measured import RealPlay, measure_folder
from server.cli.rehearsed.played import How, play_folder
from server.cli.replayed.versions import UnknownVersion

HINTS: Mapping[type[ValueError], str] = {
    NothingChosen: "FILE",
    WrongExpression: "-k",
    UnknownVersion: "--changed",
}


def test(
    folder: Annotated[
        Path,
        typer.Argument(
            metavar="DIR",
            help="The crew's folder, with crew.yaml and tests/ in it.",
            show_default="the current folder",
        ),
    ] = Path(),
    names: Annotated[
        list[str] | None,
        typer.Argument(metavar="FILE[::NAME]...", help="Only these.", show_default="all"),
    ] = None,
    expression: Annotated[
        str,
        typer.Option("-k", metavar="EXPR", help="Only those with words: `restart and not slow`."),
    ] = "",
    only_failed: Annotated[
        bool, typer.Option("--failed", help="Only those that failed the last time.")
    ] = False,
    changed: Annotated[
        str,
        typer.Option(
            metavar="VERSION",
            help="Only those that may meet what differs from a folder or git reference, as HEAD.",
        ),
    ] = "",
    watch: Annotated[bool, typer.Option("--watch", help="Play them again after each change.")] = (
        False
    ),
    jobs: Annotated[
        int | None, typer.Option(min=1, help="Processes at most.", show_default="processors")
    ] = None,
    shuffle: Annotated[
        bool, typer.Option("--shuffle", help="In any order; --seed repeats one.")
    ] = False,
    seed: Annotated[
        int | None, typer.Option(help="Of --shuffle.", show_default="another each time")
    ] = None,
    as_lines: Annotated[bool, typer.Option("--json", help="Print JSON, one object a line.")] = (
        False
    ),
    junit: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write JUnit's XML, too.")
    ] = None,
    github: Annotated[bool, typer.Option("--github", help="Print annotations for GitHub.")] = (
        False
    ),
    coverage: Annotated[
        bool, typer.Option("--coverage", help="Show all that no rehearsal checks.")
    ] = False,
    least: Annotated[
        str,
        typer.Option(
            "--min-coverage",
            metavar="AREA=PERCENT,...",
            help=f"Fail below it; {', '.join(AREAS)}.",
        ),
    ] = "",
    mutants: Annotated[
        bool,
        typer.Option(
            "--mutants", help="Change the files one thing at a time: the rehearsals must notice."
        ),
    ] = False,
    most: Annotated[int, typer.Option("--max", min=1, help="Of mutants.")] = 500,
    pins: Annotated[
        bool, typer.Option("--pin", help="Keep what models are sent, in tests/asked.lock.")
    ] = False,
    strict: Annotated[
        bool, typer.Option("--strict", help="Fail where models are sent something else.")
    ] = False,
    update: Annotated[
        bool,
        typer.Option("--update", help="Write paths and answers that differ, as you agree."),
    ] = False,
    suggests: Annotated[
        bool,
        typer.Option("--suggest", help="Write rehearsals for what none checks, for you to check."),
    ] = False,
    agrees: Annotated[bool, typer.Option("--yes", help="With --update: write all.")] = False,
    real: Annotated[
        bool,
        typer.Option("--real", help="Call tools that act once only, where one says `real`."),
    ] = False,
    model: Annotated[
        str,
        typer.Option(
            metavar="MODEL",
            help="Let a real model answer: one of `models`, PROVIDER/MODEL, or `own`.",
        ),
    ] = "",
    times: Annotated[int, typer.Option(min=1, help="With --model: plays of each.")] = 1,
    max_usd: Annotated[
        float | None, typer.Option(min=0, help="With --model: what all may cost.")
    ] = None,
    max_tokens: Annotated[
        int | None, typer.Option(min=1, help="With --model: what all may use.")
    ] = None,
    min_pass: Annotated[
        float, typer.Option(min=0, max=1, help="With --model: the share of each that must pass.")
    ] = 1.0,
    baseline: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="With --model: compare with what --json printed."),
    ] = None,
    stops: Annotated[bool, typer.Option("-x", help="Stop at the first that fails.")] = False,
    detailed: Annotated[bool, typer.Option("-v", help="Show the path of each.")] = False,
) -> None:
    """Play the rehearsals of a crew (`tests/**/*.yaml`): no model is called, no time passes.

    Ends with 0 when all pass, 1 when one fails or the files have errors, and 5 when nothing was
    played. With --model a real model answers in place of `says`, and each is played several times;
    tools stay what the rehearsal says.

    Example: [bold]crew test examples/on-call[/]
    """
    guard_process()
    if seed is not None or shuffle:
        seed = secrets.randbelow(2**16) if seed is None else seed
        typer.echo(f"--seed {seed}", err=True)
    choice = Choice(names or (), expression, only_failed, seed, changed)
    if model:
        alone = {
            "--watch": watch,
            "--junit": junit is not None,
            "--github": github,
            "--coverage": coverage,
            "--min-coverage": bool(least),
            "--mutants": mutants,
            "--pin": pins,
            "--strict": strict,
            "--update": update,
            "--suggest": suggests,
            "-x": stops,
        }
        for option in (name for name, is_given in alone.items() if is_given):
            raise typer.BadParameter("it does not go with --model", param_hint=option)
        if max_usd is None and max_tokens is None:
            raise typer.BadParameter("give --max-usd, or --max-tokens", param_hint="--model")
        real_play = RealPlay(model, times, max_usd, max_tokens, min_pass, baseline, jobs or 4)
        with _chosen():
            code = measure_folder(folder, choice, real_play, may_act=real, as_lines=as_lines)
        raise typer.Exit(code)
    for option, is_given in (
        ("--times", times != 1),
        ("--max-usd", max_usd is not None),
        ("--max-tokens", max_tokens is not None),
        ("--min-pass", min_pass != 1.0),
        ("--baseline", baseline is not None),
    ):
        if is_given:
            raise typer.BadParameter("it goes with --model", param_hint=option)
    if agrees and not update:
        raise typer.BadParameter("it goes with --update", param_hint="--yes")
    if update and not agrees and not sys.stdin.isatty():
        raise typer.BadParameter("it asks in a terminal; or give --yes", param_hint="--update")
    how = How(
        choice,
        jobs or os.cpu_count() or 1,
        real,
        stops,
        as_lines,
        detailed,
        junit,
        github,
        coverage,
        _percents(least),
        pins,
        strict,
        most if mutants else None,
        update,
        agrees,
        suggests,
    )
    with _chosen():
        if watch:
            try:
                watching = importlib.import_module("server.cli.rehearsed.watching")
            except ModuleNotFoundError:
                # only an extra has what it needs
                fail("--watch needs watchfiles: pip install 'crewline[reload]'", Exit.USAGE)
            watching.watch_folder(folder, how)
        raise typer.Exit(play_folder(folder, how))


@contextmanager
def _chosen() -> Iterator[None]:
    """Say so where the command line names no rehearsal."""
    try:
        yield
    except (NothingChosen, WrongExpression, UnknownVersion) as error:
        hint = HINTS[type(error)]
        raise typer.BadParameter(str(error), param_hint=hint) from None


def _percents(text: str) -> dict[Area, float]:
    """Parse `routes=100,people=90`."""
    found: dict[Area, float] = {}
    for part in filter(None, text.split(",")):
        name, _, percent = part.partition("=")
        area = next((one for one in AREAS if one == name.strip()), None)
        try:
            number = float(percent)
        except ValueError:
            number = -1.0
        if area is None or not 0 <= number <= 100:
            hint = f"write AREA=PERCENT, with one of {', '.join(AREAS)}"
            raise typer.BadParameter(f"{part!r}: {hint}", param_hint="--min-coverage")
        found[area] = number
    return found
