"""The shape of tools.yaml, and the base of every shape that is read from YAML."""

import types
import typing
from typing import Annotated, Any, ClassVar, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, JsonValue, model_validator

from tools.tool import Effect


class Plain(str):
    """A scalar without quotes in YAML: its text as written.

    The field it is for says what it means.
    """

    __slots__ = ()


def resolve(value: Any) -> Any:
    """Plain scalars, at any depth, as YAML 1.2's core schema reads them; for fields of any type."""
    match value:
        case Plain():
            return _scalar(value)
        case dict():
            return {k: resolve(v) for k, v in value.items()}
        case list():
            return [resolve(v) for v in value]
        case _:
            return value


def _scalar(text: Plain) -> Any:
    if text.lower() in ("true", "false") and text in (
        "true",
        "True",
        "TRUE",
        "false",
        "False",
        "FALSE",
    ):
        return text.lower() == "true"
    for kind in (int, float):
        try:
            # int() and float() take more than YAML does: 1_000, and words such as "nan"
            if "_" not in text and text[-1:] in "0123456789.":
                return kind(text)
        except ValueError:
            continue
    return str(text)


JsonObject = Annotated[dict[str, JsonValue], BeforeValidator(resolve)]
Name = Annotated[str, Field(pattern=r"^[A-Za-z0-9_-]{1,128}$")]


class Shape(BaseModel):
    """A mapping in YAML: an unknown key is an error, one that begins with `x-` is ignored.

    Null means not given.
    """

    model_config = ConfigDict(
        extra="forbid", frozen=True, use_attribute_docstrings=True, allow_inf_nan=False
    )

    # keys of go-agentic that mean nothing here: left out, and the loader warns of each
    ignored: ClassVar[frozenset[str]] = frozenset()

    @model_validator(mode="before")
    @classmethod
    def _meant(cls, data: Any) -> Any:
        if not isinstance(data, dict):
            return data
        fields = cls.model_fields
        meant = {
            key: value
            for key, value in data.items()
            if not key.startswith("x-") and key not in cls.ignored
        }
        for key, field in fields.items():
            value = meant.get(key)
            if value is None and key in meant and not _nullable(field.annotation):
                del meant[key]
            elif isinstance(value, dict) and _named_shapes(field.annotation):
                meant[key] = {
                    name: inner
                    for name, inner in value.items()
                    if inner is not None and not name.startswith("x-")
                }
        return meant


def _named_shapes(annotation: Any) -> bool:
    """Whether this is a mapping of names to shapes, or to lists of them.

    In it too, null means not given.
    """
    if typing.get_origin(annotation) is not dict:
        return False
    inner = typing.get_args(annotation)[-1]
    inner = typing.get_args(inner)[0] if typing.get_origin(inner) is list else inner
    return isinstance(inner, type) and issubclass(inner, Shape)


def _nullable(annotation: Any) -> bool:
    return typing.get_origin(annotation) in (typing.Union, types.UnionType) and type(
        None
    ) in typing.get_args(annotation)


class PythonTool(Shape):
    """A Python function."""

    kind: Literal["python"]
    """What runs the tool."""
    function: str
    """`file.py:name`, relative to the crew's folder, or `package.module:name`."""
    description: str | None = None
    """What the model is told of the tool; the function's docstring unless given."""
    parameters: JsonObject | None = None
    """JSON schema of the arguments; made from the function's signature unless given."""
    timeout_seconds: Annotated[float, Field(gt=0, le=3600)] | None = None
    """Of one attempt; `settings.tool_execution_timeout_seconds` unless given."""
    retries: Annotated[int, Field(ge=0, le=20)] | None = None
    """After the first attempt; `settings.tool_retries` unless given."""
    effect: Effect | None = None
    """`read` and `idempotent` may be tried again; `once` never, once it may have acted.

    `idempotent` unless given.
    """
    requires_approval: bool | None = None
    """A person must approve each call: the run pauses before it."""


# A union of one until the http, command and mcp kinds join it.
ToolConfig = PythonTool
ToolConfigs = dict[Name, ToolConfig]


class ToolsFile(Shape):
    """tools.yaml: the tools of a crew."""

    tools: ToolConfigs
    """Tools by name."""
