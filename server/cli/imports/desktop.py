"""The MCP servers of a desktop client (`mcpServers`) or of an editor (`servers`, `inputs`)."""

from pathlib import Path

from server.cli.imports.draft import Draft
from server.cli.imports.foreign import Foreign
from server.cli.imports.servers import servers_of
from server.cli.starting.starter import Made

PROMPT = """\
You are {{name}}, {{role}}. Answer with what your tools tell you. Say so when they cannot tell it.
"""


def crew_of_servers(path: Path, foreign: Foreign) -> Made:
    """Return a crew of one agent with the tools of all servers that start."""
    draft = Draft("my-crew", path.parent)
    key = "mcpServers" if "mcpServers" in foreign.data else "servers"
    found = servers_of(foreign, draft.servers, (key,), foreign.data[key])
    tools = [own for _, own in found if own is not None]
    if "inputs" in foreign.data:
        foreign.changed("inputs", why="variables of the environment, which nobody is asked for")
    agent = {"name": "Olga", "role": "operator", "is_terminal": True, "tools": tools}
    draft.add("operator", {**agent, "system_prompt": PROMPT}, foreign, key)
    return draft.made(foreign)
