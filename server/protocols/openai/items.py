"""The output items of a response, and the events by which each comes to be."""

from collections.abc import Mapping, Sequence
from typing import Any

# (type of the event, what it has besides)
ItemEvent = tuple[str, dict[str, Any]]
Annotation = dict[str, Any]


def reasoning_item(id_: str, text: str) -> dict[str, Any]:
    """Return an item with what was said before the answer."""
    part = {"type": "summary_text", "text": text}
    return {"id": id_, "type": "reasoning", "summary": [part], "status": "completed"}


def reasoning_events(item: dict[str, Any]) -> list[ItemEvent]:
    """Return the events of a whole reasoning item."""
    (part,) = item["summary"]
    at = {"item_id": item["id"], "summary_index": 0}
    empty = {**part, "text": ""}
    return [
        ("response.output_item.added", {"item": {**item, "summary": [], "status": "in_progress"}}),
        ("response.reasoning_summary_part.added", {**at, "part": empty}),
        ("response.reasoning_summary_text.delta", {**at, "delta": part["text"]}),
        ("response.reasoning_summary_text.done", {**at, "text": part["text"]}),
        ("response.reasoning_summary_part.done", {**at, "part": part}),
        ("response.output_item.done", {"item": item}),
    ]


def citations(sources: Sequence[Mapping[str, Any]]) -> list[Annotation]:
    """Return what the answer cites, as annotations: each passage once, in the order of numbers.

    Args:
        sources: as `done` has them.
    """
    cited = [one for one in sources if one.get("cited")]
    return [
        {
            "type": "file_citation",
            "file_id": one["document"],
            "filename": one["name"],
            "index": place,
        }
        for place, one in enumerate(cited)
    ]


def message_item(
    id_: str, text: str | None, status: str = "completed", cited: Sequence[Annotation] = ()
) -> dict[str, Any]:
    """Return the message with the answer; None: it has begun."""
    whole = {"id": id_, "type": "message", "role": "assistant", "phase": "final_answer"}
    if text is None:
        return {**whole, "status": "in_progress", "content": []}
    return {**whole, "status": status, "content": [text_part(text, cited)]}


def text_part(text: str, cited: Sequence[Annotation] = ()) -> dict[str, Any]:
    """Return a text as content, with what it cites."""
    return {"type": "output_text", "text": text, "annotations": list(cited), "logprobs": []}


def message_start(id_: str) -> list[ItemEvent]:
    """Return the events by which a message begins."""
    at = {"item_id": id_, "content_index": 0}
    return [
        ("response.output_item.added", {"item": message_item(id_, None)}),
        ("response.content_part.added", {**at, "part": text_part("")}),
    ]


def message_delta(id_: str, text: str) -> ItemEvent:
    """Return the event of a piece of a message."""
    at = {"item_id": id_, "content_index": 0, "logprobs": []}
    return "response.output_text.delta", {**at, "delta": text}


def message_end(
    id_: str, text: str, status: str = "completed", cited: Sequence[Annotation] = ()
) -> list[ItemEvent]:
    """Return the events by which a message ends."""
    at = {"item_id": id_, "content_index": 0}
    kind = "response.output_text.annotation.added"
    added = [
        (kind, {**at, "annotation_index": place, "annotation": one})
        for place, one in enumerate(cited)
    ]
    return [
        *added,
        ("response.output_text.done", {**at, "text": text, "logprobs": []}),
        ("response.content_part.done", {**at, "part": text_part(text, cited)}),
        ("response.output_item.done", {"item": message_item(id_, text, status, cited)}),
    ]


def call_item(id_: str, crew: str, tool: str, arguments: str) -> dict[str, Any]:
    """Return a call of a tool that has begun; as of an MCP server, the one form with results."""
    return {
        "id": id_,
        "type": "mcp_call",
        "server_label": crew,
        "name": tool,
        "arguments": arguments,
        "status": "in_progress",
    }


def call_start(item: dict[str, Any]) -> list[ItemEvent]:
    """Return the events by which a call begins."""
    at = {"item_id": item["id"]}
    return [
        # clients put the arguments together from what follows
        ("response.output_item.added", {"item": {**item, "arguments": ""}}),
        ("response.mcp_call.in_progress", at),
        ("response.mcp_call_arguments.delta", {**at, "delta": item["arguments"]}),
        ("response.mcp_call_arguments.done", {**at, "arguments": item["arguments"]}),
    ]


def call_end(item: dict[str, Any], output: str, *, succeeded: bool) -> list[ItemEvent]:
    """End a call, and return the events of that."""
    item["status"] = "completed" if succeeded else "failed"
    if succeeded:
        item["output"] = output
    else:
        content = {"type": "text", "text": output}
        item["error"] = {"type": "mcp_tool_execution_error", "content": [content]}
    kind = "completed" if succeeded else "failed"
    return [
        (f"response.mcp_call.{kind}", {"item_id": item["id"]}),
        ("response.output_item.done", {"item": dict(item)}),
    ]


def call_left(item: dict[str, Any]) -> list[ItemEvent]:
    """End a call of which no result is known, and return the event of that."""
    item["status"] = "incomplete"
    return [("response.output_item.done", {"item": dict(item)})]


def approval_item(id_: str, crew: str, tool: str, arguments: str) -> dict[str, Any]:
    """Return the question about a call."""
    return {
        "id": id_,
        "type": "mcp_approval_request",
        "server_label": crew,
        "name": tool,
        "arguments": arguments,
    }


def whole_item(item: dict[str, Any]) -> list[ItemEvent]:
    """Return the events of an item that comes whole."""
    return [
        ("response.output_item.added", {"item": item}),
        ("response.output_item.done", {"item": item}),
    ]
