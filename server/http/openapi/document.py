"""The OpenAPI document of this API."""

import importlib.metadata
import re
from functools import lru_cache
from typing import Any, Literal

from pydantic import TypeAdapter

from crew.journal.query import ID, MAX_USER_ID
from server.http.api import OPERATIONS
from server.http.errors import TITLES
from server.http.openapi.answers import ProblemAnswer
from server.http.openapi.events import RunEventDocument
from server.http.operations import (
    HTML,
    IMAGE,
    JSON,
    MARKDOWN,
    NDJSON,
    PLAIN,
    SSE,
    YAML,
    ApiOperation,
)

# what every guarded address may answer
GUARDED = (400, 401, 403, 421, 429)
# of the parts of a path: an id unless it is said
NAME = re.compile(r"\{(\w+)\}")
PATH_PATTERNS = {
    "grant_id": "^[A-Za-z0-9]{1,64}$",
    "user": f"^[^\\u0000-\\u001f]{{1,{MAX_USER_ID}}}$",
}
REF = "#/components/schemas/{model}"
EVENT_KEY = "RunEvent"
EVENT = REF.format(model=EVENT_KEY)
# the bytes of a file
FILE = {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}}

TEXTS = (PLAIN, MARKDOWN, HTML, NDJSON)


@lru_cache(maxsize=1)
def openapi_document() -> dict[str, Any]:
    """Return the document."""
    shapes: dict[str, Any] = {"problem": ProblemAnswer, "event": RunEventDocument}
    for one in OPERATIONS:
        if one.body not in (None, bytes):
            shapes[f"{one.method} {one.address}"] = one.body
        for status, answer in one.answers.items():
            if answer is not None and answer[1] is not None:
                shapes[f"{one.method} {one.address} {status}"] = answer[1]
    mode: Literal["validation"] = "validation"
    inputs = [(key, mode, TypeAdapter(shape)) for key, shape in shapes.items()]
    found, definitions = TypeAdapter.json_schemas(inputs, ref_template=REF)
    schemas = {key: schema for (key, _), schema in found.items()}
    for name, schema in definitions.get("$defs", {}).items():
        if name.endswith("Body"):
            _without_defaults(schema)
    paths: dict[str, Any] = {}
    for one in OPERATIONS:
        paths.setdefault(one.address, {})[one.method] = _operation(one, schemas)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "crew",
            "version": importlib.metadata.version("crewline"),
            "description": "Runs of a crew of AI agents: start, follow, answer, cancel.",
        },
        "paths": paths,
        "components": {
            "schemas": {**definitions.get("$defs", {}), EVENT_KEY: schemas["event"]},
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
    }


def _without_defaults(schema: dict[str, Any]) -> None:
    """Leave the defaults of a request's keys to their descriptions.

    What makes types of a document takes a key with a default for one that is always there.
    """
    for field in schema.get("properties", {}).values():
        default = field.pop("default", None)
        if default not in (None, "", [], {}, False):
            field["description"] = f"{field.get('description', '')} Default: {default}.".strip()


def _operation(one: ApiOperation, schemas: dict[str, Any]) -> dict[str, Any]:
    key = f"{one.method} {one.address}"
    responses: dict[str, Any] = {}
    for status, answer in one.answers.items():
        responses[str(status)] = {"description": "Nothing more comes."}
        if answer is not None:
            responses[str(status)] = _answer(answer[0], schemas.get(f"{key} {status}"))
    problems = (*one.problems, *(GUARDED if one.scope is not None else (400, 421)))
    for status in sorted(set(problems)):
        schema = {"application/problem+json": {"schema": schemas["problem"]}}
        responses.setdefault(str(status), {"description": TITLES[status], "content": schema})
    document: dict[str, Any] = {
        "operationId": "_".join([one.method, *re.findall(r"\w+", one.address)]),
        "responses": responses,
        "parameters": [
            *map(_path_parameter, NAME.findall(one.address)),
            *(parameter.document for parameter in one.parameters),
        ],
        "security": [{"token": []}] if one.scope is not None else [],
    }
    summary, more = one.texts
    scope = f"Needs the scope `{one.scope}`." if one.scope is not None else ""
    document["summary"] = summary
    if description := "\n\n".join(filter(None, (more, scope))):
        document["description"] = description
    if one.body is not None:
        content = {JSON: {"schema": schemas[key]}} if one.body is not bytes else FILE
        document["requestBody"] = {"required": True, "content": content}
    return document


def _path_parameter(name: str) -> dict[str, Any]:
    schema = {"type": "string", "pattern": PATH_PATTERNS.get(name, ID)}
    return {"name": name, "in": "path", "required": True, "schema": schema}


def _answer(media_type: str, schema: dict[str, Any] | None) -> dict[str, Any]:
    content: dict[str, Any] = {}
    if media_type != SSE and schema is not None:
        content[JSON] = {"schema": schema}
    if media_type == IMAGE:
        content[media_type] = {"schema": {"type": "string", "format": "binary"}}
    # in the order of the operation, so that the document is the same each time it is made
    for text in (one for one in media_type.split(", ") if one in TEXTS):
        content[text] = {"schema": {"type": "string"}}
    if media_type == YAML:
        content[media_type] = {"schema": {"type": "object"}}
    if media_type == SSE:
        # OpenAPI 3.1 has no word for what each event of a stream holds; 3.2 calls it so
        content[SSE] = {"itemSchema": _event_schema(schema or {"$ref": EVENT})}
    return {"description": "Done.", "content": content}


def _event_schema(data: dict[str, Any]) -> dict[str, Any]:
    """Return the schema of an event of a stream, with that of its data."""
    content = {"type": "string", "contentMediaType": JSON, "contentSchema": data}
    return {"type": "object", "properties": {"id": {"type": "string"}, "data": content}}
