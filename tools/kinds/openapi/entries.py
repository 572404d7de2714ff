"""An operation of a document -> an entry of the kind http; pure."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from tools.config.http import SAFE_METHODS, HttpTool
from tools.config.openapi import OpenApiTool
from tools.definition import NOT_IN_NAMES, tool_name
from tools.errors import ToolDefinitionError
from tools.kinds.openapi.document import ApiDocument, Json, Operation, require_mapping, wrong
from tools.kinds.openapi.schemas import Schemas
from tools.schemas.places import PLACE

MAX_DESCRIPTION = 1000
PATH_PARAMETER = re.compile(r"\{([^{}]*)\}")
# of which a parameter says nothing (OpenAPI 3.1, 4.8.12.1)
IGNORED_HEADERS = frozenset({"accept", "content-type", "authorization"})
JSON_TYPE = re.compile(r"application/(?:[\w.+-]+\+)?json\b", re.IGNORECASE)


def entries(name: str, config: OpenApiTool, data: Any) -> dict[str, HttpTool]:
    """Return the http entries that an openapi entry stands for, by the names of their tools.

    Args:
        name: of the entry.
        config: it.
        data: of its document.

    Raises:
        ToolDefinitionError: the document, or an operation, makes none.
    """
    document = ApiDocument(data)
    for header, value in config.headers.items():
        if PLACE.search(value):
            text = f"an argument cannot stand in the header {header} of all operations"
            raise ToolDefinitionError(text, ("headers", header), "bad-value")
    for key in config.effects:
        if key not in config.operations:
            text = f"{key!r} is none of the operations above"
            raise ToolDefinitionError(text, ("effects", key), "bad-value")
    prefix = config.prefix_of(name)
    made: dict[str, HttpTool] = {}
    for place, wanted in enumerate(config.operations):
        try:
            operation = document.find(wanted)
            tool = tool_name(prefix, _words(operation))
            entry = _entry(document, operation, config, wanted)
        except ToolDefinitionError as error:
            text = f"{config.document}: {error}"
            raise ToolDefinitionError(text, ("operations", place), error.code) from error
        if tool in made:
            text = f"{wanted} makes a second tool {tool}"
            raise ToolDefinitionError(text, ("operations", place), "tool-twice")
        made[tool] = entry
    return made


def _words(operation: Operation) -> str:
    """Return what an operation's tool is named after."""
    return operation.id or f"{operation.method.lower()}{operation.path}"


@dataclass(slots=True)
class _Parts:
    """What the parameters and the body of an operation come to."""

    # arguments by the names of the parameters
    path: dict[str, str] = field(default_factory=dict)
    query: dict[str, str] = field(default_factory=dict)
    headers: dict[str, str] = field(default_factory=dict)
    body: str | None = None
    properties: Json = field(default_factory=dict)
    required: list[str] = field(default_factory=list)

    def argument(self, name: str, where: str) -> str:
        """Return a new argument's name, as a place can have it."""
        plain = NOT_IN_NAMES.sub("_", name).strip("_") or where
        plain = f"_{plain}" if plain[0] in "0123456789-" else plain
        while plain in self.properties:
            plain = f"{plain}_{where}"
        return plain


def _entry(
    document: ApiDocument, operation: Operation, config: OpenApiTool, wanted: str
) -> HttpTool:
    schemas = Schemas(document)
    parts = _Parts()
    for parameter in _parameters(document, operation):
        _add_parameter(parts, parameter, schemas, operation, config)
    _add_body(parts, schemas, operation)
    parameters = {
        "type": "object",
        "properties": parts.properties,
        "required": parts.required,
        "additionalProperties": False,
    }
    if schemas.definitions:
        parameters["$defs"] = schemas.definitions
    shared = config.model_dump(include=set(type(config).model_fields) & set(HttpTool.model_fields))
    given = {
        **{key: value for key, value in shared.items() if key in config.model_fields_set},
        "kind": "http",
        "description": _description(operation),
        "parameters": parameters,
        "method": operation.method,
        "url": config.server.rstrip("/") + _path(operation, parts.path),
        "headers": {**config.headers, **parts.headers},
        "query": parts.query,
        "body": parts.body,
        "effect": config.effects.get(wanted, config.effect),
    }
    return HttpTool.model_validate({k: v for k, v in given.items() if v not in (None, {})})


def _path(operation: Operation, places: Mapping[str, str]) -> str:
    """Return the path with places for its parameters."""

    def place(found: re.Match[str]) -> str:
        if found[1] not in places:
            raise wrong(f"{operation.place} does not describe its parameter {found[1]}")
        return places[found[1]]

    return PATH_PARAMETER.sub(place, operation.path)


def _description(operation: Operation) -> str:
    texts = [operation.data.get(key) for key in ("summary", "description")]
    said = "\n".join(text.strip() for text in texts if isinstance(text, str) and text.strip())
    return said[:MAX_DESCRIPTION] or operation.place


def _parameters(document: ApiDocument, operation: Operation) -> Iterator[Json]:
    """Yield each parameter once: that of the method in place of the path's."""
    found: dict[tuple[str, str], Json] = {}
    for given in operation.parameters:
        parameter = document.follow(given, f"{operation.place}: a parameter")
        name, where = parameter.get("name"), parameter.get("in")
        if not isinstance(name, str) or not isinstance(where, str):
            raise wrong(f"{operation.place}: a parameter has no name, or no `in`")
        found[name, where] = parameter
    yield from found.values()


def _add_parameter(
    parts: _Parts, parameter: Json, schemas: Schemas, operation: Operation, config: OpenApiTool
) -> None:
    name, where = parameter["name"], parameter["in"]
    given = {header.lower() for header in config.headers}
    if where == "header" and name.lower() in IGNORED_HEADERS | given:
        return
    schema = schemas.of(parameter.get("schema", {}), f"{operation.place}: {name}")
    why = _cannot_be_sent(parameter, schema, schemas)
    if why:
        if parameter.get("required") is True:
            raise wrong(f"{operation.place} requires {name}, {why}")
        return
    argument = parts.argument(name, where)
    place = f"{{{argument}}}"
    match where:
        case "path":
            parts.path[name] = place
        case "query":
            parts.query[name] = place
        case _:
            parts.headers[name] = place
    told = parameter.get("description")
    if isinstance(schema, dict) and isinstance(told, str) and "description" not in schema:
        schema = {**schema, "description": told[:MAX_DESCRIPTION]}
    parts.properties[argument] = schema
    if where == "path" or parameter.get("required") is True:
        parts.required.append(argument)


def _cannot_be_sent(parameter: Json, schema: Any, schemas: Schemas) -> str:
    """Return why a parameter cannot be sent as the document wants it; "" if it can."""
    where, style = parameter["in"], parameter.get("style")
    if where not in ("path", "query", "header"):
        return f"which is in a {where}"
    if "content" in parameter:
        return "which is encoded in a way of its own"
    if style not in (None, "form" if where == "query" else "simple"):
        return f"which is written in the style {style}"
    kinds = _kinds(schema, schemas)
    if "object" in kinds or ("array" in kinds and where != "query"):
        return "which is an object or a list in a place for one text"
    if "array" in kinds and parameter.get("explode") is False:
        return "which is a list in one text"
    return ""


def _kinds(schema: Any, schemas: Schemas) -> set[str]:
    """Return the JSON types that a schema names."""
    if not isinstance(schema, dict):
        return set()
    if isinstance(reference := schema.get("$ref"), str):
        return _kinds(schemas.definitions[reference.rpartition("/")[2]], schemas)
    kind = schema.get("type", [])
    found = {one for one in (kind if isinstance(kind, list) else [kind]) if isinstance(one, str)}
    for key in ("allOf", "anyOf", "oneOf"):
        for inner in schema.get(key, ()):
            found |= _kinds(inner, schemas)
    return found


def _add_body(parts: _Parts, schemas: Schemas, operation: Operation) -> None:
    if "requestBody" not in operation.data:
        return
    where = f"{operation.place}: requestBody"
    body = schemas.document.follow(operation.data["requestBody"], where)
    content = require_mapping(body.get("content"), where)
    medium = next((one for kind, one in content.items() if JSON_TYPE.match(kind)), None)
    is_required = body.get("required") is True
    if medium is None or operation.method in SAFE_METHODS:
        if is_required:
            kinds = ", ".join(content) or "nothing"
            text = f"{operation.place} wants a body of {kinds}; only JSON is sent"
            raise wrong(f"{text}, and none with {', '.join(sorted(SAFE_METHODS))}")
        return
    argument = parts.argument("body", "content")
    schema = schemas.of(require_mapping(medium, where).get("schema", {}), where)
    parts.properties[argument] = schema
    parts.body = f"{{{argument}}}"
    if is_required:
        parts.required.append(argument)
