"""From a Python signature to a JSON schema, and from a model's arguments to Python values."""

import inspect
import re
import typing
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, NotRequired

import jsonschema_rs
from pydantic import ConfigDict, TypeAdapter, ValidationError
from pydantic.fields import FieldInfo
from pydantic_core import to_jsonable_python
from typing_extensions import TypedDict

from tools.context import ToolContext
from tools.errors import ArgumentsError, SchemaReferenceError, ToolDefinitionError
from tools.schemas.schema_types import Types, are_texts
from tools.text.suggest import nearest

# names of the dialects that the validator has built in; naming one fetches nothing
DIALECT = re.compile(
    r"https?://json-schema\.org/(draft-0[4-7]/schema#?|draft/20(19-09|20-12)/schema)"
)
# where a schema describes properties beside its own
PARTS = frozenset({"$ref", "allOf", "anyOf", "oneOf", "if", "dependentSchemas"})
# as texts; more digits than these are not read
INTEGER = re.compile(r"\s*[+-]?[0-9]{1,4000}\s*")
NUMBER = re.compile(r"\s*[+-]?([0-9]{1,300}(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]{1,2})?\s*")
REFERENCE_KEYS = frozenset({"$ref", "$dynamicRef", "$recursiveRef"})


@dataclass(frozen=True, slots=True)
class Signature:
    """What a typed function says of its arguments."""

    description: str
    # JSON schema of an object
    parameters: dict[str, Any]
    adapter: TypeAdapter[dict[str, Any]]
    # the parameter that takes the ToolContext, if there is one
    context_parameter: str | None
    # of the schema's parts
    types: Types

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
        except Exception as error:
            # annotations are code, and may raise anything
            raise ToolDefinitionError(f"{name} has no readable signature: {error}") from error
        fields: dict[str, Any] = {}
        context = None
        for key, parameter in parameters.items():
            if hints.get(key) is ToolContext:
                context = key
                continue
            _require_named_and_typed(name, parameter, hints)
            required = parameter.default is parameter.empty
            fields[key] = hints[key] if required else NotRequired[hints[key]]
        adapter = _adapter(name, fields)
        schema = _json_schema(name, adapter)
        description, notes = read_docstring(function.__doc__ or "")
        by_alias = {_alias(hint) or key: key for key, hint in hints.items()}
        for name_of_field, field in schema["properties"].items():
            key = by_alias[name_of_field]
            field.pop("title", None)
            if key in notes:
                field.setdefault("description", notes[key])
            default = parameters[key].default
            if default is not inspect.Parameter.empty:
                field.setdefault("default", to_jsonable_python(default, fallback=str))
        return cls(description, schema, adapter, context, Types(schema))

    def check(self, arguments: dict[str, Any]) -> dict[str, Any]:
        """Return the handler's keyword arguments, coerced ("5" is a 5).

        Without those that are null and may be left out: models write null for what they leave out.

        Raises:
            ArgumentsError: it names every argument that is missing, unknown or wrong.
        """
        given = without_nulls(plain_keys(arguments, self.parameters), self.parameters, self.types)
        try:
            return self.adapter.validate_python(given)
        except ValidationError as error:
            known = list(self.parameters["properties"])
            complaints = [_complaint(e["type"], e["loc"], e["msg"], known) for e in error.errors()]
            raise ArgumentsError("; ".join(complaints)) from None


def _alias(hint: Any) -> str | None:
    """Return the name that models know a parameter by, where that is another one."""
    notes = getattr(hint, "__metadata__", ())
    return next((one.alias for one in notes if isinstance(one, FieldInfo)), None)


def _require_named_and_typed(
    function: str, parameter: inspect.Parameter, hints: dict[str, Any]
) -> None:
    if parameter.kind not in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY):
        raise ToolDefinitionError(
            f"{function}: parameter {parameter} cannot be given by name; "
            "write it as a plain parameter"
        )
    if parameter.name not in hints:
        key = parameter.name
        raise ToolDefinitionError(f"{function}: parameter {key} has no type; write {key}: str, say")


def _adapter(name: str, fields: dict[str, Any]) -> TypeAdapter[dict[str, Any]]:
    # the fields are known only now, which no type checker follows
    make: Any = TypedDict
    shape = make(name, fields)
    shape.__pydantic_config__ = ConfigDict(
        extra="forbid", coerce_numbers_to_str=True, arbitrary_types_allowed=False
    )
    try:
        return TypeAdapter(shape)
    except Exception as error:
        # pydantic's own errors, and those of a user's pattern or type
        raise ToolDefinitionError(_no_schema(name, error)) from error


def _json_schema(name: str, adapter: TypeAdapter[dict[str, Any]]) -> dict[str, Any]:
    try:
        schema = adapter.json_schema()
    except Exception as error:
        raise ToolDefinitionError(_no_schema(name, error)) from error
    schema.pop("title", None)
    schema.setdefault("properties", {})
    return schema


def _no_schema(name: str, error: Exception) -> str:
    reason = (str(error) or type(error).__name__).splitlines()[0]
    return f"{name}: its types make no JSON schema: {reason}"


class JsonSchema:
    """A check against a JSON schema that a user wrote."""

    def __init__(self, schema: dict[str, Any]) -> None:
        """Build the check.

        Raises:
            ToolDefinitionError: this is no JSON schema of an object.
            SchemaReferenceError: it refers to something outside itself.
        """
        if schema.get("type", "object") != "object":
            message = f"parameters must describe an object, not {schema['type']!r}"
            raise ToolDefinitionError(message, "parameters", "bad-value")
        for reference in _outside_references(schema):
            raise SchemaReferenceError(reference)
        self.parameters = {"type": "object", "properties": {}, **schema}
        self._types = Types(self.parameters)
        # arguments that are not described are an error, unless the schema allows them; one that has
        # them in parts of itself describes more than its own properties
        others = "unevaluatedProperties" if schema.keys() & PARTS else "additionalProperties"
        try:
            self._validator = jsonschema_rs.validator_for(
                {others: False, **self.parameters}, retriever=_refuse
            )
        except (jsonschema_rs.ValidationError, ValueError) as error:
            message = getattr(error, "message", None) or str(error)
            text = f"parameters are no JSON schema: {message}"
            raise ToolDefinitionError(text, "parameters", "bad-value") from error

    def check(self, arguments: dict[str, Any]) -> dict[str, Any]:
        """Return the arguments, coerced where a text stands for a number or a truth value.

        Without those that are null and may be left out: models write null for what they leave out.

        Raises:
            ArgumentsError: it names every argument that is missing, unknown or wrong.
        """
        properties: dict[str, Any] = self.parameters["properties"]
        given = without_nulls(plain_keys(arguments, self.parameters), self.parameters, self._types)
        coerced = {key: self._coerce(value, properties.get(key)) for key, value in given.items()}
        complaints = []
        for error in self._validator.iter_errors(coerced):
            where = ".".join(str(part) for part in error.instance_path)
            complaints.append(f"{where}: {error.message}".lstrip(": "))
        if complaints:
            raise ArgumentsError("; ".join(complaints))
        return coerced

    def _coerce(self, value: Any, schema: Any) -> Any:
        """Return a value as its schema wants it, where a text stands for it, or it for a text."""
        types, plain = self._types.of(schema) or frozenset(), self._types.resolved(schema)
        match value, plain:
            case list(), {"items": items}:
                return [self._coerce(one, items) for one in value]
            case dict(), {"properties": dict() as inner}:
                return {key: self._coerce(one, inner.get(key)) for key, one in value.items()}
        match value:
            case str() if "string" not in types:
                return _from_text(value, types)
            case int() | float() if not isinstance(value, bool) and are_texts(types):
                return str(value)
            case float() if "integer" in types and "number" not in types and value.is_integer():
                # the same to JSON; a path or a query must not have 5.0
                return int(value)
            case _:
                return value


def plain_keys(arguments: dict[str, Any], parameters: dict[str, Any]) -> dict[str, Any]:
    """Return arguments with trimmed names, where only so the parameter is known."""
    known = parameters["properties"]
    if arguments.keys() <= known.keys():
        return arguments
    return {
        key.strip()
        if key not in known and key.strip() in known and key.strip() not in arguments
        else key: value
        for key, value in arguments.items()
    }


def without_nulls(
    arguments: dict[str, Any], parameters: dict[str, Any], types: Types
) -> dict[str, Any]:
    """Return arguments without those that are null, may be left out, and may not be null."""
    if None not in arguments.values():
        return arguments
    known, required = parameters["properties"], parameters.get("required", ())
    return {
        key: value
        for key, value in arguments.items()
        if value is not None or key in required or not _is_no_null(known.get(key), types)
    }


def _is_no_null(schema: Any, types: Types) -> bool:
    """Return whether a schema says what a value is, and null is none of that."""
    found = types.of(schema)
    return found is not None and "null" not in found


def _outside_references(schema: Any) -> Iterator[str]:
    """Yield what a schema refers to beside itself: the validator would fetch it."""
    if isinstance(schema, list):
        for inner in schema:
            yield from _outside_references(inner)
    if not isinstance(schema, dict):
        return
    for key, value in schema.items():
        if isinstance(value, str) and _leads_outside(key, value):
            yield value
        elif key not in ("const", "enum", "default", "examples"):
            yield from _outside_references(value)


def _leads_outside(key: str, value: str) -> bool:
    if key == "$schema":
        return DIALECT.fullmatch(value) is None
    return key in REFERENCE_KEYS and not value.startswith("#")


def _refuse(uri: str) -> Any:
    """Return the validator's retriever: nothing is fetched, whatever a schema says."""
    raise ValueError(f"{uri} is not fetched")


def read_docstring(text: str) -> tuple[str, dict[str, str]]:
    """Read a docstring's description, and what its `Args:` section says of each parameter."""
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


def _complaint(kind: str, loc: tuple[int | str, ...], message: str, known: list[str]) -> str:
    where = ".".join(str(part) for part in loc)
    if kind == "missing":
        return f"{where}: is missing"
    if kind != "extra_forbidden" or len(loc) != 1:
        return f"{where}: {message}"
    near = nearest(where, known)
    if near is not None:
        return f"{where}: is unknown; did you mean {near!r}?"
    takes = f"it takes {', '.join(known)}" if known else "it takes no arguments"
    return f"{where}: is unknown; {takes}"


def _from_text(text: str, types: frozenset[str]) -> Any:
    """Return what a text stands for, of some types; itself if it is none of them."""
    if "integer" in types and INTEGER.fullmatch(text):
        return int(text)
    if "number" in types and NUMBER.fullmatch(text):
        return float(text)
    if "boolean" in types:
        return {"true": True, "false": False}.get(text.lower(), text)
    return text
