"""JSON Schemas of the files that operators write, made from their shapes.

Editors check and complete with them.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from agents.config import FLAT_COST_KEYS, AgentConfig
from agents.providers.scripted import Script
from crew.config.files.yaml_reader import read
from crew.config.keys.crew_file import CrewConfig
from crew.config.shapes import find_shape, find_shapes, inside
from crew.rehearsal.keys.file import RehearsalFile
from tools.config import ToolsFile
from tools.schemas.yaml_shape import Shape, resolve

KINDS: dict[str, type[Shape]] = {
    "crew": CrewConfig,
    "agent": AgentConfig,
    "tools": ToolsFile,
    "script": Script,
    "rehearsal": RehearsalFile,
}
# has every key, and so an example of each
FULL = Path(__file__).parent.parent / "cli" / "starting" / "starters" / "full"
# of a list or a mapping, so many entries are an example
EXAMPLE_ENTRIES = 2
DRAFT = "https://json-schema.org/draft/2020-12/schema"


def schema_of(kind: str) -> dict[str, Any]:
    """Return the schema of a kind of file (a key of KINDS)."""
    schema = KINDS[kind].model_json_schema()
    shapes = {KINDS[kind].__name__: schema, **schema.get("$defs", {})}
    # those of its own file first
    kinds = sorted(KINDS, key=lambda other: other != kind)
    classes = {shape.__name__: shape for shape in _all_shapes(KINDS[kind])}
    for model, key, value in (found for other in kinds for found in _examples(other)):
        # kinds of tools have keys in common
        for name in [name for name, one in classes.items() if issubclass(one, _owner(model, key))]:
            shapes[name]["properties"][key].setdefault("examples", [_shortened(value)])
    ignored = {name: shape.ignored for name, shape in classes.items()}
    ignored["AgentConfig"] = AgentConfig.ignored | frozenset(FLAT_COST_KEYS)
    for name, inner in shapes.items():
        _allow_ignored(inner, ignored.get(name, frozenset()))
    return {"$schema": DRAFT, **schema}


def _owner(model: type[Shape], key: str) -> type[Shape]:
    """Return the shape that a key is written in: this one, or one that it is made from."""
    name = _aliases(model).get(key, key)
    owners = [one for one in model.__mro__ if name in vars(one).get("__annotations__", {})]
    return owners[-1]


def _aliases(model: type[Shape]) -> dict[str, str]:
    """Return fields that are written otherwise, since Python reserves their names."""
    return {one.alias: name for name, one in model.model_fields.items() if one.alias is not None}


def _all_shapes(kind: Any) -> Iterator[type[Shape]]:
    """Yield a shape and the shapes of its fields, at any depth."""
    for model in find_shapes(kind):
        yield model
        for name in model.fields_by_key():
            yield from _all_shapes(inside(model, name))
    # of a list, of a mapping
    for place in (0, ""):
        if (item := inside(kind, place)) is not None:
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


def _examples(kind: str) -> Iterator[tuple[type[Shape], str, Any]]:
    """Yield a shape, a key of it, and a value that the full starter gives it."""
    folders = {"agent": FULL / "agents", "rehearsal": FULL / "tests"}
    files = sorted(folders[kind].glob("*.yaml")) if kind in folders else [FULL / f"{kind}.yaml"]
    for file in files:
        yield from _values(read(file.name, file.read_bytes()).data, KINDS[kind])


def _values(data: Any, kind: Any) -> Iterator[tuple[type[Shape], str, Any]]:
    model = find_shape(kind, data)
    if isinstance(data, dict):
        for key, value in data.items():
            if model is not None and key in model.fields_by_key():
                yield model, key, resolve(value)
            yield from _values(value, inside(kind, key, data))
    elif isinstance(data, list):
        for place, value in enumerate(data):
            yield from _values(value, inside(kind, place, data))


def _shortened(value: Any) -> Any:
    match value:
        case dict():
            return {key: _shortened(value[key]) for key in list(value)[:EXAMPLE_ENTRIES]}
        case list():
            return [_shortened(inner) for inner in value[:EXAMPLE_ENTRIES]]
        case _:
            return value
