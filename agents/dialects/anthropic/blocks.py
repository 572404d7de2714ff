"""The messages of a conversation as turns of blocks; pure.

Users and the model take turns. The results of calls stand first in the turn behind their calls,
each call has one, and no block of text is empty.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from agents.dialects.call_ids import fit_id
from agents.dialects.outgoing import GOES_ON, NO_RESULT
from agents.model import ERROR_MARK, Private, ShownImage, ShownMessage
from tools.calls import ToolCall

# the name of the dialect
ANTHROPIC = "anthropic"
# of what is kept of a message: its blocks, those of thinking as they came
BLOCKS = "blocks"
THINKING = frozenset({"thinking", "redacted_thinking"})

Block = dict[str, Any]


class Turns:
    """The turns of a request, as they grow."""

    def __init__(self) -> None:
        # {"role", "content": [blocks]}
        self.turns: list[dict[str, Any]] = []
        # the last one of the model that has no calls: an exchange ended with it
        self.ended_at = -1

    def add(self, role: str, blocks: Iterable[Block]) -> None:
        """Add blocks to the last turn if it is of this role, else in a turn of their own."""
        new = list(blocks)
        if not new:
            return
        if not self.turns and role == "assistant":
            self.add("user", [_text(GOES_ON)])
        if self.turns and self.turns[-1]["role"] == role:
            self.turns[-1]["content"] += new
        else:
            self.turns.append({"role": role, "content": new})

    @property
    def begins_thinking(self) -> bool:
        """Whether the calls that go on now began with thinking; true where none go on.

        They are one turn of the model for the API, however many answers with results behind them.
        """
        place = len(self.turns) - 1
        while place > 0 and self.turns[place]["content"][0]["type"] == "tool_result":
            place -= 2
        if place == len(self.turns) - 1:
            return True
        first = [block["type"] for block in self.turns[place + 1]["content"]]
        return not THINKING.isdisjoint(first[: first.index("tool_use")])


def make_turns(shown: Sequence[ShownMessage], source: str, *, sends_thinking: bool) -> Turns:
    """Make the turns of all messages but the ones of the system.

    Args:
        shown: the messages.
        source: what came from another one is not sent as it came.
        sends_thinking: what was thought goes back.
    """
    results = {one.results[0].call_id: one for one in shown if one.role == "tool"}
    turns = Turns()
    for message in shown:
        match message.role:
            case "user":
                # the API advises to let images come first
                images = [_image(one) for one in message.images]
                turns.add("user", [*images, *_texts(message.content)])
            case "assistant":
                turns.add("assistant", _own_blocks(message, source, sends_thinking=sends_thinking))
                found = [results.pop(call.id, None) for call in message.calls]
                pairs = zip(message.calls, found, strict=True)
                turns.add("user", [_result(call, result) for call, result in pairs])
                if not message.calls:
                    turns.ended_at = len(turns.turns) - 1
            case "tool" if message.results[0].call_id in results:
                # its call is not shown: it is a text as any other
                del results[message.results[0].call_id]
                turns.add("user", _texts(message.content))
            case _:
                pass
    if not turns.turns or turns.turns[-1]["role"] == "assistant":
        turns.add("user", [_text(GOES_ON)])
    return turns


def _own_blocks(message: ShownMessage, source: str, *, sends_thinking: bool) -> list[Block]:
    private = message.private
    if private is not None and private.source == source and sends_thinking:
        kept = _kept_blocks(message, private)
        if kept is not None:
            return kept
    return [*_texts(message.content), *(_call(call) for call in message.calls)]


def _kept_blocks(message: ShownMessage, private: Private) -> list[Block] | None:
    """Return the blocks of a message as they came; None where they do not fit the message."""
    blocks = private.message.get(BLOCKS)
    if not isinstance(blocks, list):
        return None
    calls = iter(message.calls)
    count = sum(one["type"] == "tool_use" for one in blocks)
    if count != len(message.calls) or blocks[-1]["type"] in THINKING:
        return None
    out: list[Block] = []
    for block in blocks:
        match block["type"]:
            case "tool_use":
                out.append(_call(next(calls)))
            case "text":
                # calls that were not made may have stood in it
                out += _texts(block["text"] if message.content else "")
            case _:
                out.append(block)
    return None if not out or out[-1]["type"] in THINKING else out


def _call(call: ToolCall) -> Block:
    return {
        "type": "tool_use",
        "id": fit_id(call.id),
        "name": call.tool,
        "input": call.arguments,
    }


def _result(call: ToolCall, message: ShownMessage | None) -> Block:
    content = NO_RESULT if message is None else message.content
    block: Block = {"type": "tool_result", "tool_use_id": fit_id(call.id)}
    if content.strip():
        block["content"] = content
    return block | ({"is_error": True} if content.startswith(ERROR_MARK) else {})


def _image(image: ShownImage) -> Block:
    source = {"type": "base64", "media_type": image.media_type, "data": image.data}
    return {"type": "image", "source": source}


def _text(text: str) -> Block:
    return {"type": "text", "text": text}


def _texts(text: str) -> list[Block]:
    """Return a text as a block; none where there is nothing in it."""
    return [_text(text)] if text.strip() else []


def with_mark(blocks: Sequence[Mapping[str, Any]], mark: Mapping[str, Any]) -> list[Block]:
    """Return blocks with a mark at the last one: what is before it is cached."""
    *before, last = blocks
    return [*map(dict, before), {**last, "cache_control": mark}]
