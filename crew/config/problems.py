"""What is wrong in a crew's files, each with its place, and how it is written."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, get_args

from crew.config.redaction import shown_lines

Severity = Literal["error", "warning"]
# Stable; explanations.yaml has what each means, with an example.
ErrorCode = Literal[
    # files
    "no-crew",
    "unreadable",
    "too-large",
    "not-utf8",
    "empty",
    "not-a-mapping",
    "syntax",
    "too-deep",
    "too-many-nodes",
    "recursive-alias",
    "merge",
    "tag",
    "key",
    "duplicate-key",
    "too-many-problems",
    # shapes
    "unknown-key",
    "missing-key",
    "wrong-type",
    "bad-value",
    "bad-name",
    "out-of-range",
    "unset-variable",
    # names
    "missing-agent",
    "unknown-agent",
    "unknown-tool",
    "unknown-provider",
    "agent-twice",
    "agent-listed-twice",
    "tool-twice",
    "tool-listed-twice",
    "tool-import",
    "member-twice",
    "group-name",
    "empty-group",
    "approval-in-group",
    "signal-twice",
    "empty-signal",
    "terminal-disagreement",
    "provider",
    # the graph
    "trap",
]
WarningCode = Literal[
    # files
    "ignored-file",
    "file-name",
    "unused-agent",
    "unused-tool",
    "unused-provider",
    "unused-allow",
    # shapes
    "ignored-key",
    # the script
    "script-tool",
    "no-script",
    # the graph
    "unreachable",
    "loop",
    "endless-pause",
    "undecided-group",
    # prompts
    "no-prompt",
    "unknown-variable",
    "empty-variable",
    "unknown-signal",
    "unmentioned-signal",
    "signal-in-signal",
]
Code = ErrorCode | WarningCode
ERRORS = frozenset(get_args(ErrorCode))
WARNINGS = frozenset(get_args(WarningCode))


@dataclass(frozen=True, slots=True)
class Problem:
    """One mistake, or one thing worth knowing. Lines and columns count from 1."""

    # relative to the crew's folder
    file: str
    line: int
    column: int
    code: Code
    message: str
    suggestion: str | None = None

    @property
    def severity(self) -> Severity:
        """An error keeps a crew from starting; a warning does not."""
        return "warning" if self.code in WARNINGS else "error"


def ordered(problems: Iterable[Problem]) -> list[Problem]:
    """By place, each once."""
    return sorted(
        set(problems),
        key=lambda p: (p.file != "crew.yaml", p.file, p.line, p.column, p.code, p.message),
    )


def failed(problems: Iterable[Problem], *, strict: bool = False) -> bool:
    """Whether there is an error; `strict`: or a warning."""
    return any(strict or problem.severity == "error" for problem in problems)


def as_json(problems: Iterable[Problem]) -> dict[str, Any]:
    """The problems as a document."""
    keys = ("file", "line", "column", "severity", "code", "message", "suggestion")
    return {"problems": [{key: getattr(problem, key) for key in keys} for problem in problems]}


def as_text(problem: Problem, texts: Mapping[str, str], prefix: str = "") -> str:
    """A problem with the line it is about, a caret, and the suggestion.

    Args:
        problem: the problem.
        texts: the files' texts by their names.
        prefix: put before the file's name, such as the folder's path and a slash.
    """
    head = f"{prefix}{problem.file}:{problem.line}:{problem.column}: {problem.severity}[{problem.code}]: {problem.message}"
    out = [head]
    lines = shown_lines(texts.get(problem.file, ""))
    line = lines[problem.line - 1] if 0 < problem.line <= len(lines) else None
    if line is not None:
        start, shown = _window(line, problem.column - 1)
        out += [
            f"    {shown}",
            "    "
            + "".join("\t" if c == "\t" else " " for c in line[start : problem.column - 1])
            + "^",
        ]
    if problem.suggestion:
        out.append(f"    did you mean {problem.suggestion!r}?")
    return "\n".join(out)


def _window(line: str, column: int, width: int = 160) -> tuple[int, str]:
    """The part of a long line around a column, and where it begins."""
    start = 0 if len(line) <= width else max(0, column - width // 2)
    return start, line[start : start + width]
