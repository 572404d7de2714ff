"""A run as one document."""

from collections.abc import Sequence
from typing import Any

from crew.journal.records.audit import AuditEntry
from crew.journal.wire import RunEvent


def run_document(
    run: dict[str, Any], revision: str, events: Sequence[RunEvent], audit: Sequence[AuditEntry]
) -> dict[str, Any]:
    """Return a run with all that is kept of it.

    Args:
        run: as GET /api/crew/runs/{id} gives it.
        revision: of the files that it was started with.
        events: of the run, in order.
        audit: what people did with it, oldest first.

    Returns:
        `run` (with its cost), `revision`, `events`, `decisions` (what people have said and decided,
        and who), `audit`.
    """
    return {
        "run": run,
        "revision": revision,
        "events": [_event(one) for one in events],
        "decisions": [_decision(one) for one in events if one.type == "answered"],
        "audit": [
            {"at": one.at, "action": one.action, "by": one.name or None, "detail": one.detail}
            for one in audit
        ],
    }


def _event(event: RunEvent) -> dict[str, Any]:
    return {
        "type": event.type,
        "seq": event.seq,
        "agent": event.agent,
        "content": event.content,
        "timestamp": event.timestamp,
        "metadata": dict(event.metadata),
    }


def _decision(event: RunEvent) -> dict[str, Any]:
    kept = {
        key: value
        for key, value in event.metadata.items()
        if key not in ("run_id", "seq", "agent_id", "by")
    }
    by = event.metadata.get("by") or None
    return {"at": event.timestamp, "by": by, "text": event.content, **kept}
