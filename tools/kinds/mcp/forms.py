"""What an MCP server asks its user before a call goes on (`input_required`), and the answers.

https://modelcontextprotocol.io/specification/2026-07-28/client/elicitation
"""

import hashlib
import json
from typing import Any

from mcp_types import (
    ElicitRequest,
    ElicitRequestURLParams,
    ElicitResult,
    InputRequiredResult,
    InputResponses,
)

from tools.errors import PermanentError, ToolDefinitionError
from tools.forms import Form, FormReply, FormsNeeded
from tools.schemas.schema import JsonSchema

MAX_FORMS = 20
MAX_FORM_BYTES = 65_536
# of the types of JSON
FIELDS = frozenset({"string", "number", "integer", "boolean"})
NOTHING: dict[str, Any] = {"type": "object", "properties": {}}


def forms_needed(result: InputRequiredResult) -> FormsNeeded:
    """Return what a server asks.

    Raises:
        PermanentError: something that is not offered, or that is no form.
    """
    requests = result.input_requests or {}
    if len(requests) > MAX_FORMS:
        raise PermanentError(f"the tool asks its user more than {MAX_FORMS} questions")
    forms = []
    for key, request in requests.items():
        if not isinstance(request, ElicitRequest):
            raise PermanentError(f"the tool asks for {request.method}, which is not offered here")
        forms.append(_form(key, request))
    size = sum(len(json.dumps([one.message, one.schema, one.url])) for one in forms)
    if size > MAX_FORM_BYTES:
        raise PermanentError(f"what the tool asks its user has more than {MAX_FORM_BYTES} bytes")
    return FormsNeeded(tuple(forms), result.request_state)


def _form(key: str, request: ElicitRequest) -> Form:
    params = request.params
    if isinstance(params, ElicitRequestURLParams):
        if not params.url.startswith(("https://", "http://")):
            raise PermanentError("the tool sends its user to an address that is no web page")
        return _form_of(key, params.message, NOTHING, params.url)
    try:
        properties = JsonSchema(params.requested_schema).parameters["properties"]
    except ToolDefinitionError as error:
        raise PermanentError(f"what the tool asks its user is no form: {error}") from error
    for name, one in properties.items():
        if not isinstance(one, dict) or not _is_field(one):
            raise PermanentError(f"what the tool asks its user is no form: {name} is no field")
    return _form_of(key, params.message, params.requested_schema)


def _is_field(schema: dict[str, Any]) -> bool:
    """Return whether a value is a text, a number, a truth value, or a list of texts."""
    items = schema.get("items")
    if schema.get("type") == "array":
        return isinstance(items, dict) and items.get("type", "string") == "string"
    return schema.get("type", "string") in FIELDS


def _form_of(key: str, message: str, schema: dict[str, Any], url: str = "") -> Form:
    known = json.dumps([key, message, schema, url], sort_keys=True)
    return Form(key, message, schema, url, hashlib.sha256(known.encode()).hexdigest())


def reply_again(needed: FormsNeeded, reply: FormReply | None) -> FormReply | None:
    """Return the reply to a server that has forgotten its questions and repeats them."""
    if reply is None or [one.form.digest for one in reply.filled] != [
        one.digest for one in needed.forms
    ]:
        return None
    return FormReply(reply.filled, needed.state)


def responses_of(reply: FormReply | None) -> InputResponses | None:
    """Return what a person has said, as a server takes it."""
    if reply is None:
        return None
    found: InputResponses = {}
    for one in reply.filled:
        # of a page there is nothing to send but that it was done
        content = one.content if not one.form.url else None
        action = "decline" if one.content is None else "accept"
        found[one.form.key] = ElicitResult.model_validate({"action": action, "content": content})
    return found
