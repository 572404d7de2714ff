"""Keys and values of the files, from their JSON schemas; pure."""

from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from crew.config.files.document import YamlPath
from server.authoring.schemas import schema_of

# how deep references lead
MAX_STEPS = 20
BOUNDS = {"minimum": "≥", "exclusiveMinimum": ">", "maximum": "≤", "exclusiveMaximum": "<"}


def file_kind(name: str) -> str | None:
    """Return the kind of a file by its name in the folder; None: of no known one."""
    path = Path(name)
    if path.suffix not in (".yaml", ".yml"):
        return None
    if path.parts[0] == "agents" and len(path.parts) > 1:
        return "agent"
    if path.parts[0] == "tests" and len(path.parts) > 1:
        return "rehearsal"
    return path.stem if path.stem in ("crew", "tools", "script") and len(path.parts) == 1 else None


@cache
def _schema(kind: str) -> dict[str, Any]:
    return schema_of(kind)


def nodes_at(kind: str, path: YamlPath) -> list[Mapping[str, Any]]:
    """Return the schemas of what stands at a path; several where it may be one of them."""
    root = _schema(kind)
    nodes = list(_resolved(root, root))
    for part in path:
        found: list[Mapping[str, Any]] = []
        for node in nodes:
            found += _inside(root, node, part)
        nodes = found
    return nodes


def keys_at(kind: str, path: YamlPath) -> dict[str, Mapping[str, Any]]:
    """Return the keys of a mapping, each with its schema."""
    found: dict[str, Mapping[str, Any]] = {}
    for node in nodes_at(kind, path):
        for key, inner in node.get("properties", {}).items():
            if not inner.get("deprecated"):
                found.setdefault(key, inner)
    return found


def values_at(kind: str, path: YamlPath) -> list[str]:
    """Return the values that a schema names."""
    found: dict[str, None] = {}
    for node in nodes_at(kind, path):
        for value in (*node.get("enum", ()), *([node["const"]] if "const" in node else ())):
            if isinstance(value, str):
                found[value] = None
        if node.get("type") == "boolean" or "boolean" in (node.get("type") or ()):
            found |= {"true": None, "false": None}
    return list(found)


def explained(kind: str, path: YamlPath) -> str:
    """Return what a key means, as Markdown; "" where it is not known."""
    if not path or not isinstance(path[-1], str):
        return ""
    root, lines = _schema(kind), []
    for node in nodes_at(kind, path[:-1]):
        inner = node.get("properties", {}).get(path[-1])
        if inner is None:
            continue
        lines.append(" ".join(str(inner.get("description", "")).split()))
        facts = [*_types(root, inner), *_bounds(inner)]
        if "default" in inner and not isinstance(inner["default"], dict | list):
            default = inner["default"]
            shown = {None: "none", True: "true", False: "false"}.get(default, default)
            facts.append(f"default `{shown}`")
        lines.append(", ".join(facts))
        break
    return "\n\n".join(line for line in lines if line)


def _types(root: Mapping[str, Any], node: Mapping[str, Any]) -> Iterator[str]:
    names: dict[str, None] = {}
    for one in _resolved(root, node):
        if "enum" in one:
            names[" \\| ".join(f"`{value}`" for value in one["enum"] if value is not None)] = None
            continue
        kinds = one.get("type", ())
        for kind in [kinds] if isinstance(kinds, str) else kinds:
            if kind != "null":
                names[kind] = None
    if names:
        yield " or ".join(names)


def _bounds(node: Mapping[str, Any]) -> Iterator[str]:
    for one in (node, *node.get("anyOf", ())):
        for key, mark in BOUNDS.items():
            if key in one:
                yield f"{mark} {one[key]:g}"


def _resolved(
    root: Mapping[str, Any], node: Mapping[str, Any], steps: int = 0
) -> Iterator[Mapping[str, Any]]:
    """Yield a schema without references and alternatives."""
    if steps > MAX_STEPS or not isinstance(node, Mapping):
        return
    if (reference := node.get("$ref")) is not None:
        yield from _resolved(root, root["$defs"][reference.rpartition("/")[2]], steps + 1)
        return
    alternatives = [*node.get("anyOf", ()), *node.get("oneOf", ()), *node.get("allOf", ())]
    for one in alternatives:
        yield from _resolved(root, one, steps + 1)
    if not alternatives or "properties" in node:
        yield node


def _inside(
    root: Mapping[str, Any], node: Mapping[str, Any], part: str | int
) -> Iterator[Mapping[str, Any]]:
    if isinstance(part, int):
        if "items" in node:
            yield from _resolved(root, node["items"])
        return
    if part in node.get("properties", {}):
        yield from _resolved(root, node["properties"][part])
        return
    for inner in (node.get("additionalProperties"), *node.get("patternProperties", {}).values()):
        if isinstance(inner, Mapping):
            yield from _resolved(root, inner)
