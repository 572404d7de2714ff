"""mcp.lock.json: the tools of MCP servers as they were when a person looked at them; pure."""

import json
from collections.abc import Iterable, Mapping
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, ValidationError

from tools.kinds.mcp.definitions import Definition

LOCK_FILE = "mcp.lock.json"
VERSION = 1
Locked = Mapping[str, list[Definition]]


def to_lock(servers: Mapping[str, Iterable[Definition]]) -> str:
    """Return the text of the file; entries of tools.yaml by their names."""
    listed = {
        server: {
            one.name: {
                "description": one.description,
                "parameters": one.parameters,
                "annotations": one.annotations,
                "digest": one.digest,
            }
            for one in sorted(definitions, key=lambda one: one.name)
        }
        for server, definitions in sorted(servers.items())
    }
    document = {"version": VERSION, "servers": listed}
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"


def from_lock(data: Any) -> dict[str, list[Definition]]:
    """Return the inverse.

    Raises:
        ValueError: it is not as `to_lock` writes it.
    """
    try:
        file = _LockFile.model_validate(data)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"])
        raise ValueError(f"{where}: {first['msg']}") from None
    return {
        server: [_definition(server, name, tool) for name, tool in tools.items()]
        for server, tools in file.servers.items()
    }


def _definition(server: str, name: str, tool: "_LockedTool") -> Definition:
    made = Definition(name, tool.description, tool.parameters, tool.annotations)
    if made.digest != tool.digest:
        raise ValueError(f"{server}.{name} was changed by hand, so its digest does not fit")
    return made


class _LockedTool(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)

    description: str
    parameters: dict[str, Any]
    annotations: dict[str, Any]
    digest: str


class _LockFile(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)

    version: Literal[1]
    servers: dict[str, dict[str, _LockedTool]]
