"""What the types of shapes say: the keys at a path, and where else a key belongs."""

import types
import typing
from collections.abc import Iterator
from typing import Any

from agents.config import AgentConfig
from crew.config.crew_file import CrewConfig
from crew.config.document import YamlPath
from tools.yaml_shape import Shape

# the two files whose keys are mistaken for each other's
FILES: dict[type[Shape], str] = {CrewConfig: "crew.yaml", AgentConfig: "agents/<id>.yaml"}
OTHER_FILE: dict[type[Shape], type[Shape]] = {CrewConfig: AgentConfig, AgentConfig: CrewConfig}


def inside(kind: Any, part: str | int) -> Any:
    """The type of what is in a value of a type."""
    model = model_of(kind)
    if model is not None:
        field = model.model_fields.get(str(part))
        return field.annotation if field else None
    for option in _options(kind):
        if typing.get_origin(option) in (dict, list):
            return typing.get_args(option)[-1]
    return None


def model_of(kind: Any) -> type[Shape] | None:
    """The shape among the options of a type."""
    for option in _options(kind):
        if isinstance(option, type) and issubclass(option, Shape):
            return option
    return None


def _options(kind: Any) -> tuple[Any, ...]:
    """A type without what pydantic is given about it; the parts of a union."""
    origin = typing.get_origin(kind)
    if origin is typing.Annotated:
        return _options(typing.get_args(kind)[0])
    if origin in (typing.Union, types.UnionType):
        return tuple(option for part in typing.get_args(kind) for option in _options(part))
    return (kind,)


def fields_at(kind: Any, path: YamlPath) -> tuple[list[str], frozenset[str], dict[str, str]]:
    """The keys of the mapping at a path: known, without effect, and words of other frameworks."""
    for part in path:
        kind = inside(kind, part)
    model = model_of(kind)
    if model is None:
        return [], frozenset(), {}
    return list(model.model_fields), model.ignored, model.synonyms


def placed_elsewhere(kind: type[Shape], path: YamlPath) -> str | None:
    """Where an unknown key would be a known one: below, beside or above, or in another file."""
    key = str(path[-1])
    for part in path[:-1]:
        inner = inside(kind, part)
        if inner is None:
            return None
    below = _below(kind, path[:-1])
    found = [place for place, model in places(kind, "") if key in model.model_fields]
    near = [place for place in found if place and place in below]
    if near:
        return f"under {near[0].rpartition('.')[2]}"
    if found:
        return f"under {found[0]}" if found[0] else "at the top of the file"
    other = OTHER_FILE.get(kind)
    for place, model in places(other, ""):
        if other is not None and key in model.model_fields:
            return f"in {FILES[other]}, under {place}" if place else f"in {FILES[other]}"
    return None


def _below(kind: Any, path: YamlPath) -> list[str]:
    """The shapes directly in the mapping at a path, as dotted paths from the top."""
    dotted = ".".join(str(part) for part in path)
    for part in path:
        kind = inside(kind, part)
    model = model_of(kind)
    names = model.model_fields if model is not None else ()
    return [f"{dotted}.{name}" if dotted else name for name in names]


def places(kind: Any, dotted: str) -> Iterator[tuple[str, type[Shape]]]:
    """Every shape in a type, with its dotted path from the top."""
    model = model_of(kind)
    if model is None:
        return
    yield dotted, model
    for name, field in model.model_fields.items():
        place = f"{dotted}.{name}" if dotted else name
        annotation = field.annotation
        if typing.get_origin(annotation) is dict:
            annotation = typing.get_args(annotation)[-1]
            place = f"{place}.<name>"
        if typing.get_origin(annotation) is list:
            annotation = typing.get_args(annotation)[-1]
        yield from places(annotation, place)
