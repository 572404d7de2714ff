"""What is left out when a request is too long for the model."""

from collections.abc import Sequence

from agents.model import ShownMessage
from agents.tokens import MAX_TOKENS_PER_CHARACTER, MESSAGE_TOKENS, estimate_tokens


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
    """Whether no count is needed, as for most conversations."""
    if any("tool_calls" in message.wire for message in messages):
        return False
    sizes = (len(message.wire.get("content") or "") for message in messages)
    most = sum(MESSAGE_TOKENS + size * MAX_TOKENS_PER_CHARACTER for size in sizes)
    return most <= room_tokens


def _blocks(messages: Sequence[ShownMessage]) -> list[slice]:
    """Messages that belong together: a call with its results, every other message alone."""
    starts = [place for place, message in enumerate(messages) if not message.results]
    return [slice(a, b) for a, b in zip(starts, [*starts[1:], len(messages)], strict=True)]
