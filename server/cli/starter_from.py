"""What `crew init --from` writes: a crew of one agent with the tools of an API or an MCP server."""

import re
import shlex
from pathlib import Path
from typing import Any

import yaml

from server.cli.api_file import ApiFile
from tools.clock import SYSTEM_CLOCK
from tools.config import McpServer
from tools.config.http import SAFE_METHODS
from tools.errors import ToolDefinitionError
from tools.guards import Guards
from tools.kinds import ToolMaker
from tools.kinds.mcp.lock import LOCK_FILE, to_lock

NOT_IN_NAMES = re.compile(r"[^a-z0-9]+")
# where the document names no server
SERVER = "https://api.example.com"
PROMPT = """\
You are {{name}}, {{role}}. Answer with what your tools tell you. Say so when they cannot tell it.
"""
Files = dict[str, str]


def files_from(kind: str, source: str) -> tuple[Files, list[str]]:
    """The files of a crew, and what was left out.

    Args:
        kind: `openapi` or `mcp`.
        source: a document's file, or a command or URL.

    Raises:
        ToolDefinitionError: no tools can be made of it.
    """
    if kind == "openapi":
        return _from_openapi(Path(source))
    if kind == "mcp":
        return _from_mcp(source), []
    raise ToolDefinitionError(f"--from takes openapi FILE or mcp COMMAND, not {kind!r}")


def _from_openapi(file: Path) -> tuple[Files, list[str]]:
    document = ApiFile.read(file)
    name, server = _name(document.data.get("info")), _server(document.data.get("servers"))
    reads: list[str] = []
    acts: list[str] = []
    left_out: list[str] = []
    for operation, made in document.tools(document.operations, server, f"{name}_"):
        if isinstance(made, ToolDefinitionError):
            left_out.append(str(made))
        else:
            (reads if made[1].method in SAFE_METHODS else acts).append(operation)
    if not reads and not acts:
        raise ToolDefinitionError(f"{file}: no operation can be a tool")
    tools: dict[str, Any] = {}
    shared = {"kind": "openapi", "document": file.name, "server": server}
    if reads:
        tools[name] = {**shared, "operations": reads}
    if acts:
        more = {"prefix": f"{name}_", "operations": acts, "requires_approval": True}
        tools[f"{name}_acts"] = {**shared, **more}
    return {**_crew(tools), file.name: document.text}, left_out


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
    return {**_crew(tools), LOCK_FILE: to_lock({"server": found})}


def _crew(tools: dict[str, Any]) -> Files:
    agent = {
        "id": "operator",
        "name": "Olga",
        "role": "operator",
        "provider": "scripted",
        "tools": list(tools),
        "system_prompt": PROMPT,
    }
    script = {"rules": [{"say": "This is a rehearsal: set a provider in agents/operator.yaml."}]}
    return {
        "crew.yaml": _yaml({"version": "1.0", "name": "my-crew", "agents": ["operator"]}),
        "agents/operator.yaml": _yaml(agent),
        "tools.yaml": _yaml({"tools": tools}),
        "script.yaml": _yaml(script),
    }


def _yaml(data: Any) -> str:
    return yaml.safe_dump(data, sort_keys=False, allow_unicode=True, width=100)
