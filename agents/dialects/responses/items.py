"""The messages of a conversation as items; pure."""

from collections.abc import Iterator, Sequence
from typing import Any

from pydantic_core import to_json

from agents.dialects.call_ids import fit_id
from agents.dialects.outgoing import NO_RESULT
from agents.model import Private, ShownImage, ShownMessage
from tools.calls import ToolCall

# the name of the dialect
RESPONSES = "responses"
# of what is kept of a message: the items of its answer as they came, in order
ITEMS = "items"

Item = dict[str, Any]


def make_items(
    shown: Sequence[ShownMessage], source: str, *, sends_thinking: bool
) -> Iterator[Item]:
    """Yield the items of all messages; the results of calls stand right behind their calls.

    Args:
        shown: the messages.
        source: what came from another one is not sent as it came.
        sends_thinking: what was thought goes back.
    """
    results = {one.results[0].call_id: one for one in shown if one.role == "tool"}
    for message in shown:
        match message.role:
            case "assistant":
                yield from _own_items(message, source, sends_thinking=sends_thinking)
                for call in message.calls:
                    result = results.pop(call.id, None)
                    output = NO_RESULT if result is None else result.content
                    yield {
                        "type": "function_call_output",
                        "call_id": fit_id(call.id),
                        "output": output,
                    }
            case "tool":
                if results.pop(message.results[0].call_id, None) is not None:
                    # its call is not shown: it is a text as any other
                    yield {"role": "user", "content": message.content}
            case role if message.images:
                text = {"type": "input_text", "text": message.content}
                yield {"role": role, "content": [text, *map(_image, message.images)]}
            case role:
                yield {"role": role, "content": message.content}


def _image(image: ShownImage) -> Item:
    return {"type": "input_image", "image_url": image.url, "detail": "auto"}


def _own_items(message: ShownMessage, source: str, *, sends_thinking: bool) -> Iterator[Item]:
    private = message.private
    if private is not None and private.source == source and sends_thinking:
        kept = _kept_items(message, private)
        if kept is not None:
            yield from kept
            return
    if message.content:
        yield {"role": "assistant", "content": message.content}
    for call in message.calls:
        # without an id of its own, by which it would belong to what was thought before it
        arguments = to_json(call.arguments).decode()
        yield {
            "type": "function_call",
            "call_id": fit_id(call.id),
            "name": call.tool,
            "arguments": arguments,
        }


def _kept_items(message: ShownMessage, private: Private) -> list[Item] | None:
    """Return the items of a message as they came; None where they do not fit the message."""
    items = private.message.get(ITEMS)
    if not isinstance(items, list):
        return None
    calls = [one for one in items if one["type"] == "function_call"]
    has_words = any(one["type"] == "message" for one in items)
    if len(calls) != len(message.calls) or has_words != bool(message.content):
        # calls that were not made have no results, and words were changed or came otherwise
        return None
    if items[-1]["type"] == "reasoning":
        # what was thought needs what it led to
        return None
    waiting: Iterator[ToolCall] = iter(message.calls)
    return [
        {**one, "call_id": fit_id(next(waiting).id)} if one["type"] == "function_call" else one
        for one in items
    ]
