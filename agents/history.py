"""What of the conversation an agent is shown, and what is left out when it is too long."""

from collections.abc import Callable, Sequence
from typing import Any

from pydantic_core import to_json

from agents.marks import quote_marks
from agents.messages import (
    AgentMessage,
    CrewMessage,
    Message,
    SystemMessage,
    ToolMessage,
    ToolOutput,
    UserMessage,
)
from agents.model import ShownMessage, WireMessage
from agents.text_calls import bare_lines
from tools.calls import ToolCall
from tools.output import format_results

# Beside its text a message costs some tokens of its own.
MESSAGE_TOKENS = 4


def show_history(
    history: Sequence[Message],
    agent_id: str,
    *,
    client_system: bool = False,
    escape: Callable[[str], str] = str,
) -> list[ShownMessage]:
    """The conversation in the form of chat completions, as one agent is shown it.

    Its own words are `assistant`, everyone else's `user`, led by `[name]: ` for other agents.
    Other agents' calls are left out; their results are text. What others wrote cannot look like
    a mark of ours (see `marks`).

    Args:
        history: the conversation.
        agent_id: who is shown it.
        client_system: send the client's system messages too.
        escape: changes what would be a signal of the agent's in the output of a tool.
    """
    out: list[ShownMessage] = []
    for message in history:
        match message:
            case UserMessage(content):
                out.append(ShownMessage({"role": "user", "content": quote_marks(content)}))
            case CrewMessage(content):
                out.append(ShownMessage({"role": "user", "content": content}))
            case SystemMessage(content):
                if client_system:
                    out.append(ShownMessage({"role": "system", "content": content}))
            case AgentMessage() if message.agent_id == agent_id:
                out.append(ShownMessage(_own_answer(message)))
            case AgentMessage(name=name, content=content):
                if content:
                    text = f"[{name}]: {quote_marks(content)}"
                    out.append(ShownMessage({"role": "user", "content": text}))
            case ToolMessage():
                native = message.native and message.agent_id == agent_id
                out += _show_results(message, escape, native=native)
    return out


def _show_results(
    message: ToolMessage, escape: Callable[[str], str], *, native: bool
) -> list[ShownMessage]:
    """Native results are a `tool` message each; any others are one text."""

    def shown(result: ToolOutput) -> str:
        return quote_marks(escape(result.output))

    if not native:
        text = format_results([(r.tool, r.status, shown(r)) for r in message.results])
        return [ShownMessage({"role": "user", "content": text}, message.results)]
    out = []
    for result in message.results:
        mark = "" if result.status == "success" else "Error: "
        content = mark + shown(result)
        wire = {"role": "tool", "tool_call_id": result.call_id, "content": content}
        out.append(ShownMessage(wire, (result,)))
    return out


def _own_answer(message: AgentMessage) -> WireMessage:
    wire: WireMessage = {**message.extra, "role": "assistant", "content": message.content}
    if message.native and message.calls:
        wire["content"] = message.content or None
        wire["tool_calls"] = [_wire_call(call) for call in message.calls]
    return wire


def _wire_call(call: ToolCall) -> dict[str, Any]:
    function = {
        **call.extra.get("function", {}),
        "name": call.tool,
        "arguments": to_json(call.arguments).decode(),
    }
    return {**call.extra, "id": call.id, "type": "function", "function": function}


def estimate_tokens(message: WireMessage) -> int:
    """About how many tokens a message is.

    A quarter of its UTF-8 bytes, a third where few of them are Latin.
    """
    text = message.get("content") or ""
    for call in message.get("tool_calls", ()):
        text += call["function"]["name"] + call["function"]["arguments"]
    size = len(text) if text.isascii() else len(text.encode())
    return MESSAGE_TOKENS + (size // 4 if size == len(text) else size // 3)


def fit(
    messages: list[ShownMessage],
    window_tokens: int,
    trim_percent: float,
    fixed_tokens: int = 0,
) -> list[ShownMessage]:
    """The messages or, where they are over the window, the first, a note and the newest.

    The first message and the newest block stay however large they are; a call and its results
    are one block.

    Args:
        messages: what `show_history` made.
        window_tokens: how much fits; over it the middle is dropped, down to
            (100 - trim_percent) % of it.
        trim_percent: 0 to 100.
        fixed_tokens: what the system prompt and the tools take of the window.
    """
    if _fits_for_certain(messages, window_tokens - fixed_tokens):
        return messages
    sizes = [estimate_tokens(message.wire) for message in messages]
    if fixed_tokens + sum(sizes) <= window_tokens:
        return messages
    blocks = _blocks(messages)
    if len(blocks) < 3:
        return messages
    goal = window_tokens * (100 - trim_percent) / 100 - fixed_tokens - sum(sizes[blocks[0]])
    kept = len(blocks) - 1
    total = sum(sizes[blocks[kept]])
    while kept > 1 and total + sum(sizes[blocks[kept - 1]]) <= goal:
        kept -= 1
        total += sum(sizes[blocks[kept]])
    count = blocks[kept].start - blocks[0].stop
    if count == 0:
        return messages
    plural = "s" if count > 1 else ""
    text = f"[{count} earlier message{plural} left out to fit the context window]"
    note = ShownMessage({"role": "user", "content": text})
    return [*messages[blocks[0]], note, *messages[blocks[kept].start :]]


def _fits_for_certain(messages: list[ShownMessage], room_tokens: int) -> bool:
    """Whether no exact count is needed, as for most conversations.

    No character is more than 4 bytes / 3 tokens by the estimate.
    """
    if any("tool_calls" in message.wire for message in messages):
        return False
    return sum(len(m.wire.get("content") or "") * 2 + 64 for m in messages) <= room_tokens


def _blocks(messages: Sequence[ShownMessage]) -> list[slice]:
    """Messages that belong together: a call with its results, every other message alone."""
    starts = [place for place, message in enumerate(messages) if not message.results]
    return [slice(a, b) for a, b in zip(starts, [*starts[1:], len(messages)], strict=True)]


def shown_lines(history: Sequence[Message], agent_id: str) -> list[str]:
    """The lines of the conversation that others wrote, as `bare_lines` has them."""
    out: list[str] = []
    for message in history:
        match message:
            case ToolMessage(results=results):
                for result in results:
                    out += bare_lines(result.output)
            case AgentMessage(agent_id=writer) if writer == agent_id:
                pass
            case _:
                out += bare_lines(message.content)
    return out
