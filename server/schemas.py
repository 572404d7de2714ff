"""JSON Schemas of the files that operators write, made from their shapes; editors check and complete with them."""

from typing import Any

from agents.config import FLAT_COST_KEYS, AgentConfig
from agents.providers.scripted import Script
from crew.config import CrewConfig, Settings
from tools.config import Shape, ToolsFile

KINDS: dict[str, type[Shape]] = {"crew": CrewConfig, "agent": AgentConfig, "tools": ToolsFile, "script": Script}
DRAFT = "https://json-schema.org/draft/2020-12/schema"


def schema_of(kind: str) -> dict[str, Any]:
    """The schema of a kind of file (a key of KINDS)."""
    schema = KINDS[kind].model_json_schema()
    _open(schema, KINDS[kind].ignored | (frozenset(FLAT_COST_KEYS) if kind == "agent" else frozenset()))
    for name, inner in schema.get("$defs", {}).items():
        _open(inner, Settings.ignored if name == "Settings" else frozenset())
    return {"$schema": DRAFT, **schema}


def _open(schema: dict[str, Any], ignored: frozenset[str]) -> None:
    """What is read beside the fields: `x-` keys, and keys of go-agentic."""
    if schema.get("additionalProperties") is False:
        schema["patternProperties"] = {"^x-": True}
        for name in sorted(ignored):
            schema["properties"].setdefault(name, {"description": "Of go-agentic.", "deprecated": True})
    for field in schema.get("properties", {}).values():
        # a null means "not given" everywhere
        if "default" in field and "type" in field and isinstance(field["type"], str):
            field["type"] = [field["type"], "null"]
