"""OpenAI's responses API, as far as it refuses requests; and its answers."""

import hashlib
import json
from typing import Any

from openai.types.responses import Response
from openai.types.responses.response_create_params import (
    ResponseCreateParamsNonStreaming,
    ResponseCreateParamsStreaming,
)
from pydantic import TypeAdapter

PLAIN = TypeAdapter(ResponseCreateParamsNonStreaming)
STREAMED = TypeAdapter(ResponseCreateParamsStreaming)
MAX_ID = 64


def seal(place: str, model: str, id_: str) -> str:
    """What a server makes of what its model has thought."""
    return hashlib.sha256(f"{place} {model} {id_}".encode()).hexdigest()


def refusal(body: dict[str, Any], place: str) -> str:
    """Why a request is refused; "" where it is not."""
    try:
        check(body, place)
    except AssertionError as error:
        return str(error) or "refused"
    return ""


def check(body: dict[str, Any], place: str) -> None:
    """Raise AssertionError for a request that the API refuses."""
    kind: Any = (
        ResponseCreateParamsStreaming if body.get("stream") else ResponseCreateParamsNonStreaming
    )
    (STREAMED if body.get("stream") else PLAIN).validate_python(body)
    unknown = set(body) - kind.__required_keys__ - kind.__optional_keys__
    assert not unknown, f"Unknown parameter: {sorted(unknown)}"
    assert body["store"] is False, "these servers store nothing"
    if "text" in body:
        _check_strict(body["text"]["format"]["schema"])
    items = body["input"]
    calls: dict[str, int] = {}
    outputs: set[str] = set()
    for place_of, item in enumerate(items):
        match item.get("type", "message"):
            case "reasoning":
                sealed = seal(place, body["model"], item["id"])
                assert item.get("encrypted_content") == sealed, "could not be verified"
                follows = items[place_of + 1] if place_of + 1 < len(items) else {}
                wanted = f"Item {item['id']!r} was provided without its required following item"
                assert follows.get("id", "").endswith(item["id"][-4:]), wanted
            case "function_call":
                _check_pair(items, place_of, item)
                assert len(item["call_id"]) <= MAX_ID, "string too long"
                assert item["call_id"] not in calls, "call_id twice"
                calls[item["call_id"]] = place_of
            case "function_call_output":
                assert item["call_id"] in calls, f"No tool call found for {item['call_id']}"
                outputs.add(item["call_id"])
            case "message" if item.get("id"):
                _check_pair(items, place_of, item)
            case _:
                pass
    left = set(calls) - outputs
    assert not left, f"No tool output found for function call {left}"


def _check_pair(items: list[Any], at: int, item: dict[str, Any]) -> None:
    """An item with an id that came behind what was thought must be sent with that."""
    if not item.get("id"):
        return
    ids = [one.get("id", "") for one in items[:at] if one.get("type") == "reasoning"]
    wanted = f"Item {item['id']!r} was provided without its required 'reasoning' item"
    assert not item["id"].startswith("paired") or any(one[-4:] == item["id"][-4:] for one in ids), (
        wanted
    )


def _check_strict(schema: dict[str, Any]) -> None:
    if schema.get("type") == "object":
        assert schema["required"] == list(schema["properties"]), "'required' must have every key"
        assert schema["additionalProperties"] is False, "additionalProperties must be false"
    for one in [*schema.get("properties", {}).values(), schema.get("items")]:
        if one:
            _check_strict(one)


def reasoning(place: str, model: str, number: int) -> dict[str, Any]:
    id_ = f"rs_{number:04}"
    sealed = seal(place, model, id_)
    return {"type": "reasoning", "id": id_, "summary": [], "encrypted_content": sealed}


def message(words: str, number: int, *, is_paired: bool = False) -> dict[str, Any]:
    id_ = f"{'paired' if is_paired else 'msg'}_{number:04}"
    content = [{"type": "output_text", "text": words, "annotations": []}]
    return {
        "type": "message",
        "id": id_,
        "role": "assistant",
        "status": "completed",
        "content": content,
    }


def call(
    call_id: str, name: str, arguments: Any, number: int, *, is_paired: bool = False
) -> dict[str, Any]:
    id_ = f"{'paired' if is_paired else 'fc'}_{number:04}"
    return {
        "type": "function_call",
        "id": id_,
        "call_id": call_id,
        "name": name,
        "arguments": json.dumps(arguments),
        "status": "completed",
    }


def document(model: str, output: list[dict[str, Any]], **more: Any) -> dict[str, Any]:
    """A whole answer."""
    usage = {
        "input_tokens": 60,
        "input_tokens_details": {"cached_tokens": 20, "cache_write_tokens": 30},
        "output_tokens": 40,
        "output_tokens_details": {"reasoning_tokens": 15},
        "total_tokens": 100,
    }
    made = {
        "id": "resp_1",
        "object": "response",
        "created_at": 0,
        "status": "completed",
        "model": model,
        "output": output,
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
        "error": None,
        "incomplete_details": None,
        "usage": usage,
        **more,
    }
    Response.model_validate(made)
    return made


def events(answer: dict[str, Any], size: int = 3) -> list[dict[str, Any]]:
    """The same as the events of a stream, with texts in pieces of a size."""
    begun = {**answer, "output": [], "status": "in_progress", "usage": None}
    out: list[dict[str, Any]] = [{"type": "response.created", "response": begun}]
    for index, item in enumerate(answer["output"]):
        empty: dict[str, Any] = {"message": {"content": []}, "function_call": {"arguments": ""}}
        begin = {**item, **empty.get(item["type"], {})}
        out.append({"type": "response.output_item.added", "output_index": index, "item": begin})
        if item["type"] == "message":
            words = "".join(part.get("text") or part.get("refusal") for part in item["content"])
            out += [
                {
                    "type": "response.output_text.delta",
                    "output_index": index,
                    "delta": words[at : at + size],
                }
                for at in range(0, len(words), size)
            ]
        if item["type"] == "function_call":
            said = {"output_index": index, "item_id": item["id"]}
            kind = "response.function_call_arguments"
            out.append({"type": f"{kind}.delta", **said, "delta": item["arguments"]})
            out.append({"type": f"{kind}.done", **said, "arguments": item["arguments"]})
        out.append({"type": "response.output_item.done", "output_index": index, "item": item})
    kind = {"incomplete": "incomplete", "failed": "failed"}.get(answer["status"], "completed")
    return [*out, {"type": f"response.{kind}", "response": answer}]
