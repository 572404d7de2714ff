"""Two runs side by side; pure."""

import difflib
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from itertools import starmap, zip_longest
from typing import Any

from crew.journal.records.rows import RunRow
from server.history.steps import RunStep

# of a text that is compared, and of a difference that is shown
MAX_TEXT, MAX_LINES = 20_000, 400
# in more steps those that come often are not looked for: the time would grow with the square
MAX_EXACT_STEPS = 2_000


def comparison(
    rows: tuple[RunRow, RunRow], steps: tuple[Sequence[RunStep], Sequence[RunStep]]
) -> dict[str, Any]:
    """Return what two runs have in common, and where they part.

    Args:
        rows: of both.
        steps: of both.

    Returns:
        `runs` (with tokens, cost and time), `apart` (the differences of these), `steps` (aligned,
        each with `a`, `b`, `same`, and a `diff` of texts that differ), `first` (the number of the
        first step that differs, from 1; None: none does), `same_revision`.
    """
    a, b = rows
    aligned = list(_aligned(*steps))
    first = next((place for place, one in enumerate(aligned, 1) if not one["same"]), None)
    return {
        "runs": [_summary(row) for row in rows],
        "apart": {
            "tokens": b.usage.total_tokens - a.usage.total_tokens,
            "cost_usd": round(b.usage.cost_usd - a.usage.cost_usd, 9),
            "duration_seconds": round(b.duration_seconds - a.duration_seconds, 6),
        },
        "same_revision": a.revision == b.revision,
        "first": first,
        "steps": aligned,
    }


def _aligned(a: Sequence[RunStep], b: Sequence[RunStep]) -> Iterator[dict[str, Any]]:
    whats = [one.what for one in a], [one.what for one in b]
    is_long = max(map(len, whats)) > MAX_EXACT_STEPS
    matcher = difflib.SequenceMatcher(None, *whats, autojunk=is_long)
    for _, a_from, a_to, b_from, b_to in matcher.get_opcodes():
        yield from starmap(_pair, zip_longest(a[a_from:a_to], b[b_from:b_to]))


def _pair(one: RunStep | None, other: RunStep | None) -> dict[str, Any]:
    document: dict[str, Any] = {
        "a": asdict(one) if one is not None else None,
        "b": asdict(other) if other is not None else None,
        "same": False,
    }
    if one is not None and other is not None and one.what == other.what:
        # the texts of models and tools are seldom the same
        document["same"] = True
        if one.text != other.text:
            document["diff"] = _text_diff(one.text, other.text)
    return document


def _text_diff(one: str, other: str) -> str:
    old, new = (text[:MAX_TEXT].splitlines() for text in (one, other))
    lines = list(difflib.unified_diff(old, new, "a", "b", lineterm="", n=2))
    return "\n".join(lines[:MAX_LINES])


def _summary(row: RunRow) -> dict[str, Any]:
    return {
        "run_id": row.run_id,
        "query": row.query,
        "status": row.status,
        "reason": row.reason,
        "answer": row.answer,
        "started_at": row.started_at,
        "revision": row.revision,
        "usage": row.usage.document(),
        "cost": row.usage.cost_document(),
        "duration_seconds": round(row.duration_seconds, 6),
    }
