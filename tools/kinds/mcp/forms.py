"""What an MCP server asks its user before a call goes on (`input_required`), and the answers.

https://modelcontextprotocol.io/specification/2026-07-28/client/elicitation
"""

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
from tools.forms import Form, FormsNeeded, Reply
from tools.schema import JsonSchema

MAX_FORMS = 20
MAX_FORM_BYTES = 65_536
NOTHING: dict[str, Any] = {"type": "object", "properties": {}}


def forms_needed(result: InputRequiredResult) -> FormsNeeded:
    """What a server asks.

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
        return Form(key, params.message, NOTHING, params.url)
    try:
        JsonSchema(params.requested_schema)
    except ToolDefinitionError as error:
        raise PermanentError(f"what the tool asks its user is no form: {error}") from error
    return Form(key, params.message, params.requested_schema)


def reply_again(needed: FormsNeeded, reply: Reply | None) -> Reply | None:
    """The reply to a server that has forgotten its questions, and asks the same ones again."""
    if reply is None or tuple(one.form for one in reply.filled) != needed.forms:
        return None
    return Reply(reply.filled, needed.state)


def responses_of(reply: Reply | None) -> InputResponses | None:
    """What a person has said, as a server takes it."""
    if reply is None:
        return None
    found: InputResponses = {}
    for one in reply.filled:
        # of a page there is nothing to send but that it was done
        content = one.content or None
        action = "decline" if one.content is None else "accept"
        found[one.form.key] = ElicitResult.model_validate({"action": action, "content": content})
    return found
