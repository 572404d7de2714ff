"""What is wrong in a crew's files, each with its place and its code."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, get_args

Severity = Literal["error", "warning"]
# Stable; explanations.yaml has what each means, with an example.
ErrorCode = Literal[
    # files
    "no-crew",
    "unreadable",
    "outside-folder",
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
    "unknown-channel",
    "agent-twice",
    "agent-listed-twice",
    "tool-twice",
    "tool-listed-twice",
    "tool-import",
    "schema-ref",
    "url-host",
    "openapi",
    "mcp-unreachable",
    "mcp-lock",
    "unknown-program",
    "no-sandbox",
    "member-twice",
    "group-name",
    "empty-group",
    "signal-twice",
    "empty-signal",
    "terminal-disagreement",
    "provider",
    "no-script",
    "context-over-window",
    "tokenizer",
    # typed answers
    "output-schema",
    "output-signals",
    "output-text",
    "output-agent",
    "output-field",
    "output-value",
    "output-covered",
    "when-text",
    "vocabulary",
    "alias-twice",
    # memory
    "memory-block",
    "memory-from",
    "memory-schema",
    "memory-start",
    "memory-tool",
    "document-collection",
    "document-extra",
    "document-files",
    "document-tool",
    "embeddings-provider",
    "memory-write",
    # results that are kept
    "cache-effect",
    # models
    "agent-tool-nested",
    "plan-output",
    "plan-worker",
    "body-key",
    "client-model",
    "thinking-budget",
    "thinking-sampling",
    "thinking-tool-choice",
    "cache-agent",
    "show-text",
    # budgets
    "budget-never",
    "budget-model",
    "unpriced-budget",
    # the graph
    "trap",
    # rehearsals
    "not-a-case",
    "twice",
    "no-expectation",
    "unreachable-path",
    "bad-pattern",
    "wrong-arguments",
    "reload-gate",
]
WarningCode = Literal[
    "unguarded-plan",
    # files
    "ignored-file",
    "file-name",
    "unused-agent",
    "unused-tool",
    "unused-provider",
    "unused-model",
    "unused-allow",
    # shapes
    "ignored-key",
    "cut-text",
    "prompt-path",
    "literal-secret",
    "weak-secret",
    "no-key",
    "embeddings-extra",
    # prices
    "unpriced-model",
    "old-price",
    # tools
    "no-shell",
    "private-address",
    "unconfined-command",
    "unpinned",
    "unguarded",
    "untrusted-then-act",
    "no-folder",
    "no-files",
    "unknown-keyword",
    "timeout-above",
    # the script
    "script-tool",
    "script-arguments",
    "script-signal",
    "script-output",
    "hidden-rule",
    "script-loop",
    # the graph
    "unreachable",
    "loop",
    "endless-pause",
    "undecided-group",
    "falls-through",
    "few-handoffs",
    "output-gap",
    "output-unchecked",
    "output-unset",
    "output-unread",
    # prompts
    "no-prompt",
    "unknown-variable",
    "empty-variable",
    "unknown-signal",
    "unmentioned-signal",
    "foreign-variable",
    "unread-variable",
    "signal-in-signal",
]
ProblemCode = ErrorCode | WarningCode
ERRORS = frozenset(get_args(ErrorCode))
WARNINGS = frozenset(get_args(WarningCode))
# where a crew has its rehearsals
REHEARSALS = "tests/"


@dataclass(frozen=True, slots=True)
class RelatedPlace:
    """A place that a problem has to do with. Lines and columns count from 1."""

    # relative to the crew's folder
    file: str
    line: int
    column: int
    # what stands there
    text: str


@dataclass(frozen=True, slots=True)
class Problem:
    """One mistake, or one thing worth knowing. Lines and columns count from 1."""

    # relative to the crew's folder
    file: str
    line: int
    column: int
    code: ProblemCode
    message: str
    suggestion: str | None = None
    # such as where a name stands that is given twice
    related: tuple[RelatedPlace, ...] = ()

    @property
    def severity(self) -> Severity:
        """An error keeps a crew from starting; a warning does not."""
        # a rehearsal with a mistake is not played
        is_warning = self.code in WARNINGS and not self.file.startswith(REHEARSALS)
        return "warning" if is_warning else "error"


def in_order(problems: Iterable[Problem]) -> list[Problem]:
    """Return by place, each once; of crew.yaml first."""

    def place(problem: Problem) -> tuple[bool, str, int, int, str, str]:
        is_agent = problem.file != "crew.yaml"
        where = (problem.line, problem.column)
        return (is_agent, problem.file, *where, problem.code, problem.message)

    return sorted(set(problems), key=place)


def has_failed(problems: Iterable[Problem], *, strict: bool = False) -> bool:
    """Return whether there is an error; `strict`: or a warning."""
    return any(strict or problem.severity == "error" for problem in problems)
