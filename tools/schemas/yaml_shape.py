"""The base of every shape that is read from YAML: scalars as written, unknown keys refused."""

import re
import types
import typing
from typing import Annotated, Any, ClassVar, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    JsonValue,
    model_validator,
)
from pydantic.fields import FieldInfo
from pydantic_core import PydanticCustomError

from tools.schemas.described import Described

TRUTH_VALUES = {
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
}


class Plain(str):
    """A scalar without quotes in YAML, as text; the field that it is for decides what it means."""

    __slots__ = ()


def resolve(value: Any) -> Any:
    """Resolve plain scalars, at any depth, by YAML 1.2's core schema; for fields of any type."""
    match value:
        case Plain():
            return _resolve_scalar(value)
        case dict():
            return {key: resolve(inner) for key, inner in value.items()}
        case list():
            return [resolve(inner) for inner in value]
        case _:
            return value


def plain(value: Any) -> Any:
    """Return what `resolve` gives, with Python's own texts, also in keys: to be written again."""
    match resolve(value):
        case dict() as found:
            return {str(key): plain(inner) for key, inner in found.items()}
        case list() as found:
            return [plain(inner) for inner in found]
        case str() as text:
            return str(text)
        case other:
            return other


def _resolve_scalar(text: Plain) -> Any:
    if text in TRUTH_VALUES:
        return TRUTH_VALUES[text]
    for kind in (int, float):
        try:
            # int() and float() take more than YAML does: 1_000, and words such as "nan"
            if "_" not in text and text[-1:] in "0123456789.":
                return kind(text)
        except ValueError:
            continue
    return str(text)


def form_of(value: Any) -> str:
    """Return what a value is in YAML.

    For fields that take several forms, each with a Tag of these.
    """
    match value:
        # when it is written again, it is a shape
        case dict() | BaseModel():
            return "mapping"
        case list():
            return "list"
        case _:
            return "scalar"


JsonObject = Annotated[dict[str, JsonValue], BeforeValidator(resolve)]


def _refuse_ignored(name: str) -> str:
    if name.startswith("x-"):
        raise ValueError("a name that begins with x- is ignored; choose another")
    return name


Name = Annotated[str, Field(pattern=r"^[A-Za-z0-9_-]{1,128}$"), AfterValidator(_refuse_ignored)]


def _require_pattern(text: str) -> str:
    try:
        re.compile(text)
    except re.error as error:
        raise ValueError(f"{text!r} is no regular expression: {error}") from None
    return text


# the types of such errors
BETWEEN_KEYS, BAD_PATTERN = "between_keys", "bad_pattern"
# a regular expression
Pattern = Annotated[str, AfterValidator(_require_pattern)]


def between_keys(text: str, *path: str | int) -> PydanticCustomError:
    """Build the error of a rule between several keys of a shape.

    Args:
        text: what is wrong, and what to do.
        path: from the shape to the key that should change.
    """
    return PydanticCustomError(BETWEEN_KEYS, "{text}", {"text": text, "path": path})


class Shape(Described):
    """A mapping in YAML: an unknown key is an error, one that begins with `x-` is ignored.

    Null means not given, except where a field has a meaning for it.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)

    # keys of go-agentic that have no effect here: left out, and the loader warns of each
    ignored: ClassVar[frozenset[str]] = frozenset()
    # words of other frameworks for keys of ours: what an unknown key was probably meant to be
    synonyms: ClassVar[dict[str, str]] = {}
    # mappings whose names others have made: one that begins with `x-` is a name there
    foreign: ClassVar[frozenset[str]] = frozenset()

    @classmethod
    def fields_by_key(cls) -> dict[str, FieldInfo]:
        """Return the fields by their keys: Python reserves the names of some."""
        return {field.alias or name: field for name, field in cls.model_fields.items()}

    @model_validator(mode="before")
    @classmethod
    def _drop_absent(cls, data: Any) -> Any:
        if not isinstance(data, dict):
            return data
        given = {key: value for key, value in data.items() if cls._is_read(key)}
        for name, field in cls.model_fields.items():
            key = field.alias if field.alias in given else name
            value = given.get(key)
            if value is None and key in given and not _is_nullable(field.annotation):
                del given[key]
            elif isinstance(value, dict) and (form := _form_of_entries(field.annotation)):
                read = {
                    name: inner
                    for name, inner in value.items()
                    if key in cls.foreign or not name.startswith("x-")
                }
                # a name alone is one with nothing in it
                given[key] = {
                    name: {} if inner is None and form == "mapping" else inner
                    for name, inner in read.items()
                    if inner is not None or form == "mapping"
                }
        return given

    @classmethod
    def _is_read(cls, key: str) -> bool:
        return not key.startswith("x-") and key not in cls.ignored


def _form_of_entries(annotation: Any) -> Literal["mapping", "list"] | None:
    """Return what a field maps names to: shapes, or lists of them; None for anything else."""
    if typing.get_origin(annotation) is not dict:
        return None
    inner = typing.get_args(annotation)[-1]
    form: Literal["mapping", "list"] = "list" if typing.get_origin(inner) is list else "mapping"
    if typing.get_origin(inner) in (list, Annotated):
        inner = typing.get_args(inner)[0]
    options = typing.get_args(inner) or (inner,)
    are_shapes = all(isinstance(one, type) and issubclass(one, Shape) for one in options)
    return form if are_shapes else None


def _is_nullable(annotation: Any) -> bool:
    is_union = typing.get_origin(annotation) in (typing.Union, types.UnionType)
    return is_union and type(None) in typing.get_args(annotation)
