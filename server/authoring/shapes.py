"""Keys and values of the files, from their JSON schemas; pure."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
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


@dataclass(frozen=True, slots=True)
class FillIn:
    """A text with places that are to be filled in."""

    text: str = ""
    # where these are in the text, in order
    stops: tuple[int, ...] = ()

    def __add__(self, other: "FillIn") -> "FillIn":
        stops = (len(self.text) + one for one in other.stops)
        return FillIn(self.text + other.text, (*self.stops, *stops))


BLANK = FillIn("", (0,))


def new_shapes(kind: str, path: YamlPath, indent: int) -> Iterator[tuple[str, FillIn]]:
    """Yield what a mapping at a path must have: its keys, or an entry's below a name.

    Args:
        kind: of the file.
        path: of the mapping, which has nothing yet.
        indent: of further lines, beside that of the first.
    """
    for node in _demanding(kind, path):
        yield "new", _mapping(kind, path, node, indent)
    entry = (*path, "*")
    nodes = _demanding(kind, entry) if _has_names(kind, path) else []
    for node in nodes:
        inner = "\n" + " " * (indent + 2)
        constants = [one["const"] for one in node["properties"].values() if "const" in one]
        label = f"new ({constants[0]})" if constants and len(nodes) > 1 else "new"
        yield label, BLANK + FillIn(f":{inner}") + _mapping(kind, entry, node, indent + 2)


def shape_behind(kind: str, path: YamlPath, indent: int) -> FillIn:
    """Return what must stand behind a key, where that is more than one value; else an empty one.

    Args:
        kind: of the file.
        path: of the key.
        indent: of the line with the key, beside that of the first line.
    """
    below = "\n" + " " * (indent + 2)
    match _demanding(kind, path), _demanding(kind, (*path, 0)), _demanding(kind, (*path, "*")):
        case [node], _, _:
            return FillIn(below) + _mapping(kind, path, node, indent + 2)
        case [], [node], _:
            return FillIn(f"{below}- ") + _mapping(kind, (*path, 0), node, indent + 4)
        case [], [], [node] if _has_names(kind, path):
            inner = FillIn(f":{below}  ") + _mapping(kind, (*path, "*"), node, indent + 4)
            return FillIn(below) + BLANK + inner
    if _has_names(kind, path) and (inner := shape_behind(kind, (*path, "*"), indent + 2)).text:
        return FillIn(below) + BLANK + FillIn(":") + inner
    return FillIn()


def _mapping(kind: str, path: YamlPath, node: Mapping[str, Any], indent: int) -> FillIn:
    """Return the required keys of a mapping, a line each; the first begins where it is put."""
    made = FillIn()
    for key in node["required"]:
        inner = node["properties"][key]
        shape = shape_behind(kind, (*path, key), indent)
        if not shape.text:
            is_list = any("items" in one for one in nodes_at(kind, (*path, key)))
            given = FillIn("[") + BLANK + FillIn("]") if is_list else BLANK
            shape = FillIn(" ") + (FillIn(str(inner["const"])) if "const" in inner else given)
        line = FillIn(f"{key}:") + shape
        made = made + FillIn("\n" + " " * indent) + line if made.text else line
    return made


def _demanding(kind: str, path: YamlPath) -> list[Mapping[str, Any]]:
    """Return the schemas of mappings at a path that have required keys."""
    return [one for one in nodes_at(kind, path) if one.get("required") and "properties" in one]


def _has_names(kind: str, path: YamlPath) -> bool:
    """Return whether the keys of a mapping are names that people choose."""
    return any(
        "properties" not in one and ("patternProperties" in one or "additionalProperties" in one)
        for one in nodes_at(kind, path)
    )


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
