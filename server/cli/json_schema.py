"""JSON Schemas of the files that operators write, made from their shapes.

Editors check and complete with them.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from agents.config import FLAT_COST_KEYS, AgentConfig
from agents.providers.scripted import Script
from crew.config.binding import inside, model_of
from crew.config.crew_file import CrewConfig, Settings
from crew.config.yaml_reader import read
from tools.config import Shape, ToolsFile, resolve

KINDS: dict[str, type[Shape]] = {
    "crew": CrewConfig,
    "agent": AgentConfig,
    "tools": ToolsFile,
    "script": Script,
}
# has every key, and so an example of each
FULL = Path(__file__).parent / "starters" / "full"
# of a list or a mapping, the first so many
SHOWN = 2
DRAFT = "https://json-schema.org/draft/2020-12/schema"


def schema_of(kind: str) -> dict[str, Any]:
    """The schema of a kind of file (a key of KINDS)."""
    schema = KINDS[kind].model_json_schema()
    shapes = {KINDS[kind].__name__: schema, **schema.get("$defs", {})}
    # those of its own file first
    for model, key, value in (
        found
        for other in sorted(KINDS, key=lambda other: other != kind)
        for found in _examples(other)
    ):
        if model in shapes:
            shapes[model]["properties"][key].setdefault("examples", [_shortened(value)])
    _open(
        schema,
        KINDS[kind].ignored | (frozenset(FLAT_COST_KEYS) if kind == "agent" else frozenset()),
    )
    for name, inner in schema.get("$defs", {}).items():
        _open(inner, Settings.ignored if name == "Settings" else frozenset())
    return {"$schema": DRAFT, **schema}


def _open(schema: dict[str, Any], ignored: frozenset[str]) -> None:
    """What is read beside the fields: `x-` keys, and keys of go-agentic."""
    if schema.get("additionalProperties") is False:
        schema["patternProperties"] = {"^x-": True}
        for name in sorted(ignored):
            schema["properties"].setdefault(
                name, {"description": "Of go-agentic.", "deprecated": True}
            )
    for field in schema.get("properties", {}).values():
        # a null means "not given" everywhere
        if "default" in field and "type" in field and isinstance(field["type"], str):
            field["type"] = [field["type"], "null"]


def _examples(kind: str) -> Iterator[tuple[str, str, Any]]:
    """The name of a shape, a key of it, and a value that the full starter gives it."""
    files = sorted((FULL / "agents").glob("*.yaml")) if kind == "agent" else [FULL / f"{kind}.yaml"]
    for file in files:
        yield from _found(read(file.name, file.read_bytes()).data, KINDS[kind])


def _found(data: Any, kind: Any) -> Iterator[tuple[str, str, Any]]:
    model = model_of(kind)
    if isinstance(data, dict):
        for key, value in data.items():
            if model is not None and key in model.model_fields:
                yield model.__name__, key, resolve(value)
            yield from _found(value, inside(kind, key))
    elif isinstance(data, list):
        for place, value in enumerate(data):
            yield from _found(value, inside(kind, place))


def _shortened(value: Any) -> Any:
    match value:
        case dict():
            return {key: _shortened(value[key]) for key in list(value)[:SHOWN]}
        case list():
            return [_shortened(inner) for inner in value[:SHOWN]]
        case _:
            return value
