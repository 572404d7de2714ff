"""What is left out when a request is too long for the model, step by step."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from agents.context.plan import HistoryBlock
from agents.model import ShownMessage
from agents.tokenizing.tokens import ESTIMATE, MESSAGE_TOKENS, Tokenizer

# of a note that says what is left out
NOTE_TOKENS = 25


@dataclass(slots=True)
class Parts:
    """A request but for its system prompt, in the order in which it is sent."""

    # what stands before the history
    before: Sequence[ShownMessage]
    # each earlier exchange with its place, oldest first
    past: Sequence[tuple[int, Sequence[ShownMessage]]]
    # the run's own messages
    own: Sequence[ShownMessage]
    # by which they are counted
    tokenizer: Tokenizer = ESTIMATE


@dataclass(slots=True)
class Fitted:
    """What is sent, and what is not."""

    messages: list[ShownMessage]
    # of all but the system prompt and the tools; -1: not counted, since it fits for certain
    tokens: int
    # how much is left out: exchanges, results, messages
    exchanges: int = 0
    results: int = 0
    own: int = 0

    @property
    def left_out(self) -> int:
        """All together."""
        return self.exchanges + self.results + self.own


def fit(
    parts: Parts,
    window_tokens: int,
    trim_percent: float,
    fixed_tokens: int = 0,
    history: HistoryBlock = HistoryBlock(),  # noqa: B008 # frozen
) -> Fitted:
    """Return all of a request or, where it is over the window, less of it.

    First old tool results are left out, then exchanges, then the middle of the run's own messages.
    Each goes on until the request is (100 - trim_percent) % of the window. The run's first message
    and its newest block stay however large they are; a call and its results are one block.

    Args:
        parts: of the request.
        window_tokens: how much fits.
        trim_percent: 0 to 100.
        fixed_tokens: what the system prompt and the tools take of the window.
        history: how much of it is wanted.
    """
    room = window_tokens - fixed_tokens
    whole = _joined(parts.before, parts.past, parts.own)
    if _fits_for_certain(whole, room, parts.tokenizer):
        return Fitted(whole, -1)
    total = _sum(whole)
    if total <= room:
        return Fitted(whole, total)
    goal = window_tokens * (100 - trim_percent) / 100 - fixed_tokens
    results = 0
    if history.keep_results is not None:
        parts, results = _without_results(parts, history.keep_results)
        whole = _joined(parts.before, parts.past, parts.own)
        total = _sum(whole)
        if total <= goal:
            return Fitted(whole, total, results=results)
    kept, exchanges = _newest(parts, goal, history.quarter)
    notes = [_note(exchanges, "exchange", parts.tokenizer)] if exchanges else []
    before = [*parts.before, *notes]
    whole = _joined(before, kept, parts.own)
    total = _sum(whole)
    if total <= (goal if exchanges else room):
        return Fitted(whole, total, exchanges, results)
    rest = _sum(_joined(before, kept, ()))
    own, left_out = _without_middle(list(parts.own), goal - rest, parts.tokenizer)
    whole = _joined(before, kept, own)
    return Fitted(whole, _sum(whole), exchanges, results, left_out)


def _joined(
    before: Sequence[ShownMessage],
    past: Sequence[tuple[int, Sequence[ShownMessage]]],
    own: Sequence[ShownMessage],
) -> list[ShownMessage]:
    if not past:
        return [*before, *own]
    return [*before, *(one for _, messages in past for one in messages), *own]


def _sum(messages: Sequence[ShownMessage]) -> int:
    return sum(message.tokens for message in messages)


def _fits_for_certain(
    messages: Sequence[ShownMessage], room_tokens: int, tokenizer: Tokenizer
) -> bool:
    """Return whether no count is needed, as for most conversations."""
    if any(message.calls or message.images for message in messages):
        return False
    sizes = (len(message.content) for message in messages)
    most = sum(MESSAGE_TOKENS + size * tokenizer.max_per_character for size in sizes)
    return most <= room_tokens


def _without_results(parts: Parts, keep: int) -> tuple[Parts, int]:
    """Return the same with all but the newest tool results left out, and how many those are."""
    count = sum(len(one.results) for one in _joined((), parts.past, parts.own))
    old = max(0, count - keep)
    seen = left_out = 0

    def shortened(messages: Sequence[ShownMessage]) -> list[ShownMessage]:
        nonlocal seen, left_out
        out = []
        for message in messages:
            seen += len(message.results)
            # those of one message go together
            if message.results and seen <= old:
                left_out = seen
                message = replace(message, content=_lost(message))
            out.append(message)
        return out

    past = [(position, shortened(messages)) for position, messages in parts.past]
    own = shortened(parts.own)
    return replace(parts, past=past, own=own), left_out


def _lost(message: ShownMessage) -> str:
    """Return what stands in place of the results of a message."""
    return "\n".join(
        f"[result of {one.tool}: {len(one.output)} characters, left out]" for one in message.results
    )


def _newest(
    parts: Parts, goal: float, quarter: int
) -> tuple[Sequence[tuple[int, Sequence[ShownMessage]]], int]:
    """Return the newest exchanges that fit, and how many do not.

    They go by quarters, at places that do not move with each run: so consecutive requests begin
    alike.
    """
    if not parts.past:
        return parts.past, 0
    room = goal - _sum([*parts.before, *parts.own]) - NOTE_TOKENS
    sizes = [_sum(messages) for _, messages in parts.past]
    total, first = sum(sizes), 0
    while first < len(sizes) and total > room:
        total -= sizes[first]
        first += 1
    # the next place at which a quarter begins, unless nothing would be left
    aligned = first
    while aligned < len(sizes) and (parts.past[aligned][0] - 1) % quarter:
        aligned += 1
    first = aligned if aligned < len(sizes) else first
    return parts.past[first:], first


def _without_middle(
    messages: list[ShownMessage], goal: float, tokenizer: Tokenizer
) -> tuple[list[ShownMessage], int]:
    """Return the first message, a note and the newest ones; how many are left out."""
    blocks = _blocks(messages)
    if len(blocks) < 3:
        return messages, 0
    sizes = [message.tokens for message in messages]
    goal -= sum(sizes[blocks[0]])
    kept = len(blocks) - 1
    total = sum(sizes[blocks[kept]])
    while kept > 1 and total + sum(sizes[blocks[kept - 1]]) <= goal:
        kept -= 1
        total += sum(sizes[blocks[kept]])
    count = blocks[kept].start - blocks[0].stop
    if count == 0:
        return messages, 0
    note = _note(count, "message", tokenizer)
    return [*messages[blocks[0]], note, *messages[blocks[kept].start :]], count


def _note(count: int, what: str, tokenizer: Tokenizer) -> ShownMessage:
    plural = "s" if count > 1 else ""
    text = f"[{count} earlier {what}{plural} left out to fit the context window]"
    return ShownMessage("user", text, tokenizer=tokenizer)


def _blocks(messages: Sequence[ShownMessage]) -> list[slice]:
    """Return messages that belong together: a call with its results, every other message alone."""
    starts = [place for place, message in enumerate(messages) if not message.results]
    return [slice(a, b) for a, b in zip(starts, [*starts[1:], len(messages)], strict=True)]
