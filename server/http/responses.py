"""What the server answers beside streams and problems: runs, conversations, the crew."""

from collections.abc import Mapping, Sequence
from typing import Any

from pydantic_core import to_json
from starlette.responses import Response

from crew.journal.records.conversations import Conversation, Exchange, Summary
from crew.journal.records.remembered.core import CoreVersion
from crew.journal.records.remembered.documents import FoundPassage, StoredDocument
from crew.journal.records.remembered.recall import RecallItem
from crew.journal.records.rows import RunRow
from crew.journal.records.viewers import Viewer
from crew.journal.said import Said, describe_attached
from crew.journal.wire import RunEvent, result_of
from crew.routing.signals import Signal, ending_signal

RUN_KEYS = (
    "run_id",
    "status",
    "query",
    "reason",
    "answer",
    "agent_id",
    "started_at",
    "ended_at",
    "paused_agent_id",
    "paused_until",
    "asks",
    "user_id",
    "conversation_id",
    "exchange",
    "source",
    "source_name",
    "revision",
    "tools",
)


class JsonResponse(Response):
    """A JSON answer."""

    media_type = "application/json"

    def render(self, content: Any) -> bytes:
        """Return as bytes."""
        return to_json(content)


def describe_listed_run(row: RunRow) -> dict[str, Any]:
    """Return a run, as lists show it."""
    return {
        **{key: getattr(row, key) for key in RUN_KEYS},
        "usage": row.usage.document(),
        "cost": row.usage.cost_document(),
        "duration_seconds": round(row.duration_seconds, 6),
    }


def describe_waiting_run(row: RunRow, pause: RunEvent | None) -> dict[str, Any]:
    """Return a run with what it asks a person: what its `pause` event has.

    None where it asks nothing.
    """
    waiting = None
    if pause is not None:
        waiting = {**pause.metadata, "agent": pause.agent, "since": pause.timestamp}
        if row.paused_until is None:
            # it had a deadline before its database was restored
            waiting.pop("answer_until", None)
    return {**describe_listed_run(row), "waiting": waiting}


def describe_viewers(viewers: Sequence[Viewer]) -> list[dict[str, Any]]:
    """Return who looks at a run."""
    return [{"viewer": one.viewer, "name": one.name, "since": one.since} for one in viewers]


def describe_inbox_run(
    row: RunRow, pause: RunEvent | None, viewers: Sequence[Viewer]
) -> dict[str, Any]:
    """Return a run of the inbox, with who looks at it now."""
    return {**describe_waiting_run(row, pause), "viewers": describe_viewers(viewers)}


def describe_run(row: RunRow, pause: RunEvent | None) -> dict[str, Any]:
    """Return a run with its result, and what it asks a person."""
    return {
        **describe_waiting_run(row, pause),
        **result_of(row),
        "crew": row.crew,
        "request_id": row.request_id,
        "owner": row.owner,
        "priority": row.priority,
        # by which an answer may name the pause
        "pause": row.pause_seq,
    }


def run_address(run_id: str) -> dict[str, str]:
    """Return where a run is to be seen."""
    url = f"/api/crew/runs/{run_id}"
    return {"run_id": run_id, "url": url, "events": f"{url}/events"}


def accepted(run_id: str, headers: Mapping[str, str] | None = None) -> Response:
    """Return 202: the request will be done; with the address to see it."""
    address = run_address(run_id)
    headers = {"Location": address["url"], **(headers or {})}
    return JsonResponse(address, 202, headers=headers)


def describe_listed_conversation(one: Conversation) -> dict[str, Any]:
    """Return a conversation, as lists show it."""
    return {
        "conversation_id": one.conversation_id,
        "title": one.title,
        "created_at": one.created_at,
        "used_at": one.used_at,
        "exchanges": one.exchanges,
        "status": one.status,
        "run_id": one.run_id,
    }


def describe_conversation(one: Conversation) -> dict[str, Any]:
    """Return a conversation, without its exchanges."""
    user_id = one.owner.partition(":")[2]
    document = {
        **describe_listed_conversation(one),
        "metadata": one.metadata,
        "user_id": user_id or None,
    }
    # `exchanges` are themselves there
    document["exchange_count"] = document.pop("exchanges")
    return document


def describe_exchange(one: Exchange, signals: Sequence[Signal] = ()) -> dict[str, Any]:
    """Return one run of a conversation; `signals`: of the crew, which texts may end with."""
    return {
        "exchange": one.number,
        "run_id": one.run_id,
        "query": one.query,
        "parts": [_shown_part(part, signals) for part in one.said],
        "answer": one.answer,
        **_signal_of(one.answer, signals),
        "agent_id": one.agent_id,
        "agent": one.agent,
        "status": one.status,
        "started_at": one.started_at,
        "ended_at": one.ended_at or None,
        **describe_attached(one.attached),
    }


def _signal_of(text: str, signals: Sequence[Signal]) -> dict[str, str]:
    found = ending_signal(text, signals)
    return {"signal": found} if found else {}


def _shown_part(one: Said, signals: Sequence[Signal]) -> dict[str, Any]:
    """Return what was said between query and answer, where the run paused."""
    return {
        "by": "agent" if one.agent_id else "person",
        "text": one.text,
        "agent_id": one.agent_id or None,
        "agent": one.agent or None,
        **({"decision": True} if one.is_decision else {}),
        **(_signal_of(one.text, signals) if one.agent_id else {}),
        **describe_attached(one.attached),
    }


def describe_summary(one: Summary) -> dict[str, Any]:
    """Return what older exchanges come to."""
    facts = [{"text": f.text, "quote": f.quote, "exchange": f.exchange} for f in one.facts]
    return {
        "version": one.version,
        "through": one.through,
        "summary": one.text,
        "facts": facts,
        "made_at": one.made_at,
    }


def export_document(
    conversation: Conversation,
    exchanges: Sequence[Exchange],
    summary: Summary | None,
    signals: Sequence[Signal] = (),
) -> dict[str, Any]:
    """Return a conversation with exchanges of it; `signals`: see `describe_exchange`."""
    return {
        **describe_conversation(conversation),
        "exchanges": [describe_exchange(one, signals) for one in exchanges],
        "summary": describe_summary(summary) if summary is not None else None,
    }


def describe_item(one: RecallItem) -> dict[str, Any]:
    """Return an item of recall memory."""
    return {
        "id": one.item_id,
        "text": one.text,
        "key": one.key or None,
        "topics": one.topics,
        "importance": one.importance,
        "outcome": one.outcome or None,
        "quote": one.quote or None,
        "source": {
            "conversation": one.conversation_id or None,
            "exchange": one.exchange or None,
            "run": one.run_id or None,
        },
        "created_at": one.created_at,
        "seen": one.seen,
        "seen_at": one.seen_at,
        "recalled_at": one.recalled_at or None,
        "replaced_by": one.replaced_by or None,
        "by": one.by,
        "who": one.who or None,
    }


def describe_document(one: StoredDocument) -> dict[str, Any]:
    """Return a version of a document."""
    return {
        "document_id": one.document_id,
        "collection": one.collection,
        "name": one.name,
        "status": one.status,
        "reason": one.reason or None,
        "summary": one.summary or None,
        "notes": one.notes,
        "kind": one.kind,
        "size": one.size,
        "sha256": one.sha256,
        "chars": one.chars,
        "chunks": one.chunks,
        "created_at": one.created_at,
        "changed_at": one.changed_at,
        "who": one.who or None,
        "replaces": one.replaces or None,
    }


def describe_passage(one: FoundPassage) -> dict[str, Any]:
    """Return a passage that words have found."""
    return {
        "document": one.document.document_id,
        "name": one.document.name,
        "place": one.place or None,
        "from": one.start,
        "to": one.end,
        "text": one.text,
        "score": one.score,
    }


def describe_block(one: CoreVersion) -> dict[str, Any]:
    """Return a block of core memory; before its first change its version is 0."""
    return {
        "block": one.block,
        "value": one.value,
        "version": one.version,
        "changed_at": one.changed_at or None,
        "by": one.by if one.version else None,
        "who": one.who or None,
        "run": one.run_id or None,
        "quote": one.quote or None,
    }
