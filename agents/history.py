"""What of the conversation an agent is shown.

And what is left out when it outgrows the context window.
"""

from collections.abc import Sequence
from typing import Any

from pydantic_core import to_json

from agents.messages import AgentMessage, Message, SystemMessage, ToolMessage, UserMessage
from agents.model import WireMessage
from tools.output import BLOCK_HEAD, as_block

# Beside its text a message costs some tokens of its own.
MESSAGE_TOKENS = 4


def view(
    history: Sequence[Message], agent_id: str, *, client_system: bool = False
) -> list[WireMessage]:
    """The conversation in the form of chat completions, as seen by one agent.

    Its own words are `assistant`, everyone else's `user`, led by `[name]: ` for other agents. Other
    agents' calls are
    left out; their results are text. `client_system`: whether system messages of the client are
    sent.
    """
    out: list[WireMessage] = []
    for message in history:
        match message:
            case UserMessage(content):
                out.append({"role": "user", "content": content})
            case SystemMessage(content):
                if client_system:
                    out.append({"role": "system", "content": content})
            case AgentMessage() if message.agent_id == agent_id:
                out.append(_own(message))
            case AgentMessage(name=name, content=content):
                if content:
                    out.append({"role": "user", "content": f"[{name}]: {content}"})
            case ToolMessage(results=results) if message.native and message.agent_id == agent_id:
                for result in results:
                    failed = "" if result.status == "success" else "Error: "
                    out.append(
                        {
                            "role": "tool",
                            "tool_call_id": result.call_id,
                            "content": failed + result.output,
                        }
                    )
            case ToolMessage(results=results):
                out.append(
                    {
                        "role": "user",
                        "content": as_block([(r.tool, r.status, r.output) for r in results]),
                    }
                )
    return out


def _own(message: AgentMessage) -> WireMessage:
    wire: WireMessage = {**message.extra, "role": "assistant", "content": message.content}
    if message.native and message.calls:
        wire["content"] = message.content or None
        wire["tool_calls"] = [
            {
                **call.extra,
                "id": call.id,
                "type": "function",
                "function": {
                    **call.extra.get("function", {}),
                    "name": call.tool,
                    "arguments": to_json(call.arguments).decode(),
                },
            }
            for call in message.calls
        ]
    return wire


def estimate_tokens(message: WireMessage) -> int:
    """About how many tokens a message is.

    A quarter of its UTF-8 bytes, a third where few of them are Latin.
    """
    text = message.get("content") or ""
    if "tool_calls" in message:
        text += "".join(
            call["function"]["name"] + call["function"]["arguments"]
            for call in message["tool_calls"]
        )
    size = len(text) if text.isascii() else len(text.encode())
    return MESSAGE_TOKENS + (size // 4 if size == len(text) else size // 3)


def fit(
    messages: list[WireMessage], window_tokens: int, trim_percent: float, fixed_tokens: int = 0
) -> list[WireMessage]:
    """The messages, or, where they outgrow the window, the first, a note and the newest.

    Args:
        messages: what `view` made.
        window_tokens: how much fits; over it the middle is dropped, down to (100 -
            trim_percent) % of it.
        trim_percent: 0 to 100.
        fixed_tokens: what the system prompt and the tools take of the window.

    The first message and the newest block stay however large they are; a call and its results are
    one block.
    """
    # most conversations are far from the window: no character is less than half a token by the
    # estimate, at 4 bytes / 3 at most
    if fixed_tokens + sum(
        len(m.get("content") or "") * 2 + 64 for m in messages
    ) <= window_tokens and not any("tool_calls" in m for m in messages):
        return messages
    sizes = [estimate_tokens(m) for m in messages]
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
    cut = blocks[kept].start - blocks[0].stop
    if cut == 0:
        return messages
    note = {
        "role": "user",
        "content": f"[{cut} earlier message{'s' if cut > 1 else ''} left out to fit the context window]",
    }
    return [*messages[blocks[0]], note, *messages[blocks[kept].start :]]


def _answers(message: dict[str, Any]) -> bool:
    """Whether a message holds the results of the calls before it."""
    return message["role"] == "tool" or (
        message["role"] == "user" and str(message["content"]).startswith(BLOCK_HEAD)
    )


def _blocks(messages: Sequence[dict[str, Any]]) -> list[slice]:
    """Messages that belong together: a call with its results, every other message alone."""
    starts = [i for i, m in enumerate(messages) if not _answers(m)]
    return [slice(a, b) for a, b in zip(starts, [*starts[1:], len(messages)], strict=True)]
