"""Events as clients get them: one envelope, typed until it is sent, encoded once for all."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any

from pydantic_core import from_json, to_json

from agents.events import (
    AgentDelta,
    AgentResponded,
    AgentStarted,
    Compacted,
    ContextShown,
    Shown,
    ToolProgressed,
    ToolReturned,
    ToolStarted,
    Warned,
)
from crew.journal.envelopes import ENVELOPES
from crew.journal.events import SYSTEM, Event, status_of
from crew.journal.planned.envelopes import PLAN_ENVELOPES
from crew.journal.records.rows import Record, RunRow
from crew.journal.remembered.envelopes import MEMORY_ENVELOPES
from crew.journal.remembered.events import DocumentsShown, MemoryChanged, Tainted

LAST_OF_SEGMENT = frozenset({"done", "error"})
MAKERS = {**ENVELOPES, **PLAN_ENVELOPES, **MEMORY_ENVELOPES}
# events that may be of a task of a plan, or of an agent as a tool
WITH_PARTS = frozenset(
    {
        *(AgentStarted, AgentResponded, ToolStarted, Shown, ToolProgressed, ToolReturned, Warned),
        *(ContextShown, Compacted, MemoryChanged, Tainted, DocumentsShown),
    }
)
# of a run's result, what its last event has
RESULT_KEYS = ("reason", "answer", "rounds", "handoffs", "usage", "cost", "duration_seconds")

# U+0085, U+2028 and U+2029 as JSON escapes them; in JSON they stand only in texts
ENDS = ((b"\xc2\x85", b"\\u0085"), (b"\xe2\x80\xa8", b"\\u2028"), (b"\xe2\x80\xa9", b"\\u2029"))

# who speaks: agent, group, task of a plan, call of the agent as a tool; "" for none
Speaker = tuple[str, str, str, str]


@dataclass(frozen=True, slots=True)
class RunEvent:
    """An event as clients get it."""

    type: str
    # None for what is not stored
    seq: int | None
    # display name; "system" for the crew's own
    agent: str
    content: str
    # RFC 3339, UTC
    timestamp: str
    metadata: Mapping[str, Any]
    # the event as JSON on one line, the same bytes for every reader
    encoded: str = field(repr=False)

    @property
    def ends_segment(self) -> bool:
        """Whether it is the last event of a segment."""
        return self.type in LAST_OF_SEGMENT

    @property
    def speaker(self) -> Speaker:
        """Who it is of."""
        data = self.metadata
        parts = data.get("group"), data.get("task"), data.get("call")
        return data.get("agent_id") or "", parts[0] or "", parts[1] or "", parts[2] or ""

    @classmethod
    def of_record(cls, record: Record) -> "RunEvent":
        """Return a stored event."""
        return cls.decode(record.seq, record.public)

    @classmethod
    def decode(cls, seq: int | None, encoded: str) -> "RunEvent":
        """Decode an event that a store, or another process, has encoded."""
        data = from_json(encoded)
        return cls(
            data["type"],
            seq,
            data["agent"],
            data["content"],
            data["timestamp"],
            data["metadata"],
            encoded,
        )


def to_run_event(event: Event, run_id: str, seq: int | None, timestamp: str) -> RunEvent | None:
    """Return an event as clients get it; None for one that they do not."""
    if isinstance(event, AgentDelta):
        return _delta(event, run_id, timestamp)
    make = MAKERS.get(type(event))
    if make is None:
        return None
    envelope = make(event)
    metadata: dict[str, Any] = {"run_id": run_id}
    if seq is not None:
        metadata["seq"] = seq
    metadata["agent_id"] = envelope.agent_id
    metadata |= envelope.metadata
    if type(event) in WITH_PARTS:
        # looked at by its type, which is twice as fast as `isinstance`
        parted: Any = event
        if parted.task or parted.within:
            metadata |= _part(parted.task, parted.within)
    return _encoded(envelope.type, seq, envelope.agent, envelope.content, timestamp, metadata)


def _part(task: str, within: str) -> dict[str, str]:
    """Return of which part of a run an event is: a task of a plan, a call of an agent as a tool."""
    call = within.partition("/")[2]
    return {**({"task": task} if task else {}), **({"call": call} if call else {})}


def _delta(event: AgentDelta, run_id: str, timestamp: str) -> RunEvent:
    """Return a piece of text, of which there are more than of all other events."""
    type_ = "agent_thinking" if event.is_thinking else "agent_delta"
    who = event.agent_id, event.agent, event.group, event.task, event.within
    metadata, head, tail = _around(type_, run_id, *who, begins=event.begins)
    text = on_one_line(to_json(event.text)).decode()
    encoded = f'{head}{text},"timestamp":"{timestamp}",{tail}'
    return RunEvent(type_, None, event.agent, event.text, timestamp, {**metadata}, encoded)


def on_one_line(encoded: bytes) -> bytes:
    """Return JSON in UTF-8 without characters that end a line for some readers of streams."""
    if not encoded.isascii():
        for sign, escape in ENDS:
            encoded = encoded.replace(sign, escape)
    return encoded


def joined_pieces(first: RunEvent, text: str, timestamp: str) -> RunEvent:
    """Return one piece in place of several: of the first one's text, up to a moment."""
    return _encoded(first.type, None, first.agent, text, timestamp, {**first.metadata})


@lru_cache(maxsize=1000)
def _around(
    type_: str,
    run_id: str,
    agent_id: str,
    agent: str,
    group: str | None,
    task: str,
    within: str,
    *,
    begins: bool,
) -> tuple[Mapping[str, Any], str, str]:
    """Return what all pieces of an agent's text in a run have.

    Metadata, and the JSON around the text.
    """
    metadata: dict[str, Any] = {"run_id": run_id, "agent_id": agent_id, "group": group}
    metadata |= _part(task, within)
    metadata |= {"begins": True} if begins else {}
    head = f'{{"type":"{type_}","agent":{to_json(agent).decode()},"content":'
    return metadata, head, f'"metadata":{to_json(metadata).decode()}}}'


def _encoded(
    type_: str,
    seq: int | None,
    agent: str,
    content: str,
    timestamp: str,
    metadata: dict[str, Any],
) -> RunEvent:
    document = {
        "type": type_,
        "agent": agent,
        "content": content,
        "timestamp": timestamp,
        "metadata": metadata,
    }
    encoded = on_one_line(to_json(document, inf_nan_mode="null")).decode()
    return RunEvent(type_, seq, agent, content, timestamp, metadata, encoded)


def record_of_run(record: Record, run_id: str) -> Record:
    """Return a stored event as another run's: a copy, but for the run that it names."""
    public = from_json(record.public)
    public["metadata"]["run_id"] = run_id
    return replace(record, public=to_json(public, inf_nan_mode="null").decode())


def gap(row: RunRow, first: int, last: int) -> RunEvent:
    """Build the event that replaces those from `first` to `last`, which are no longer kept."""
    metadata = {
        "run_id": row.run_id,
        "seq": last,
        "agent_id": None,
        "from": first,
        "to": last,
        "last": row.last_seq,
        "snapshot": result_of(row),
    }
    content = f"Events {first} to {last} are no longer kept"
    return _encoded("gap", last, SYSTEM, content, row.ended_at or "", metadata)


def ping(run_id: str, timestamp: str) -> RunEvent:
    """Build the event that keeps a silent stream open."""
    return _encoded("ping", None, SYSTEM, "", timestamp, {"run_id": run_id})


def events_lost(run_id: str, last: int, timestamp: str) -> RunEvent:
    """Build the event for readers of the events to `last`: some are lost, and all come again."""
    metadata = {
        "run_id": run_id,
        "seq": 0,
        "agent_id": None,
        "code": "events_lost",
        "from": 1,
        "to": last,
    }
    content = (
        "The database came back without its last commits; this run's events come again, from "
        "the first one"
    )
    return _encoded("warning", 0, SYSTEM, content, timestamp, metadata)


def result_of(row: RunRow) -> dict[str, Any]:
    """Return a run's result as clients get it."""
    return {
        "run_id": row.run_id,
        "status": row.status,
        "reason": row.reason,
        "answer": row.answer,
        "agent_id": row.agent_id,
        "rounds": row.rounds,
        "handoffs": row.handoffs,
        "usage": row.usage.document(),
        "cost": row.usage.cost_document(),
        "duration_seconds": round(row.duration_seconds, 6),
    }


def result_in(event: RunEvent) -> dict[str, Any] | None:
    """Return the result in a `done` or a `gap`, in the form of `result_of`; None for others."""
    data = event.metadata
    if event.type == "gap":
        snapshot: dict[str, Any] = data["snapshot"]
        return snapshot
    if event.type != "done":
        return None
    result = {"run_id": data["run_id"], "status": status_of(data["reason"])}
    # events of earlier versions have no cost
    result |= {key: data[key] for key in RESULT_KEYS if key in data}
    return {**result, "agent_id": data["agent_id"]}
