"""Pauses as forms, which a client shows its person; what is filled in decides."""

from collections.abc import Mapping, Sequence
from typing import Any

from mcp_types import ElicitRequest, ElicitRequestFormParams, ElicitResult, InputRequiredResult

from crew.journal.query import Answer
from server.protocols.pauses import CallReply, PauseCall, answer_in_words, answer_with
from server.tokens import Caller

WORDS: dict[str, Any] = {
    "type": "object",
    "properties": {"text": {"type": "string", "title": "Answer"}},
    "required": ["text"],
}
DECISION: dict[str, Any] = {
    "type": "object",
    "properties": {
        "approved": {"type": "boolean", "title": "Approve"},
        "reason": {"type": "string", "title": "Reason"},
    },
    "required": ["approved"],
}


def forms_for(questions: Sequence[PauseCall]) -> InputRequiredResult:
    """Return what a client asks its person: a form for each call, or one for words."""
    requests: Any = {one.id: _form(one) for one in questions}
    first = questions[0]
    return InputRequiredResult(input_requests=requests, request_state=f"{first.run_id}:{first.seq}")


def _form(one: PauseCall) -> ElicitRequest:
    schema = WORDS if not one.is_about_call else DECISION
    if one.question == "form":
        schema = one.schema
    return ElicitRequest(params=ElicitRequestFormParams(message=one.text, requested_schema=schema))


def answer_of_forms(
    questions: Sequence[PauseCall], given: Mapping[str, Any], caller: Caller
) -> Answer | None:
    """Return what was filled in as the answer to a pause; None where it is put off."""
    replies = []
    for one in questions:
        filled = given.get(one.id)
        if not isinstance(filled, ElicitResult) or filled.action == "cancel":
            return None
        content: dict[str, Any] = dict(filled.content or {})
        is_accepted = filled.action == "accept"
        if not one.is_about_call:
            text = str(content.get("text") or "") if is_accepted else ""
            return answer_in_words(text or "(no answer)", one.seq, caller, deltas=False)
        if one.question == "form":
            replies.append(CallReply(one, is_accepted, content if is_accepted else None))
            continue
        approved = is_accepted and content.get("approved") is True
        replies.append(CallReply(one, approved, reason=str(content.get("reason") or "")))
    return answer_with(replies, caller, deltas=False)
