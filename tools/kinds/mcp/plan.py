"""How an MCP server is reached: found out before anything is started."""

import os
import shutil
from dataclasses import dataclass
from pathlib import Path

from tools.config.mcp import McpServer
from tools.errors import ToolDefinitionError
from tools.kinds.command.arguments import listed_words
from tools.kinds.command.marks import Marks
from tools.kinds.command.sandbox import Sandbox
from tools.kinds.http.addresses import Allowance
from tools.kinds.http.request import parse_url

# of the server's environment: no keys, and what programs such as npx cannot do without
INHERITED = ("HOME", "LANG", "LOGNAME", "PATH", "SHELL", "TERM", "TZ", "USER")


@dataclass(frozen=True)
class Program:
    """A server that is a program."""

    argv: tuple[str, ...]
    cwd: Path
    environment: dict[str, str]
    sandbox: Sandbox
    # of this process's programs of the crew
    marks: Marks


@dataclass(frozen=True)
class Address:
    """A server that speaks streamable HTTP."""

    url: str
    host: str
    headers: dict[str, str]
    allowance: Allowance


@dataclass(frozen=True)
class ServerPlan:
    """A server, and what bounds it."""

    # of the entry
    name: str
    reached: Program | Address
    protocol: str
    startup_seconds: float
    max_result_bytes: int
    max_line_bytes: int

    @classmethod
    def of(cls, name: str, config: McpServer, folder: Path, marks: Marks) -> "ServerPlan":
        """Return the one of an entry.

        Raises:
            ToolDefinitionError: it names no server, or a program that is not there.
        """
        if (config.command is None) == (config.url is None):
            text = "give command (a program) or url (streamable HTTP), one of them"
            raise ToolDefinitionError(text, "url" if config.url else "kind", "bad-value")
        reached: Program | Address
        if config.url is not None:
            reached = _address(config, config.url)
        else:
            reached = _program(config, folder, marks)
        return cls(
            name,
            reached,
            config.protocol,
            config.startup_seconds,
            config.max_result_kb << 10,
            config.max_line_kb << 10,
        )


def _address(config: McpServer, url: str) -> Address:
    target = parse_url(url)
    return Address(url, target.netloc, config.headers, Allowance.of(config.allow_private))


def _program(config: McpServer, folder: Path, marks: Marks) -> Program:
    command = config.command or ""
    written = Path(command)
    if "/" in command:
        found = shutil.which(str(folder / written))
    else:
        found = shutil.which(command, path=config.env.get("PATH"))
    if found is None:
        text = f"there is no program {command} in PATH, or it may not be run; write its whole path"
        program, _, args = command.partition(" ")
        if args and (words := listed_words(args)):
            text = f"command is the program alone; write {program}, and args: {words}"
        raise ToolDefinitionError(text, "command", "unknown-program")
    cwd = (folder / config.cwd).resolve()
    if not cwd.is_dir():
        raise ToolDefinitionError(f"there is no folder {config.cwd}", "cwd", "bad-value")
    own = {name: os.environ[name] for name in INHERITED if name in os.environ}
    environment = {"LANG": "C.UTF-8", **own, **config.env}
    sandbox = Sandbox.of(config, folder)
    return Program((found, *config.args), cwd, environment, sandbox, marks)
