"""What `crew init --from` writes: a crew of one agent with the tools of an API or an MCP server."""

import re
import shlex
from pathlib import Path
from typing import Any

from server.cli.imports.detect import ENDINGS, crew_of_file
from server.cli.starting.api_file import ApiFile
from server.cli.starting.runbook import crew_of_runbook
from server.cli.starting.starter import Files, Made, SampleCall, operator_crew
from tools.clock import SYSTEM_CLOCK
from tools.config import McpServer
from tools.config.http import SAFE_METHODS
from tools.errors import ToolDefinitionError
from tools.kinds import ToolMaker
from tools.kinds.mcp.lock import LOCK_FILE, to_lock
from tools.limits.guards import Guards
from tools.schemas.samples import sample_arguments

NOT_IN_NAMES = re.compile(r"[^a-z0-9]+")
# where the document names no server
SERVER = "https://api.example.com"
PROMPT = """\
You are {{name}}, {{role}}. Answer with what your tools tell you. Say so when they cannot tell it.
"""
QUERY = "What can you do?"
DRY = " --dry"


def crew_from(kind: str, source: str | None) -> Made:
    """Return a crew made from what there is.

    Args:
        kind: `openapi` or `mcp`; or, without a source, the file of a runbook or of another program.
        source: a document's file, or a command or URL.

    Raises:
        ToolDefinitionError: no crew can be made of it.
    """
    match kind, source:
        case "openapi", str():
            return _from_openapi(Path(source))
        case "mcp", str():
            return Made(_from_mcp(source), QUERY, option=DRY)
        case (("openapi" | "mcp"), None):
            wanted = "the document's file" if kind == "openapi" else "a command or URL"
            raise ToolDefinitionError(f"--from {kind} needs {wanted} behind DIR")
        case _, None if kind.endswith((".md", ".markdown", ".txt")):
            return crew_of_runbook(Path(kind))
        case _, None if kind.endswith(ENDINGS) or Path(kind).is_dir():
            return crew_of_file(Path(kind)) or _from_openapi(Path(kind))
        case _:
            expected = (
                "openapi FILE, mcp COMMAND, the file of a runbook (.md), or a file of another "
                "program (.json, .yaml)"
            )
            raise ToolDefinitionError(f"--from takes {expected}, not {kind!r}")


def _from_openapi(file: Path) -> Made:
    document = ApiFile.read(file)
    name, server = _name(document.data.get("info")), _server(document.data.get("servers"))
    reads: list[str] = []
    acts: list[str] = []
    told: list[str] = []
    calls: dict[bool, SampleCall] = {}
    for operation, made in document.tools(document.operations, server, f"{name}_"):
        if isinstance(made, ToolDefinitionError):
            told.append(f"left out: {made}")
        else:
            tool, entry = made
            is_safe = entry.method in SAFE_METHODS
            (reads if is_safe else acts).append(operation)
            arguments = sample_arguments(entry.parameters or {})
            calls.setdefault(is_safe, SampleCall(tool, arguments, is_asked=not is_safe))
    if not reads and not acts:
        raise ToolDefinitionError(f"{file}: no operation can be a tool")
    tools: dict[str, Any] = {}
    shared = {"kind": "openapi", "document": file.name, "server": server}
    if reads:
        tools[name] = {**shared, "operations": reads}
    if acts:
        more = {"prefix": f"{name}_", "operations": acts, "requires_approval": True}
        tools[f"{name}_acts"] = {**shared, **more}
    # first one that reads, then one that acts
    rehearsed = [calls[is_safe] for is_safe in (True, False) if is_safe in calls]
    files = {**operator_crew(PROMPT, tools, rehearsed), file.name: document.text}
    return Made(files, QUERY, told, option=DRY)


def _name(info: Any) -> str:
    title = info.get("title") if isinstance(info, dict) else None
    return NOT_IN_NAMES.sub("_", str(title or "api").lower()).strip("_")[:30] or "api"


def _server(servers: Any) -> str:
    first = servers[0] if isinstance(servers, list) and servers else {}
    url = first.get("url") if isinstance(first, dict) else None
    is_whole = isinstance(url, str) and url.startswith(("http://", "https://")) and "{" not in url
    return str(url) if is_whole else SERVER


def _from_mcp(source: str) -> Files:
    if source.startswith(("http://", "https://")):
        reached: dict[str, Any] = {"url": source}
    else:
        command, *args = shlex.split(source) or [""]
        reached = {"command": command, **({"args": args} if args else {})}
    entry = {"kind": "mcp", **reached}
    maker = ToolMaker(Path.cwd(), Guards(SYSTEM_CLOCK))
    found = maker.list_mcp("server", McpServer.model_validate(entry))
    own = {
        one.name: {"effect": "read", "requires_approval": False}
        for one in found
        if one.effect == "read"
    }
    tools = {"server": {**entry, "requires_approval": True, **({"tools": own} if own else {})}}
    calls = {
        one.effect == "read": SampleCall(
            f"server_{one.name}", sample_arguments(one.parameters), is_asked=one.effect != "read"
        )
        for one in found
    }
    rehearsed = [calls[reads] for reads in (True, False) if reads in calls]
    return {**operator_crew(PROMPT, tools, rehearsed), LOCK_FILE: to_lock({"server": found})}
