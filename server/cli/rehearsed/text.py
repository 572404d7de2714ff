"""Results of rehearsals as people read them."""

import json
import sys
from collections import Counter
from collections.abc import Iterator, Sequence

from rich.console import Console
from rich.text import Text

from crew.config.report import problems_document
from crew.rehearsal.covering.counts import CoverageCounts
from crew.rehearsal.playing.suite import Result, Suite
from server.cli.exits import print_problems
from tools.text.texts import visible, visible_json

MARKS = {"passed": "✓", "failed": "✗", "error": "✗", "skipped": "-"}
STYLES = {"passed": "green", "failed": "bold red", "error": "bold red", "skipped": "yellow"}
WIDTH = 80
# in a summary
MAX_UNCHECKED = 10


def show_result(console: Console, result: Result, *, detailed: bool) -> None:
    """Print what became of a rehearsal, with all that is wrong with it."""
    took = f"{result.wall_millis:.0f} ms, {result.virtual_seconds:.3g} s virtual"
    head = visible(f"{MARKS[result.status]} {result.id}")
    if result.status == "skipped":
        took = f"skipped: {visible(result.reason)}"
    space = " " * max(2, WIDTH - len(head) - len(took))
    line = Text(head, STYLES[result.status]) + Text(f"{space}{took}", "dim")
    console.print(line, soft_wrap=True)
    if detailed and result.path:
        console.print(Text(f"    {visible(' → '.join(result.path))}", "dim"), soft_wrap=True)
    if result.reason and result.status == "passed":
        console.print(Text(f"    fails, as it says: {visible(result.reason)}", "dim"))
    for one in result.mismatches:
        for text in _lines(one.kind, one.text, one.source):
            console.print(Text(visible(text)), soft_wrap=True)


def _lines(kind: str, text: str, source: str) -> Iterator[str]:
    first, *rest = text.split("\n")
    indent = max(6, len(kind) + 2)
    if not rest:
        yield f"    {kind:<{indent}}{first}  ({source})"
        return
    yield f"    {kind:<{indent}}{first}"
    for line in rest:
        yield f"    {'':<{indent}}{line}"
    yield f"    {'':<{indent}}expected at {source}"


def show_summary(
    console: Console, results: Sequence[Result], coverage: CoverageCounts, seconds: float
) -> None:
    """Print how many passed, and what no rehearsal checks."""
    counts = Counter("failed" if one.status == "error" else one.status for one in results)
    parts = [f"{counts['passed']} passed", f"{counts['failed']} failed"]
    parts += [f"{counts['skipped']} skipped"] if counts["skipped"] else []
    covered = ", ".join(
        f"{area} {checked}/{known}" for area, (checked, known) in coverage.counts().items() if known
    )
    line = f"{', '.join(parts)} in {seconds:.1f} s"
    style = "bold red" if counts["failed"] else "green"
    line_of = Text(line, style) + Text(f" · coverage: {covered}" if covered else "")
    console.print(line_of, soft_wrap=True)


def show_unchecked(
    console: Console, coverage: CoverageCounts, most: int | None = MAX_UNCHECKED
) -> None:
    """Print what no rehearsal checks; `most`: so many lines, or all."""
    unchecked = list(coverage.unchecked())
    for unit, is_taken in unchecked[:most]:
        how = "taken, never checked" if is_taken else "never checked"
        where = f"{unit.source} " if unit.source else ""
        console.print(Text(visible(f"{how}: {where}{unit.text}"), "dim"), soft_wrap=True)
    if most is not None and len(unchecked) > most:
        left = len(unchecked) - most
        console.print(Text(f"and {left} more: crew test --coverage shows them", "dim"))


def show_problems(suite: Suite, *, as_lines: bool) -> None:
    """Print why nothing is played: the mistakes in the files; also as JSON."""
    if as_lines:
        print(visible_json(json.dumps(problems_document(suite.problems), ensure_ascii=False)))
    print_problems(tuple(suite.problems), suite.texts)
    count = len(suite.problems)
    print(f"crew: {count} problem{'s' * (count > 1)}; nothing was played", file=sys.stderr)
