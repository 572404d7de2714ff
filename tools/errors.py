"""What can go wrong with a tool.

ToolError
├── ArgumentsError        the arguments do not fit the schema; the model reads why
├── TemporaryError        worth another try
├── PermanentError        another try would fail the same way
└── ToolDefinitionError   a function or a reference that makes no tool
    ├── ToolImportError        its module does not import
    └── SchemaReferenceError   its schema refers to something outside itself
"""

from typing import Literal

# of the problems that an entry of tools.yaml may have
DefinitionCode = Literal[
    "bad-value",
    "mcp-unreachable",
    "no-sandbox",
    "openapi",
    "schema-ref",
    "tool-import",
    "tool-twice",
    "unknown-program",
    "url-host",
]


class ToolError(Exception):
    """The tool failed."""


class ArgumentsError(ToolError):
    """The arguments do not fit the tool's schema."""


class TemporaryError(ToolError):
    """The tool failed for now; a handler raises it to be called again.

    `after_seconds`: not before that.
    """

    def __init__(self, *args: object, after_seconds: float = 0.0) -> None:
        super().__init__(*args)
        self.after_seconds = after_seconds


class PermanentError(ToolError):
    """The tool failed for good; a handler raises it so as not to be called again."""


class ToolDefinitionError(ToolError):
    """No tool can be made of this entry.

    `path`: the keys, and places in lists, from the entry to what is wrong; `code`: of the problem.
    """

    def __init__(
        self,
        message: str,
        place: str | tuple[str | int, ...] = "function",
        code: DefinitionCode = "tool-import",
    ) -> None:
        """Of an entry.

        Args:
            message: what is wrong.
            place: the key that is wrong, or the path to it.
            code: of the problem.
        """
        super().__init__(message)
        self.path = (place,) if isinstance(place, str) else place
        self.code = code


class ToolImportError(ToolDefinitionError):
    """The module of a function does not import; `module`: as the entry names it."""

    def __init__(self, module: str, reason: str) -> None:
        super().__init__(f"{module} does not import: {reason}")
        self.module = module


class SchemaReferenceError(ToolDefinitionError):
    """A JSON schema refers to a file or an address outside itself."""

    def __init__(self, reference: str, key: str = "parameters") -> None:
        super().__init__(
            f"the schema refers to {reference!r}; a schema may refer only to itself (#/…)",
            key,
            "schema-ref",
        )
