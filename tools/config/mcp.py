"""The tools of an MCP server."""

from typing import Annotated, ClassVar, Literal

from pydantic import Field

from tools.approval import ApprovalRule
from tools.config.approval import GivenApproval, rule_of
from tools.config.command import Confined, Sandbox, VariableName
from tools.config.common import Seconds, SeveralTools
from tools.config.http import HeaderName, Reached
from tools.definition import Effect
from tools.schemas.yaml_shape import Shape

Glob = Annotated[str, Field(min_length=1, max_length=200)]
Protocol = Literal["auto", "2026-07-28", "2025-11-25"]


class McpToolConfig(Shape):
    """One tool of a server."""

    description: str | None = None
    """What the model reads about it, in place of what the server says."""
    effect: Effect | None = None
    """In place of the entry's."""
    requires_approval: GivenApproval = None
    """In place of the entry's; `false`: no approval is needed."""
    timeout_seconds: Seconds | None = None
    """In place of the entry's."""


class McpServer(SeveralTools, Confined, Reached):
    """The tools of an MCP server, which is a program (`command`) or an address (`url`).

    Their effect is `once` unless given, here, for one of them, or by their own annotations.
    """

    synonyms: ClassVar[dict[str, str]] = {
        "argv": "args",
        "cmd": "command",
        "endpoint": "url",
        "environment": "env",
        "include": "allow",
        "exclude": "deny",
        "tool_filter": "allow",
    }

    breaks: ClassVar[bool] = True
    gives_untrusted: ClassVar[bool] = True

    kind: Literal["mcp"]
    """What runs the tools."""
    command: Annotated[str, Field(min_length=1)] | None = None
    """The program of a server that speaks over stdin and stdout."""
    args: list[str] = []
    """Its arguments."""
    env: dict[VariableName, str] = {}
    """Its environment, beside PATH, HOME, USER, LANG and the like; it has nothing else of the
    server's."""
    cwd: str = "."
    """Where it runs, relative to the crew's folder."""
    sandbox: Sandbox = "off"
    """What confines it: `landlock` (the kernel), `bwrap` (bubblewrap), `off`; `auto` is landlock
    where the kernel has it."""
    url: Annotated[str, Field(min_length=1, max_length=8000)] | None = None
    """The address of a server that speaks streamable HTTP."""
    headers: dict[HeaderName, str] = {}
    """Sent with every request to `url`, such as `Authorization`."""
    allow: Annotated[list[Glob], Field(min_length=1)] = ["*"]
    """Which of its tools are had, by their names at the server; `*` stands for any text."""
    deny: list[Glob] = []
    """Which of those are not."""
    tools: dict[str, McpToolConfig] = {}
    """What is otherwise for some tools, by their names at the server."""
    trust_annotations: bool = False
    """Whether a tool that calls itself read-only or idempotent has that effect."""
    startup_seconds: Seconds = 10
    """Until it must have started and listed its tools."""
    protocol: Protocol = "auto"
    """`auto`: the newest that it speaks."""
    max_result_kb: Annotated[int, Field(ge=1, le=102_400)] = 1000
    """Largest result, x 1,024 bytes; a larger one is an error."""
    max_line_kb: Annotated[int, Field(ge=1, le=102_400)] = 8192
    """Longest message of a program, x 1,024 bytes; after a longer one it is started anew."""
    pin: bool = True
    """Whether its tools are those of mcp.lock.json, which `crew tools DIR --lock` writes."""

    def approval_of(self, tool: str) -> ApprovalRule | None:
        """Return when calls of a tool of the server need approval; None: never."""
        own = self.tools.get(tool)
        given = own.requires_approval if own is not None else None
        return self.approval if given is None else rule_of(given)
