"""The tools of an MCP server, of what it, or mcp.lock.json, says of them."""

import hashlib
import importlib.util
import json
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from tools.config.mcp import McpServer, McpToolConfig
from tools.context import ToolContext
from tools.definition import Reach, Tool, tool_name
from tools.errors import ToolDefinitionError
from tools.kinds.mcp.definitions import Definition, chosen
from tools.kinds.mcp.plan import Address, ServerPlan
from tools.kinds.mcp.servers import Lease, Servers
from tools.schemas.conditions import require_conditions
from tools.schemas.schema import JsonSchema
from tools.text.suggest import nearest
from tools.text.texts import map_texts, without_surrogates

# of a server in a message
MAX_NAMED = 12
# of patterns of names
GLOB = frozenset("*?[")
NO_SETTINGS = McpToolConfig()


def require_installed() -> None:
    """Raise ToolDefinitionError where the SDK is not installed."""
    if importlib.util.find_spec("mcp") is None:
        text = "kind mcp needs the package mcp: pip install 'crewline[mcp]'"
        raise ToolDefinitionError(text, "kind", "tool-import")


def lease_of(config: McpServer, plan: ServerPlan) -> Lease:
    """Make a lease of the server of an entry; raises ToolDefinitionError."""
    require_installed()
    return Lease(config.model_dump_json(), plan)


def list_now(servers: Servers, lease: Lease, *, keeps: bool) -> list[Definition]:
    """List what a server says of its tools now. See `Servers.list_tools`.

    Raises:
        ToolDefinitionError: it cannot be reached.
    """
    plan = lease.plan
    try:
        return servers.list_tools(lease, keeps=keeps)
    except ConnectionError as error:
        where = "url" if isinstance(plan.reached, Address) else "command"
        text = f"the MCP server {plan.name} cannot be asked for its tools: {error}"
        raise ToolDefinitionError(text, where, "mcp-unreachable") from None


def mcp_tools(
    config: McpServer,
    lease: Lease,
    definitions: Sequence[Definition],
    servers: Servers,
    *,
    is_locked: bool,
) -> list[Tool]:
    """Return the tools of a server.

    Args:
        config: its entry.
        lease: of the server.
        definitions: what is known of its tools.
        servers: of this process.
        is_locked: whether they are known by mcp.lock.json.

    Raises:
        ToolDefinitionError: one cannot be a tool here, or the entry names one that is not there.
    """
    plan = lease.plan
    wanted = chosen(definitions, config.allow, config.deny)
    known = [one.name for one in wanted]
    for name in config.tools:
        _require_tool(name, known, ("tools", name))
    every = [one.name for one in definitions]
    for key, names in (("allow", config.allow), ("deny", config.deny)):
        for place, name in enumerate(names):
            # a pattern may be about tools to come, and any other name about one that is gone
            is_meant = nearest(name, every) is not None or (every and not wanted)
            if is_meant and not GLOB.intersection(name):
                _require_tool(name, every, (key, place))
    prefix = config.prefix_of(plan.name)
    reach = _reach(plan, is_locked=is_locked)
    made: dict[str, Tool] = {}
    for definition in wanted:
        name = tool_name(prefix, definition.name)
        if name in made:
            text = f"two tools of the server get the name {name}; leave one out by deny"
            raise ToolDefinitionError(text, "kind", "tool-twice")
        made[name] = _tool(name, definition, config, servers, lease, reach)
    return list(made.values())


def _require_tool(name: str, known: Sequence[str], path: tuple[str | int, ...]) -> None:
    """Raise ToolDefinitionError unless a server has a tool that its entry names."""
    if name in known:
        return
    near = nearest(name, known)
    others = ", ".join(known[:MAX_NAMED]) or "none"
    hint = f"did you mean {near!r}? it has {others}" if near else f"it has {others}"
    raise ToolDefinitionError(f"the server has no tool {name!r}; {hint}", path, "bad-value")


def _tool(
    name: str,
    definition: Definition,
    config: McpServer,
    servers: Servers,
    lease: Lease,
    reach: Reach,
) -> Tool:
    own = config.tools.get(definition.name, NO_SETTINGS)
    try:
        schema = JsonSchema(definition.parameters)
    except ToolDefinitionError as error:
        text = f"{definition.name}: {error}; leave it out by deny: [{definition.name}]"
        raise ToolDefinitionError(text, "kind", error.code) from error
    rule = config.approval_of(definition.name)
    if rule is not None and own.requires_approval is not None:
        try:
            parameters = schema.parameters
            require_conditions(rule, parameters["properties"], parameters.get("$defs", {}))
        except ToolDefinitionError as error:
            path = ("tools", definition.name, "requires_approval")
            raise ToolDefinitionError(str(error), path, error.code) from error
    by_itself = definition.effect if config.trust_annotations else "once"
    call = _McpCall(definition, servers, lease)
    return Tool(
        name=name,
        description=own.description or definition.description or definition.name,
        parameters=schema.parameters,
        act=call,
        check=schema.check,
        timeout_seconds=own.timeout_seconds or config.timeout_seconds,
        retries=config.retries,
        effect=own.effect or config.effect or by_itself,
        approval=rule,
        # of another server, or described otherwise, it is another tool to who has approved this one
        entry_hash=hashlib.sha256(f"{lease.key} {definition.digest}".encode()).hexdigest(),
        reach=reach,
        show=call.show,
        close=partial(servers.release, lease),
    )


def _reach(plan: ServerPlan, *, is_locked: bool) -> Reach:
    pin = "locked" if is_locked else "not locked"
    reached = plan.reached
    if isinstance(reached, Address):
        return Reach("mcp", hosts=(reached.host,), pin=pin)
    return replace(reached.sandbox.reach(reached.argv), kind="mcp", pin=pin)


def server_of(tool: Tool) -> str:
    """Return the name of the MCP server that makes a tool's calls; "" where none does."""
    return tool.act.lease.plan.name if isinstance(tool.act, _McpCall) else ""


class _McpCall:
    """What a tool of a server does."""

    def __init__(self, definition: Definition, servers: Servers, lease: Lease) -> None:
        self.definition, self.servers, self.lease = definition, servers, lease

    def show(self, arguments: dict[str, Any]) -> str:
        """Return server, tool and arguments, for a person."""
        written = json.dumps(arguments, ensure_ascii=False)
        return f"{self.lease.plan.name}: {self.definition.name}({written})"

    async def __call__(self, arguments: dict[str, Any], context: ToolContext) -> str:
        """Make a call; see `Server.call`."""
        sent = map_texts(arguments, without_surrogates)
        return await self.servers.call(self.lease, self.definition, sent, context)
