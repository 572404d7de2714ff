"""What is wrong in a crew's files, each with its place, and how it is written."""

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal

Severity = Literal["error", "warning"]


@dataclass(frozen=True, slots=True)
class Problem:
    """One mistake, or one thing worth knowing. Lines and columns count from 1."""

    # relative to the crew's folder
    file: str
    line: int
    column: int
    severity: Severity
    # stable; README.md lists them
    code: str
    message: str
    suggestion: str | None = None


def ordered(problems: Iterable[Problem]) -> list[Problem]:
    """By place, each once."""
    return sorted(set(problems), key=lambda p: (p.file != "crew.yaml", p.file, p.line, p.column, p.code, p.message))


def as_json(problems: Iterable[Problem]) -> dict[str, Any]:
    """The problems as a document."""
    return {"problems": [asdict(problem) for problem in problems]}


def as_text(problem: Problem, texts: Mapping[str, str], prefix: str = "") -> str:
    """A problem with the line it is about, a caret, and the suggestion.

    Args:
        problem: the problem.
        texts: the files' texts by their names.
        prefix: put before the file's name, such as the folder's path and a slash.
    """
    head = f"{prefix}{problem.file}:{problem.line}:{problem.column}: {problem.severity}[{problem.code}]: {problem.message}"
    out = [head]
    lines = texts.get(problem.file, "").splitlines()
    if 0 < problem.line <= len(lines) and not _is_secret(lines[problem.line - 1]):
        line = lines[problem.line - 1]
        start, shown = _window(line, problem.column - 1)
        out += [f"    {shown}", "    " + "".join("\t" if c == "\t" else " " for c in line[start : problem.column - 1]) + "^"]
    if problem.suggestion:
        out.append(f"    did you mean {problem.suggestion!r}?")
    return "\n".join(out)


def _is_secret(line: str) -> bool:
    """A key written into the file must not be repeated in a log."""
    lowered = line.lower()
    return any(
        word in lowered for word in ("api_key", "api-key", "apikey", "authorization", "bearer", "token:", "secret", "password")
    )


def _window(line: str, column: int, width: int = 160) -> tuple[int, str]:
    """The part of a long line around a column, and where it begins."""
    start = 0 if len(line) <= width else max(0, column - width // 2)
    return start, line[start : start + width]
