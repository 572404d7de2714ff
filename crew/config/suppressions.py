"""`# crew: allow <code>`: warnings that the operator accepts, suppressed where they stand."""

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import yaml

from crew.config.files.document import Document
from crew.config.files.yaml_reader import Loader
from crew.config.problems import ERRORS, WARNINGS, Problem, has_failed

# comments for us, misspelt ones too
COMMENT = re.compile(r"# *crew: *al*o?w", re.IGNORECASE)
# with a reason after a colon, if there is one
ALLOW = re.compile(r"# *crew:\s*allow\s+([\w-]+(?:\s*,\s*[\w-]+)*)\s*(?::.*)?$", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Suppression:
    """A code in such a comment: where it is written, and the line that it is about."""

    file: str
    line: int
    column: int
    code: str
    target_line: int


def without_suppressed(documents: Iterable[Document], problems: Iterable[Problem]) -> list[Problem]:
    """Return the problems without suppressed warnings.

    And a warning for each unused suppression.
    """
    found = list(problems)
    suppressions: list[Suppression] = []
    for document in {document.file: document for document in documents}.values():
        if "crew:" in document.text.lower():
            suppressions += _read(document, found)
    suppressed = {(one.file, one.target_line, one.code) for one in suppressions}
    kept = [p for p in found if p.severity == "error" or _key(p) not in suppressed]
    if has_failed(found):
        # with an error not every check is made, so nothing is known to be unused
        return kept
    used = {_key(problem) for problem in found}
    for one in suppressions:
        if (one.file, one.target_line, one.code) not in used:
            text = f"there is no {one.code} here to allow; remove the comment"
            kept.append(Problem(one.file, one.line, one.column, "unused-allow", text))
    return kept


def _key(problem: Problem) -> tuple[str, int, str]:
    return (problem.file, problem.line, problem.code)


def _read(document: Document, problems: list[Problem]) -> Iterator[Suppression]:
    """Yield the suppressions of a file; those that have no meaning become problems."""
    lines = document.text.splitlines()
    next_line = _next_lines(lines)
    for line, column, text in _comments(document.text, lines):

        def report(message: str, near: str | None = None) -> None:
            place = (document.file, line, column)  # noqa: B023 # called at once
            problems.append(Problem(*place, "unused-allow", message, near))

        written = ALLOW.match(text)
        if written is None:
            report("write `# crew: allow <code>`, or several codes with commas between them")
            continue
        is_own_line = not lines[line - 1][: column - 1].strip()
        target = next_line[line] if is_own_line else line
        for code in re.split(r" *, *", written[1]):
            if code in WARNINGS:
                yield Suppression(document.file, line, column, code, target)
            elif code in ERRORS:
                report(f"{code} is an error, which cannot be allowed")
            else:
                report(f"there is no warning {code!r}", document.near(code, WARNINGS))


def _next_lines(lines: list[str]) -> dict[int, int]:
    """Find for each line the first one below that is neither empty nor a comment."""
    found, below = {}, len(lines)
    for line in range(len(lines), 0, -1):
        found[line] = below
        if not re.match(r"\s*(#|$)", lines[line - 1]):
            below = line
    return found


def _comments(text: str, lines: list[str]) -> Iterator[tuple[int, int, str]]:
    """Yield line, column and text of each comment for us, outside of scalars."""
    found = [
        (number, match.start() + 1, line[match.start() :])
        for number, line in enumerate(lines, 1)
        for match in COMMENT.finditer(line)
    ]
    spans = list(_scalars(text)) if found else []
    starts = [start for start, _ in spans]
    for line, column, comment in found:
        before = bisect_right(starts, (line, column))
        if before == 0 or (line, column) >= spans[before - 1][1]:
            yield line, column, comment


def _scalars(text: str) -> Iterator[tuple[tuple[int, int], tuple[int, int]]]:
    """Yield the places where each scalar starts and ends."""
    try:
        for token in yaml.scan(text, Loader):
            if isinstance(token, yaml.ScalarToken):
                start, end = token.start_mark, token.end_mark
                first = (start.line + 1, start.column + 1)
                if token.style in ("|", ">"):
                    # a block's own header line may have a comment
                    first = (start.line + 2, 1)
                yield first, (end.line + 1, end.column + 1)
    except yaml.YAMLError:
        # a problem already; what was read until there counts
        return
