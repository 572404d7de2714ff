"""Which program a file is of, and the crew that it becomes."""

from pathlib import Path
from typing import Any

from server.cli.imports.cagent import crew_of_team
from server.cli.imports.conductor import crew_of_workflow
from server.cli.imports.crewai import AGENTS, crew_of_tasks
from server.cli.imports.desktop import crew_of_servers
from server.cli.imports.foreign import Foreign, items, mapping
from server.cli.starting.starter import Made
from tools.errors import ToolDefinitionError

ENDINGS = (".json", ".jsonc", ".yaml", ".yml")
KNOWN = (
    "mcpServers of a desktop client, servers of an editor, crewAI's agents.yaml and tasks.yaml, "
    "cagent's agents, conductor's workflow, an OpenAPI document"
)


def crew_of_file(path: Path) -> Made | None:
    """Return the crew of another program's file; None for an OpenAPI document, which is no crew.

    Raises:
        ToolDefinitionError: it cannot be read, or is none of those that are known.
    """
    if path.is_dir():
        found = [one for one in (path / AGENTS, path / "config" / AGENTS) if one.is_file()]
        if not found:
            raise ToolDefinitionError(f"{path} is a folder without {AGENTS}; name a file")
        path = found[0]
    foreign = Foreign.at(path)
    data = foreign.data
    agents = data.get("agents")
    if "openapi" in data or "swagger" in data:
        return None
    if isinstance(data.get("workflow"), dict) and _are_mappings(agents, list):
        return crew_of_workflow(path, foreign)
    if isinstance(data.get("mcpServers"), dict) or isinstance(data.get("servers"), dict):
        return crew_of_servers(path, foreign)
    if _are_mappings(agents, dict):
        return crew_of_team(path, foreign)
    if any({"goal", "expected_output"} & mapping(one).keys() for one in data.values()):
        return crew_of_tasks(path, foreign)
    raise ToolDefinitionError(f"{path} is of no program that is known: {KNOWN}")


def _are_mappings(value: Any, kind: type) -> bool:
    found = list(value.values()) if isinstance(value, dict) else items(value)
    return isinstance(value, kind) and bool(found) and all(isinstance(one, dict) for one in found)
