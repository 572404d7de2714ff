"""Pauses as AG-UI's interrupts, and the answers to them."""

from collections.abc import Mapping, Sequence
from typing import Any

from server.http.errors import bad_request
from server.protocols.pauses import CallReply, PauseCall

TEXT = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}
REASONS = {"approval": "tool_call", "form": "input_required"}


def interrupts_of(
    questions: Sequence[PauseCall], names: Mapping[tuple[str | None, str], str]
) -> list[dict[str, Any]]:
    """Return what a pause asks as interrupts, one for each call.

    Args:
        questions: what it asks.
        names: of calls, as AG-UI has them, by agent and call.
    """
    return [_interrupt(one, names.get((one.agent_id, one.call_id))) for one in questions]


def _interrupt(one: PauseCall, name: str | None) -> dict[str, Any]:
    made: dict[str, Any] = {
        "id": one.id,
        "reason": REASONS.get(one.question, f"crew:{one.question}")
        if one.is_about_call
        else "input_required",
        "message": one.text,
        "responseSchema": _schema(one),
        "metadata": {"crew": one.document()},
    }
    if name is not None:
        made["toolCallId"] = name
    return made | ({"expiresAt": one.until} if one.until else {})


def _schema(one: PauseCall) -> dict[str, Any]:
    """Return what an answer may have."""
    if not one.is_about_call:
        return TEXT
    if one.question == "form":
        return one.schema
    known: dict[str, Any] = {"approved": {"type": "boolean"}, "reason": {"type": "string"}}
    if "edit" in one.may:
        known["editedArgs"] = one.schema or {"type": "object"}
    if "done" in one.may:
        known["result"] = {"type": "string"}
    if one.remember:
        known["scope"] = {"enum": ["once", *one.remember]}
    return {"type": "object", "properties": known, "additionalProperties": False}


def reply_to(one: PauseCall, entry: Mapping[str, Any], where: str) -> CallReply:
    """Return what a client says to one call; raises HttpProblem."""
    payload = entry.get("payload")
    if entry["status"] == "cancelled":
        return CallReply(one, approved=False)
    if one.question == "form":
        return CallReply(one, approved=True, arguments=_mapping(payload or {}, where))
    if isinstance(payload, bool):
        payload = {"approved": payload}
    given = _mapping(payload, where)
    known = _schema(one)["properties"]
    if unknown := sorted(given.keys() - known.keys()):
        text = f"is unknown; known: {', '.join(known)}"
        raise bad_request([(f"{where}.payload.{name}", text) for name in unknown])
    approved, result = given.get("approved"), given.get("result")
    if not isinstance(approved, bool) and result is None:
        raise bad_request([(f"{where}.payload.approved", "is true or false")])
    for name in ("reason", "result", "scope"):
        if not isinstance(given.get(name, ""), str):
            raise bad_request([(f"{where}.payload.{name}", "must be a text")])
    if given.get("scope", "once") not in ("once", *one.remember):
        raise bad_request([(f"{where}.payload.scope", "is not allowed for this call")])
    edited = given.get("editedArgs")
    if edited is not None:
        edited = dict(_mapping(edited, f"{where}.payload.editedArgs"))
    reason, scope = given.get("reason", ""), given.get("scope", "once")
    return CallReply(one, bool(approved), edited, reason, result, scope)


def answer_text(entry: Mapping[str, Any], where: str) -> str:
    """Return the words of an answer to a pause that asks for them; raises HttpProblem."""
    payload = entry.get("payload")
    if entry["status"] == "cancelled":
        # nothing is decided; the agent reads that the person would not say
        return "(the user gave no answer)"
    text = payload if isinstance(payload, str) else _mapping(payload, where).get("text")
    if not isinstance(text, str) or not text:
        raise bad_request([(f"{where}.payload.text", "is missing")])
    return text


def _mapping(value: Any, where: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise bad_request([(f"{where}.payload", "must be an object")])
    return value
