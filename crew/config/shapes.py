"""What the types of shapes say: the keys at a path, where else a key belongs, what is expected."""

import functools
import re
import types
import typing
from collections.abc import Iterator
from typing import Any

from pydantic_core import ErrorDetails

from agents.config import AgentConfig
from crew.config.files.document import YamlPath
from crew.config.keys.crew_file import CrewConfig
from tools.kinds.command.arguments import listed_words
from tools.schemas.yaml_shape import Shape

# the two files whose keys are mistaken for each other's
FILES: dict[type[Shape], str] = {CrewConfig: "crew.yaml", AgentConfig: "agents/<id>.yaml"}
OTHER_FILE: dict[type[Shape], type[Shape]] = {CrewConfig: AgentConfig, AgentConfig: CrewConfig}

EXPECTED = {
    "int_parsing": "a whole number",
    "int_type": "a whole number",
    "int_from_float": "a whole number",
    "float_parsing": "a number",
    "float_type": "a number",
    "bool_parsing": "true or false",
    "bool_type": "true or false",
    "string_type": "a text",
    "list_type": "a list",
    "dict_type": "a mapping (`key: value` lines)",
    "model_type": "a mapping (`key: value` lines)",
    "model_attributes_type": "a mapping (`key: value` lines)",
}
# keys whose value is one name
ONE_NAME = frozenset({"target", "entry_point", "next_agent", "on_wait_timeout", "id", "provider"})
# keys whose value is a list of a program's arguments
WORDS = frozenset({"argv", "args"})
NAME_CHARACTER = re.compile(r"[A-Za-z0-9_-]")
NAMES = re.compile(r"\w[\w-]{0,40}(\s*,\s*\w[\w-]{0,40})*")
FOUND = {dict: "a mapping", list: "a list", type(None): "nothing"}
# a number with its unit, as people write durations and sizes
WITH_UNIT = re.compile(
    r"\d+(\.\d+)?\s*(ms|s|sec|seconds?|m|min|minutes?|h|hours?|kb|mb|%)", re.IGNORECASE
)


def inside(kind: Any, part: str | int, value: Any = None) -> Any:
    """Return the type of what is in a value of a type."""
    model = find_shape(kind, value)
    if model is not None and _item_of(kind, part) is None:
        field = model.fields_by_key().get(str(part))
        return field.annotation if field else None
    return _item_of(kind, part)


def _item_of(kind: Any, part: str | int) -> Any:
    """Return the type at a place of a list, or a key of a mapping, among a type's options."""
    for option in _options(kind):
        if typing.get_origin(option) is (list if isinstance(part, int) else dict):
            return typing.get_args(option)[-1]
    return None


def find_shapes(kind: Any) -> list[type[Shape]]:
    """Return the shapes among the options of a type."""
    options = _options(kind)
    return [one for one in options if isinstance(one, type) and issubclass(one, Shape)]


def find_shape(kind: Any, value: Any = None) -> type[Shape] | None:
    """Return the shape of a value of a type; of several, the one that the value's `kind` names."""
    models = find_shapes(kind)
    if len(models) < 2:
        return models[0] if models else None
    named = value.get("kind") if isinstance(value, dict) else None
    for model in models:
        if named in typing.get_args(model.model_fields["kind"].annotation):
            return model
    return None


@functools.cache
def _options(kind: Any) -> tuple[Any, ...]:
    """Return a type without what pydantic is given about it; the parts of a union."""
    origin = typing.get_origin(kind)
    if origin is typing.Annotated:
        return _options(typing.get_args(kind)[0])
    if origin in (typing.Union, types.UnionType):
        return tuple(option for part in typing.get_args(kind) for option in _options(part))
    return (kind,)


def _at(kind: Any, path: YamlPath, data: Any) -> tuple[Any, Any]:
    """Return the type, and the data, at a path."""
    for part in path:
        kind = inside(kind, part, data)
        is_there = isinstance(data, dict) and part in data
        is_there = is_there or (isinstance(data, list) and isinstance(part, int))
        data = data[part] if is_there else None
    return kind, data


def fields_at(
    kind: Any, path: YamlPath, data: Any
) -> tuple[list[str], frozenset[str], dict[str, str]]:
    """Return the keys of the mapping at a path.

    Known, without effect, and words of other frameworks.
    """
    model = find_shape(*_at(kind, path, data))
    if model is None:
        return [], frozenset(), {}
    return list(model.fields_by_key()), model.ignored, model.synonyms


def placed_elsewhere(kind: type[Shape], path: YamlPath, data: Any) -> str | None:
    """Return where an unknown key would be a known one.

    Below, beside or above, or in another file.
    """
    key = str(path[-1])
    below = _below(kind, path[:-1], data)
    found = [place for place, model in places(kind, "") if key in model.fields_by_key()]
    near = [place for place in found if place and place in below]
    if near:
        return f"under {near[0].rpartition('.')[2]}"
    if found:
        return f"under {found[0]}" if found[0] else "at the top of the file"
    other = OTHER_FILE.get(kind)
    for place, model in places(other, ""):
        if other is not None and key in model.fields_by_key():
            return f"in {FILES[other]}, under {place}" if place else f"in {FILES[other]}"
    return None


def _below(kind: Any, path: YamlPath, data: Any) -> list[str]:
    """Return the shapes directly in the mapping at a path, as dotted paths from the top."""
    dotted = ".".join(str(part) for part in path)
    model = find_shape(*_at(kind, path, data))
    names = model.fields_by_key() if model is not None else ()
    return [f"{dotted}.{name}" if dotted else name for name in names]


def places(kind: Any, dotted: str) -> Iterator[tuple[str, type[Shape]]]:
    """Yield every shape in a type, with its dotted path from the top."""
    for model in find_shapes(kind):
        yield dotted, model
        for name, field in model.fields_by_key().items():
            place = f"{dotted}.{name}" if dotted else name
            annotation = field.annotation
            if typing.get_origin(annotation) is dict:
                annotation = typing.get_args(annotation)[-1]
                place = f"{place}.<name>"
            if typing.get_origin(annotation) is list:
                annotation = typing.get_args(annotation)[-1]
            yield from places(annotation, place)


def explain_name(given: Any) -> str:
    """Return what a name may hold, and what in this one it may not."""
    text = "a name is 1 to 128 letters, digits, '_' and '-'"
    if not isinstance(given, str):
        return text
    wrong = next((char for char in given if not NAME_CHARACTER.fullmatch(char)), None)
    if wrong is None:
        return text
    if wrong == " ":
        return f"{text}, without spaces"
    shown = f"{wrong!r} " if wrong.isprintable() else ""
    return f"{text}; {shown}(U+{ord(wrong):04X}) cannot stand in it"


def expectation(detail: ErrorDetails, path: YamlPath) -> str:
    """Return what was expected, and what was found."""
    given, kind = detail["input"], detail["type"]
    if kind not in EXPECTED:
        return lowered(detail["msg"])
    text = f"expected {EXPECTED[kind]}"
    # the value itself may have come from the environment, and be a secret
    if found := FOUND.get(type(given)):
        text = f"{text}; found {found}"
    if kind == "string_type" and isinstance(given, list):
        if path[-1] in ONE_NAME or "defaults" in path:
            return f"{text}; write one name, without brackets"
        return f"{text}; put quotes around a text in [brackets]"
    if kind == "list_type" and isinstance(given, str):
        if given.startswith("-"):
            return f"{text}; write a space behind each -"
        if path[-1] == "status":
            return f"{text} of numbers, such as [200, 404]"
        if path[-1] in WORDS and " " in given:
            words = listed_words(given)
            return f"{text} of words; write {words}" if words else f"{text} of words"
        is_short = NAMES.fullmatch(given) or WITH_UNIT.fullmatch(given)
        return f"{text}; write [{given}]" if is_short else text
    if isinstance(given, str) and WITH_UNIT.fullmatch(given):
        return f"{text} without a unit; the key's name has the unit"
    return text


def lowered(text: str) -> str:
    """Return a message of pydantic as it stands within a sentence."""
    return (text[:1].lower() + text[1:]).replace("input should be", "must be")
