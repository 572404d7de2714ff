"""`# crew: allow <code>`: warnings that the operator has seen and means.

Allowed where they stand.
"""

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import yaml

from crew.config.problems import ERRORS, WARNINGS, Problem, failed
from crew.config.yaml_reader import Document, Loader

# those that speak to us, also with a slip
COMMENT = re.compile(r"# *crew: *al*o?w", re.IGNORECASE)
# with a reason behind a colon, if there is one
ALLOW = re.compile(r"# *crew:\s*allow\s+([\w-]+(?:\s*,\s*[\w-]+)*)\s*(?::.*)?$", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Allowed:
    """A code in such a comment: where it is written, and the line that it is about."""

    file: str
    line: int
    column: int
    code: str
    about: int


def without_allowed(documents: Iterable[Document], problems: Iterable[Problem]) -> list[Problem]:
    """The problems but for warnings that are allowed at their line.

    And a warning for each allowance that allows nothing.
    """
    found = list(problems)
    comments = [
        one
        for document in documents
        if "crew:" in document.text.lower()
        for one in _read(document, found)
    ]
    allowed = {(one.file, one.about, one.code) for one in comments}
    kept = [p for p in found if p.severity == "error" or (p.file, p.line, p.code) not in allowed]
    used = {(p.file, p.line, p.code) for p in found}
    if not failed(found):
        # with an error not every check is made, so nothing is known to be unused
        kept += [
            Problem(
                one.file,
                one.line,
                one.column,
                "unused-allow",
                f"there is no {one.code} here to allow; remove the comment",
            )
            for one in comments
            if (one.file, one.about, one.code) not in used
        ]
    return kept


def _read(document: Document, problems: list[Problem]) -> Iterator[Allowed]:
    """The allowances of a file; those that can mean nothing are told."""
    lines = document.text.splitlines()
    next_line = _next_lines(lines)
    for line, column, text in _comments(document.text, lines):
        written = ALLOW.match(text)
        about = line if lines[line - 1][: column - 1].strip() else next_line[line]
        for code in re.split(r" *, *", written[1]) if written else ():
            if code in WARNINGS:
                yield Allowed(document.file, line, column, code, about)
                continue
            why = (
                f"{code} is an error, which cannot be allowed"
                if code in ERRORS
                else f"there is no warning {code!r}"
            )
            near = None if code in ERRORS else document.near(code, WARNINGS)
            problems.append(Problem(document.file, line, column, "unused-allow", why, near))
        if not written:
            how = "write `# crew: allow <code>`, or several codes with commas between them"
            problems.append(Problem(document.file, line, column, "unused-allow", how))


def _next_lines(lines: list[str]) -> dict[int, int]:
    """For each line the first one below that is neither empty nor a comment."""
    found, below = {}, len(lines)
    for line in range(len(lines), 0, -1):
        found[line] = below
        if not re.match(r"\s*(#|$)", lines[line - 1]):
            below = line
    return found


def _comments(text: str, lines: list[str]) -> Iterator[tuple[int, int, str]]:
    """Line, column and text of each comment that speaks to us; what stands in a text is none."""
    found = [
        (n, m.start() + 1, line[m.start() :])
        for n, line in enumerate(lines, 1)
        for m in COMMENT.finditer(line)
    ]
    spans: list[tuple[tuple[int, int], tuple[int, int]]] = []
    try:
        for token in yaml.scan(text, Loader) if found else ():
            if isinstance(token, yaml.ScalarToken):
                start, end = token.start_mark, token.end_mark
                # a block's own header line may have a comment
                first = (
                    (start.line + 2, 1)
                    if token.style in ("|", ">")
                    else (start.line + 1, start.column + 1)
                )
                spans.append((first, (end.line + 1, end.column + 1)))
    except yaml.YAMLError:
        # told already; what was read until there counts
        pass
    starts = [start for start, _ in spans]
    for line, column, said in found:
        before = bisect_right(starts, (line, column))
        if before == 0 or (line, column) >= spans[before - 1][1]:
            yield line, column, said
