"""From a Python signature to a JSON schema, and from a model's arguments to Python values."""

import difflib
import inspect
import re
import typing
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, NotRequired

import jsonschema_rs
from pydantic import ConfigDict, TypeAdapter, ValidationError
from pydantic_core import to_jsonable_python
from typing_extensions import TypedDict

from tools.errors import ArgumentsError, ToolDefinitionError


@dataclass(frozen=True, slots=True)
class Signature:
    """What a typed function says of itself."""

    description: str
    parameters: dict[str, Any]
    adapter: TypeAdapter[dict[str, Any]]

    @classmethod
    def of(cls, function: Callable[..., Any]) -> "Signature":
        """Read a function's signature and docstring (Google style `Args:`).

        Raises:
            ToolDefinitionError: it has *args, **kwargs, positional-only or untyped parameters,
                or a type without a schema.
        """
        name = getattr(function, "__name__", repr(function))
        try:
            hints = typing.get_type_hints(function, include_extras=True)
            parameters = inspect.signature(function).parameters
        except Exception as error:  # annotations are code, and may raise anything
            raise ToolDefinitionError(f"{name} has no readable signature: {error}") from error
        fields: dict[str, Any] = {}
        for key, parameter in parameters.items():
            if parameter.kind not in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY):
                raise ToolDefinitionError(
                    f"{name}: parameter {parameter} cannot be given by name; write it as a plain parameter"
                )
            if key not in hints:
                raise ToolDefinitionError(
                    f"{name}: parameter {key} has no type; write {key}: str, say"
                )
            fields[key] = (
                hints[key] if parameter.default is parameter.empty else NotRequired[hints[key]]
            )
        make: Any = TypedDict  # the fields are known only now, which no type checker follows
        shape = make(name, fields)
        shape.__pydantic_config__ = ConfigDict(
            extra="forbid", coerce_numbers_to_str=True, arbitrary_types_allowed=False
        )
        try:
            adapter: TypeAdapter[dict[str, Any]] = TypeAdapter(shape)
            schema = adapter.json_schema()
        except (
            Exception
        ) as error:  # pydantic's own errors, and those of a pattern or a type of somebody's
            raise ToolDefinitionError(
                f"{name}: its types make no JSON schema: {(str(error) or type(error).__name__).splitlines()[0]}"
            ) from error
        description, notes = read_docstring(function.__doc__ or "")
        schema.pop("title", None)
        for key, field in schema.setdefault("properties", {}).items():
            field.pop("title", None)
            if key in notes:
                field.setdefault("description", notes[key])
            if parameters[key].default is not inspect.Parameter.empty:
                field.setdefault(
                    "default", to_jsonable_python(parameters[key].default, fallback=str)
                )
        return cls(description, schema, adapter)

    def check(self, arguments: dict[str, Any]) -> dict[str, Any]:
        """The handler's keyword arguments, coerced ("5" is a 5).

        Raises:
            ArgumentsError: it names every argument that is missing, unknown or wrong.
        """
        try:
            return self.adapter.validate_python(arguments)
        except ValidationError as error:
            known = list(self.parameters["properties"])
            raise ArgumentsError(
                "; ".join(_complaint(e["type"], e["loc"], e["msg"], known) for e in error.errors())
            ) from None


class JsonSchema:
    """A check against a JSON schema that was written by hand."""

    def __init__(self, schema: dict[str, Any]) -> None:
        """Raises ToolDefinitionError if this is no JSON schema of an object."""
        if schema.get("type", "object") != "object":
            raise ToolDefinitionError(
                f"parameters must describe an object, not {schema['type']!r}", "parameters"
            )
        self.parameters = {"type": "object", "properties": {}, **schema}
        try:
            # arguments that nobody described are an error, unless the schema says otherwise
            self._validator = jsonschema_rs.validator_for(
                {"additionalProperties": False, **self.parameters}
            )
        except jsonschema_rs.ValidationError as error:
            raise ToolDefinitionError(
                f"parameters are no JSON schema: {error.message}", "parameters"
            ) from error

    def check(self, arguments: dict[str, Any]) -> dict[str, Any]:
        """The arguments, coerced where a text stands for a number or a truth value.

        Raises:
            ArgumentsError: it names every argument that is missing, unknown or wrong.
        """
        properties: dict[str, Any] = self.parameters["properties"]
        coerced = {k: _coerce(v, properties.get(k, {})) for k, v in arguments.items()}
        complaints = [
            f"{'.'.join(str(part) for part in e.instance_path)}: {e.message}".lstrip(": ")
            for e in self._validator.iter_errors(coerced)
        ]
        if complaints:
            raise ArgumentsError("; ".join(complaints))
        return coerced


def read_docstring(text: str) -> tuple[str, dict[str, str]]:
    """A docstring's description, and what its `Args:` section says of each parameter."""
    body, _, rest = inspect.cleandoc(text).partition("\nArgs:")
    notes: dict[str, str] = {}
    last = None
    for line in rest.splitlines():
        if line.strip() and not line.startswith(" "):
            break
        if found := re.match(r"^ {2,4}(\w+)(?: \([^)]*\))?: (.*)", line):
            last = found[1]
            notes[last] = found[2].strip()
        elif last and line.strip():
            notes[last] += " " + line.strip()
    description = re.split(r"\n(?:Returns|Raises|Yields|Examples?):", body)[0]
    return description.strip(), notes


def nearest(word: str, known: Iterable[str]) -> str | None:
    """The known word that `word` was probably meant to be."""
    close = difflib.get_close_matches(
        word.lower(), (lowered := {k.lower(): k for k in known}), n=1, cutoff=0.6
    )
    return lowered[close[0]] if close else None


def _complaint(kind: str, loc: tuple[int | str, ...], message: str, known: list[str]) -> str:
    where = ".".join(str(part) for part in loc)
    if kind == "missing":
        return f"{where}: is missing"
    if kind == "extra_forbidden" and len(loc) == 1:
        near = nearest(where, known)
        takes = f"it takes {', '.join(known)}" if known else "it takes no arguments"
        return f"{where}: is unknown; " + (f"did you mean {near!r}?" if near else takes)
    return f"{where}: {message}"


def _coerce(value: Any, schema: Any) -> Any:
    wanted = schema.get("type") if isinstance(schema, dict) else None
    if not isinstance(value, str):
        return (
            str(value)
            if wanted == "string"
            and isinstance(value, (int, float))
            and not isinstance(value, bool)
            else value
        )
    try:
        match wanted:
            case "integer":
                return int(value)
            case "number":
                return float(value)
            case "boolean":
                return {"true": True, "false": False}.get(value.lower(), value)
            case _:
                return value
    except ValueError:
        return value
