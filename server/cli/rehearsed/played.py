"""Rehearsals are played, and what becomes of each is printed."""

import json
import os
import sys
import time
from collections.abc import Mapping
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, field
from pathlib import Path

from rich.console import Console

from crew.config.files.sources import CREW_FILE
from crew.rehearsal.covering.counts import CoverageCounts
from crew.rehearsal.covering.units import Area
from crew.rehearsal.files.bound import Case
from crew.rehearsal.pins import LOCK
from crew.rehearsal.playing.suite import Result, Suite
from crew.routing.graph import Edge
from server.cli.exits import Exit, fail
from server.cli.rehearsed.chosen import Choice, keep_failed
from server.cli.rehearsed.documents import (
    annotations,
    result_document,
    summary_document,
    write_junit,
)
from server.cli.rehearsed.mutants import try_mutants
from server.cli.rehearsed.pinned import changes_since_pinned, pin
from server.cli.rehearsed.suggested import suggest_rehearsals
from server.cli.rehearsed.text import show_problems, show_result, show_summary, show_unchecked
from server.cli.rehearsed.updating import update_files
from tools.text.texts import visible, visible_json

KILLED = "a process that played rehearsals was killed"


@dataclass(frozen=True, slots=True)
class How:
    """How rehearsals are played and shown."""

    choice: Choice
    jobs: int = 1
    may_act: bool = False
    stops: bool = False
    # for people; else as JSON, a line each
    as_lines: bool = False
    detailed: bool = False
    junit: Path | None = None
    github: bool = False
    shows_coverage: bool = False
    least: Mapping[Area, float] = field(default_factory=dict)
    # write the pins; that they differ is an error
    pins: bool = False
    is_strict: bool = False
    # try so many mutants
    mutants: int | None = None
    # write what differs into the files; without a question
    updates: bool = False
    agrees: bool = False
    # write rehearsals for what none checks
    suggests: bool = False


def play_folder(folder: Path, how: How) -> int:
    """Play the rehearsals of a crew's folder; returns how the command ends.

    Raises:
        NothingChosen, WrongExpression
    """
    started = time.perf_counter()
    if not (folder / CREW_FILE).exists():
        fail(f"there is no crew in {folder}: it has no {CREW_FILE}", Exit.USAGE)
    suite = Suite.read(folder, may_act=how.may_act)
    if suite.problems:
        show_problems(suite, as_lines=how.as_lines)
        return Exit.FAILED
    if how.pins:
        pin(folder, suite.loader.load(_environment(suite), {}))
        print(f"Wrote {folder / LOCK}.", file=sys.stderr)
    cases = how.choice.of(suite, folder)
    try:
        results = _play(suite, cases, how)
    except BrokenProcessPool:
        fail(f"{KILLED}; try --jobs 1")
    keep_failed(folder, results)
    seconds = time.perf_counter() - started
    coverage = CoverageCounts(suite.units)
    for one in results:
        coverage.add(one.taken)
    if how.junit is not None:
        _write_junit(how.junit, results, seconds)
    _write_rehearsals(folder, suite, results, coverage, how)
    changed = []
    if suite.cases:
        changed = changes_since_pinned(folder, suite.loader.load(_environment(suite), {}))
    if how.github:
        print("\n".join(annotations(results, folder)))
    if how.as_lines:
        document = summary_document(results, coverage)
        document["summary"]["changed"] = changed
        print(visible_json(json.dumps(document, ensure_ascii=False)))
    else:
        console = Console(highlight=False)
        show_summary(console, results, coverage, seconds)
        if len(cases) == len(suite.cases) or how.shows_coverage:
            show_unchecked(console, coverage, *((None,) if how.shows_coverage else ()))
        for text in changed:
            print(visible(f"note: {text}; crew test --pin accepts it"))
    code = _exit_code(results, coverage, how)
    if code == Exit.GOOD and changed and how.is_strict:
        return Exit.FAILED
    if code == Exit.GOOD and how.mutants is not None:
        return try_mutants(suite, folder, most=how.mutants, jobs=how.jobs, as_lines=how.as_lines)
    return code


def _write_rehearsals(
    folder: Path, suite: Suite, results: list[Result], coverage: CoverageCounts, how: How
) -> None:
    """Write what rehearsals expect anew, and further ones."""
    if how.updates:
        update_files(folder, results, agrees=how.agrees)
    if how.suggests:
        suggest_rehearsals(folder, suite, coverage, _environment(suite))


def untaken_edges(folder: Path) -> set[Edge]:
    """Play the rehearsals of a crew; returns the edges of its graph that none takes."""
    suite = Suite.read(folder)
    if suite.problems:
        show_problems(suite, as_lines=False)
        raise SystemExit(Exit.FAILED)
    coverage = CoverageCounts(suite.units)
    try:
        for one in suite.play_all(suite.cases, os.cpu_count() or 1):
            coverage.add(one.taken)
    except BrokenProcessPool:
        fail(KILLED)
    return coverage.untaken()


def _environment(suite: Suite) -> Mapping[str, str]:
    """Return the variables of the first rehearsal, with which the crew loads."""
    return suite.cases[0].keys.env if suite.cases else {}


def _exit_code(results: list[Result], coverage: CoverageCounts, how: How) -> int:
    if all(one.status == "skipped" for one in results):
        print("crew: no rehearsal was played", file=sys.stderr)
        return Exit.NOTHING
    if any(one.status in ("failed", "error") for one in results):
        return Exit.FAILED
    is_less = False
    for area, percent in how.least.items():
        if (found := coverage.percent(area)) < percent:
            is_less = True
            text = f"crew: coverage of {area} is {found:.0f} %, less than {percent:g} %"
            print(text, file=sys.stderr)
    return Exit.FAILED if is_less else Exit.GOOD


def _play(suite: Suite, cases: list[Case], how: How) -> list[Result]:
    console = Console(highlight=False)
    shows_progress = console.is_terminal and not how.as_lines and not how.detailed
    results: list[Result] = []
    for result in suite.play_all(cases, how.jobs):
        results.append(result)
        is_bad = result.status in ("failed", "error")
        if how.as_lines:
            document = json.dumps(result_document(result), ensure_ascii=False)
            print(visible_json(document), flush=True)
        elif how.detailed or is_bad:
            _clear(console, shows_progress)
            show_result(console, result, detailed=how.detailed)
        elif shows_progress:
            text = f"\r{len(results)}/{len(cases)}"
            console.file.write(text)
            console.file.flush()
        if is_bad and how.stops:
            break
    _clear(console, shows_progress)
    return results


def _clear(console: Console, shows_progress: bool) -> None:  # of one line
    if shows_progress:
        console.file.write("\r\x1b[K")


def _write_junit(path: Path, results: list[Result], seconds: float) -> None:
    try:
        write_junit(path, results, seconds)
    except OSError as error:
        fail(f"{path} cannot be written: {error.strerror}")
