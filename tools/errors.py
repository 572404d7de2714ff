"""What can go wrong with a tool.

ToolError
├── ArgumentsError        the arguments do not fit the schema; the model reads why
├── TemporaryError        worth another try
├── PermanentError        another try would fail the same way
└── ToolDefinitionError   a function or a reference that makes no tool
"""


class ToolError(Exception):
    """The tool failed."""


class ArgumentsError(ToolError):
    """The arguments do not fit the tool's schema."""


class TemporaryError(ToolError):
    """The tool failed for now; a handler raises it to be called again."""


class PermanentError(ToolError):
    """The tool failed for good; a handler raises it so as not to be called again."""


class ToolDefinitionError(ToolError):
    """A tool cannot be made of what it was described by.

    `key`: the key of its entry that is to blame.
    """

    def __init__(self, message: str, key: str = "function") -> None:
        super().__init__(message)
        self.key = key
