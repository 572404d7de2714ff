"""What providers say of the tokens of an answer, in the terms of this runtime."""

from collections.abc import Mapping
from typing import Any

from agents.costs.usage import NO_USAGE, Usage

# of one request; more is no count
MAX_TOKENS = 10**9


def counted_usage(
    prompt: Any, completion: Any, *, thinking: Any = 0, cache_read: Any = 0, cache_write: Any = 0
) -> Usage:
    """Return the usage of an answer from what its provider says.

    Args:
        prompt: all that went in, also from caches.
        completion: all that came out, also what was thought.
        thinking: a part of what came out.
        cache_read: a part of what went in.
        cache_write: another part.

    A part that is larger than its whole is cut to it; a sum that is impossible is as none, so that
    the answer is counted by us.
    """
    came_in, came_out = whole_count(prompt), whole_count(completion)
    if came_in is None or came_out is None:
        return NO_USAGE
    if not (thinking or cache_read or cache_write):
        return Usage(came_in, came_out)
    read = min(max(0, _part(cache_read)), came_in)
    return Usage(
        came_in,
        came_out,
        thinking_tokens=min(max(0, _part(thinking)), came_out),
        cache_read_tokens=read,
        cache_write_tokens=min(max(0, _part(cache_write)), came_in - read),
    )


def whole_count(value: Any) -> int | None:
    """Return a whole number that is not negative; None for what is none."""
    if isinstance(value, str) and value.strip().isdecimal():
        value = int(value[:20])
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return int(value) if is_number and 0 <= value <= MAX_TOKENS and value % 1 == 0 else None


def _part(value: Any) -> int:
    """Return a count that may be anything: what is no number is none."""
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return int(value) if is_number and -MAX_TOKENS <= value <= MAX_TOKENS else 0


def count_in(document: Mapping[str, Any], key: str) -> int:
    """Return a count of tokens; 0 for what is none."""
    value = document.get(key)
    if isinstance(value, str) and value.isdecimal() and len(value) < len(str(MAX_TOKENS)):
        value = int(value)
    return max(0, _part(value))


def part_at(document: Any, *path: str) -> Any:
    """Return what stands in objects within objects; 0 where there is none."""
    for name in path:
        if not isinstance(document, dict):
            return 0
        document = document.get(name)
    return document or 0
