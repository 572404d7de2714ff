"""What a run took; pure."""

from collections.abc import Iterator

from crew.journal.records.rows import RunRow
from crew.rehearsal.judging.story import Story
from crew.rehearsal.keys.expected import AtMost


def amounts(story: Story, row: RunRow, model_calls: int, seconds: float) -> dict[str, float]:
    """Return what a run took, by the keys of `at_most`."""
    return {
        "rounds": story.rounds,
        "handoffs": story.handoffs,
        "model_calls": model_calls,
        "tool_calls": sum(1 for _ in story.made),
        "tokens": row.usage.total_tokens,
        "usd": row.usage.cost_usd,
        "seconds": seconds,
    }


def over(limits: AtMost, taken: dict[str, float]) -> Iterator[tuple[str, str]]:
    """Yield what is over its limit: the key, and why."""
    for name, amount in taken.items():
        limit = getattr(limits, name)
        if limit is not None and amount > limit:
            yield name, f"{name} is {amount:g}, more than {limit:g}"
