"""Anthropic's messages API, as far as it refuses requests; and its answers."""

import hashlib
import itertools
import json
import re
from typing import Any

from anthropic.types.message_create_params import (
    MessageCreateParamsNonStreaming,
    MessageCreateParamsStreaming,
)
from pydantic import TypeAdapter

PLAIN = TypeAdapter(MessageCreateParamsNonStreaming)
STREAMED = TypeAdapter(MessageCreateParamsStreaming)
ID = re.compile(r"[a-zA-Z0-9_-]+")
MAX_MARKS = 4
SCHEMA_KEYWORDS = {
    *("type", "enum", "const", "anyOf", "allOf", "description", "title", "properties"),
    *("required", "additionalProperties", "items", "minItems", "format"),
}


def sign(place: str, model: str, text: str) -> str:
    """What a server puts under what its model has thought."""
    return hashlib.sha256(f"{place} {model} {text}".encode()).hexdigest()


def refusal(body: dict[str, Any], place: str) -> str:
    """Why a request is refused; "" where it is not."""
    try:
        check(body, place)
    except AssertionError as error:
        return str(error) or "refused"
    return ""


def check(body: dict[str, Any], place: str) -> None:
    """Raise AssertionError for a request that the API refuses."""
    (STREAMED if body.get("stream") else PLAIN).validate_python(body)
    messages = body["messages"]
    roles = [one["role"] for one in messages]
    assert roles[0] == "user", "messages: first message must use the user role"
    assert roles[-1] == "user", "This model does not support assistant message prefill."
    assert all(one != other for one, other in itertools.pairwise(roles)), "not in turn"
    tools = {tool["name"] for tool in body.get("tools", ())}
    for index, message in enumerate(messages):
        after = messages[index + 1]["content"] if index + 1 < len(messages) else []
        before = messages[index - 1]["content"] if index else []
        _check_blocks(message, body["model"], place)
        if message["role"] == "assistant":
            _check_calls(message["content"], after, tools)
        else:
            _check_results(message["content"], before)
    _check_thinking(body)
    marks = json.dumps(body).count('"cache_control"')
    assert marks <= MAX_MARKS, f"A maximum of 4 blocks with cache_control may be provided: {marks}"
    form = body.get("output_config", {}).get("format")
    if form is not None:
        _check_schema(form["schema"])


def _check_blocks(message: dict[str, Any], model: str, place: str) -> None:
    blocks = message["content"]
    assert blocks, "messages: content must not be empty"
    for block in blocks:
        match block["type"]:
            case "text":
                assert block["text"].strip(), "text content blocks must contain non-whitespace text"
            case "thinking":
                assert message["role"] == "assistant", "thinking of a user"
                signed = sign(place, model, block["thinking"])
                assert block["signature"] == signed, "Invalid `signature` in `thinking` block"
            case "redacted_thinking":
                assert block["data"] == sign(place, model, "redacted"), "Invalid `data`"
            case "tool_use" | "tool_result":
                id_ = block.get("id") or block["tool_use_id"]
                assert ID.fullmatch(id_), f"String should match pattern: {id_!r}"
    if message["role"] == "assistant":
        last = blocks[-1]["type"]
        assert "thinking" not in last, "The final block in an assistant message cannot be thinking"


def _check_calls(blocks: list[Any], after: list[Any], tools: set[str]) -> None:
    calls = [one["id"] for one in blocks if one["type"] == "tool_use"]
    assert len(calls) == len(set(calls)), "tool_use ids must be unique"
    assert not calls or tools, "Requests which include `tool_use` blocks must define tools."
    results = [one["tool_use_id"] for one in after if one["type"] == "tool_result"]
    missing = set(calls) - set(results)
    assert not missing, f"tool_use ids were found without tool_result blocks: {missing}"


def _check_results(blocks: list[Any], before: list[Any]) -> None:
    calls = {one["id"] for one in before if one["type"] == "tool_use"}
    kinds = [one["type"] == "tool_result" for one in blocks]
    assert kinds == sorted(kinds, reverse=True), "tool_result blocks must come first"
    for block in blocks:
        if block["type"] == "tool_result":
            id_ = block["tool_use_id"]
            assert id_ in calls, f"unexpected `tool_use_id` found in `tool_result` blocks: {id_}"


def _check_thinking(body: dict[str, Any]) -> None:
    thinking = body.get("thinking", {})
    if thinking.get("type") != "enabled":
        return
    assert 1024 <= thinking["budget_tokens"] < body["max_tokens"], "max_tokens must be greater"
    assert "temperature" not in body, "`temperature` may only be set to 1 when thinking is enabled"
    choice = body.get("tool_choice", {"type": "auto"})["type"]
    assert choice in ("auto", "none"), (
        "Thinking may not be enabled when tool_choice forces tool use."
    )
    messages = body["messages"]
    place = len(messages) - 1
    while place > 0 and messages[place]["content"][0]["type"] == "tool_result":
        place -= 2
    if place < len(messages) - 1:
        # all answers of a loop are one turn, which begins with thinking
        kinds = [block["type"] for block in messages[place + 1]["content"]]
        before = kinds[: kinds.index("tool_use")]
        assert any("thinking" in one for one in before), (
            "Expected `thinking` or `redacted_thinking`, but found another"
        )


def _check_schema(schema: dict[str, Any]) -> None:
    unknown = set(schema) - SCHEMA_KEYWORDS
    assert not unknown, f"output_config.format.schema: {sorted(unknown)} is not supported"
    assert isinstance(schema.get("type", ""), str), "type must be a string"
    if schema.get("type") == "object":
        assert schema["additionalProperties"] is False, "additionalProperties must be false"
    inner = [*schema.get("properties", {}).values(), *schema.get("anyOf", ())]
    for one in [*inner, *([schema["items"]] if "items" in schema else [])]:
        _check_schema(one)


def thought(place: str, model: str, text: str) -> dict[str, Any]:
    return {"type": "thinking", "thinking": text, "signature": sign(place, model, text)}


def redacted(place: str, model: str) -> dict[str, Any]:
    return {"type": "redacted_thinking", "data": sign(place, model, "redacted")}


def call(id_: str, name: str, arguments: Any) -> dict[str, Any]:
    return {"type": "tool_use", "id": id_, "name": name, "input": arguments}


def text(words: str) -> dict[str, Any]:
    return {"type": "text", "text": words}


def document(model: str, blocks: list[dict[str, Any]], **more: Any) -> dict[str, Any]:
    """A whole answer."""
    usage = {
        "input_tokens": 10,
        "cache_read_input_tokens": 20,
        "cache_creation_input_tokens": 30,
        "output_tokens": 40,
    }
    has_calls = any(block["type"] == "tool_use" for block in blocks)
    return {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": model,
        "content": blocks,
        "stop_reason": "tool_use" if has_calls else "end_turn",
        "stop_sequence": None,
        "usage": usage,
        **more,
    }


def events(answer: dict[str, Any], size: int = 3) -> list[dict[str, Any]]:
    """The same as the events of a stream, with texts in pieces of a size."""
    start = {**answer, "content": [], "stop_reason": None}
    out: list[dict[str, Any]] = [{"type": "message_start", "message": start}, {"type": "ping"}]
    for index, block in enumerate(answer["content"]):
        begun, deltas = _deltas(block, size)
        out.append({"type": "content_block_start", "index": index, "content_block": begun})
        out += [{"type": "content_block_delta", "index": index, "delta": one} for one in deltas]
        out.append({"type": "content_block_stop", "index": index})
    ended = {"stop_reason": answer["stop_reason"], "stop_sequence": None}
    usage = {"output_tokens": answer["usage"]["output_tokens"]}
    out.append({"type": "message_delta", "delta": ended, "usage": usage})
    return [*out, {"type": "message_stop"}]


def _deltas(block: dict[str, Any], size: int) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    def pieces(whole: str) -> list[str]:
        return [whole[at : at + size] for at in range(0, len(whole), size)]

    match block["type"]:
        case "text":
            parts = pieces(block["text"])
            return text(""), [{"type": "text_delta", "text": one} for one in parts]
        case "thinking":
            begun = {"type": "thinking", "thinking": "", "signature": ""}
            parts = pieces(block["thinking"])
            deltas = [{"type": "thinking_delta", "thinking": one} for one in parts]
            signature = {"type": "signature_delta", "signature": block["signature"]}
            return begun, [*deltas, signature]
        case "tool_use":
            parts = pieces(json.dumps(block["input"])) if block["input"] else []
            deltas = [{"type": "input_json_delta", "partial_json": one} for one in parts]
            return {**block, "input": {}}, deltas
        case _:
            return block, []
