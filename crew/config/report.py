"""How problems are written: as text with the line and a caret, and as a JSON document."""

from collections.abc import Iterable, Mapping
from typing import Any

from crew.config.files.redaction import redact_lines
from crew.config.problems import Problem

JSON_KEYS = ("file", "line", "column", "severity", "code", "message", "suggestion")
# of a long line only so many characters are shown
MAX_LINE_CHARS = 160


def problems_document(problems: Iterable[Problem]) -> dict[str, Any]:
    """Return the problems as a document: `{"problems": [...]}`."""
    return {"problems": [{key: getattr(one, key) for key in JSON_KEYS} for one in problems]}


def render_problem(problem: Problem, texts: Mapping[str, str], prefix: str = "") -> str:
    """Render a problem with its line, a caret, and the suggestion.

    Args:
        problem: the problem.
        texts: the files' texts by their names.
        prefix: put before the file's name, such as the folder's path and a slash.
    """
    place = f"{prefix}{problem.file}:{problem.line}:{problem.column}"
    out = [f"{place}: {problem.severity}[{problem.code}]: {problem.message}"]
    lines = redact_lines(texts.get(problem.file, ""))
    line = lines[problem.line - 1] if 0 < problem.line <= len(lines) else None
    if line is not None:
        start, shown = _window(line, problem.column - 1)
        before = line[start : problem.column - 1]
        indent = "".join("\t" if char == "\t" else " " for char in before)
        out += [f"    {shown}", f"    {indent}^"]
    if problem.suggestion:
        out.append(f"    did you mean {problem.suggestion!r}?")
    return "\n".join(out)


def _window(line: str, column: int) -> tuple[int, str]:
    """Return the part of a line around a column, and where it begins."""
    start = 0
    if len(line) > MAX_LINE_CHARS:
        start = max(0, column - MAX_LINE_CHARS // 2)
    return start, line[start : start + MAX_LINE_CHARS]
