"""JSON Schemas of the files that operators write, made from their shapes.

Editors check and complete with them.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from agents.config import FLAT_COST_KEYS, AgentConfig
from agents.providers.scripted import Script
from crew.config.crew_file import CrewConfig
from crew.config.shapes import inside, model_of
from crew.config.yaml_reader import read
from tools.config import ToolsFile
from tools.yaml_shape import Shape, resolve

KINDS: dict[str, type[Shape]] = {
    "crew": CrewConfig,
    "agent": AgentConfig,
    "tools": ToolsFile,
    "script": Script,
}
# has every key, and so an example of each
FULL = Path(__file__).parent / "starters" / "full"
# of a list or a mapping, so many entries are an example
EXAMPLE_ENTRIES = 2
DRAFT = "https://json-schema.org/draft/2020-12/schema"


def schema_of(kind: str) -> dict[str, Any]:
    """The schema of a kind of file (a key of KINDS)."""
    schema = KINDS[kind].model_json_schema()
    shapes = {KINDS[kind].__name__: schema, **schema.get("$defs", {})}
    # those of its own file first
    kinds = sorted(KINDS, key=lambda other: other != kind)
    for model, key, value in (found for other in kinds for found in _examples(other)):
        if model in shapes:
            shapes[model]["properties"][key].setdefault("examples", [_shortened(value)])
    ignored = {shape.__name__: shape.ignored for shape in _all_shapes(KINDS[kind])}
    ignored["AgentConfig"] = AgentConfig.ignored | frozenset(FLAT_COST_KEYS)
    for name, inner in shapes.items():
        _allow_ignored(inner, ignored.get(name, frozenset()))
    return {"$schema": DRAFT, **schema}


def _all_shapes(kind: Any) -> Iterator[type[Shape]]:
    """A shape and the shapes of its fields, at any depth."""
    model = model_of(kind)
    if model is not None:
        yield model
        for name in model.model_fields:
            yield from _all_shapes(inside(model, name))
    elif (item := inside(kind, 0)) is not None:
        yield from _all_shapes(item)


def _allow_ignored(schema: dict[str, Any], ignored: frozenset[str]) -> None:
    """Allow what is read beside the fields: `x-` keys, and keys of go-agentic."""
    if schema.get("additionalProperties") is False:
        schema["patternProperties"] = {"^x-": True}
        for name in sorted(ignored):
            note = {"description": "Of go-agentic; has no effect here.", "deprecated": True}
            schema["properties"].setdefault(name, note)
    for field in schema.get("properties", {}).values():
        # a null means "not given" everywhere
        if "default" in field and "type" in field and isinstance(field["type"], str):
            field["type"] = [field["type"], "null"]


def _examples(kind: str) -> Iterator[tuple[str, str, Any]]:
    """The name of a shape, a key of it, and a value that the full starter gives it."""
    files = [FULL / f"{kind}.yaml"]
    if kind == "agent":
        files = sorted((FULL / "agents").glob("*.yaml"))
    for file in files:
        yield from _values(read(file.name, file.read_bytes()).data, KINDS[kind])


def _values(data: Any, kind: Any) -> Iterator[tuple[str, str, Any]]:
    model = model_of(kind)
    if isinstance(data, dict):
        for key, value in data.items():
            if model is not None and key in model.model_fields:
                yield model.__name__, key, resolve(value)
            yield from _values(value, inside(kind, key))
    elif isinstance(data, list):
        for place, value in enumerate(data):
            yield from _values(value, inside(kind, place))


def _shortened(value: Any) -> Any:
    match value:
        case dict():
            return {key: _shortened(value[key]) for key in list(value)[:EXAMPLE_ENTRIES]}
        case list():
            return [_shortened(inner) for inner in value[:EXAMPLE_ENTRIES]]
        case _:
            return value
