"""Events as clients get them: one envelope, typed until it is sent, encoded once for all."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from pydantic_core import from_json, to_json

from agents.events import (
    AgentDelta,
    AgentResponded,
    AgentStarted,
    ToolReturned,
    ToolStarted,
    Warned,
)
from agents.model import Usage
from crew.journal.events import (
    SYSTEM,
    Event,
    HandedOff,
    ParallelEnded,
    ParallelStarted,
    Paused,
    RunDone,
    RunFailed,
    RunResumed,
    RunStarted,
    status_of,
)
from crew.journal.store import Record, RunRow
from tools.calls import ToolCall

LAST_OF_SEGMENT = frozenset({"done", "error"})
# of a run's result, what its last event has
RESULT_KEYS = ("reason", "answer", "rounds", "handoffs", "usage", "duration_seconds")


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

    @classmethod
    def of_record(cls, record: Record) -> "RunEvent":
        """A stored event."""
        return cls.decode(record.seq, record.public)

    @classmethod
    def decode(cls, seq: int | None, encoded: str) -> "RunEvent":
        """An event that a store, or another process, has encoded."""
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


@dataclass(frozen=True, slots=True)
class Envelope:
    """What an event's type contributes to its RunEvent."""

    type: str
    agent: str
    content: str
    agent_id: str | None
    metadata: dict[str, Any]


def to_run_event(event: Event, run_id: str, seq: int | None, timestamp: str) -> RunEvent | None:
    """An event as clients get it; None for one that they do not."""
    make = ENVELOPES.get(type(event))
    if make is None:
        return None
    envelope = make(event)
    metadata: dict[str, Any] = {"run_id": run_id}
    if seq is not None:
        metadata["seq"] = seq
    metadata["agent_id"] = envelope.agent_id
    metadata |= envelope.metadata
    return _encoded(envelope.type, seq, envelope.agent, envelope.content, timestamp, metadata)


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
    encoded = to_json(document, inf_nan_mode="null").decode()
    return RunEvent(type_, seq, agent, content, timestamp, metadata, encoded)


def gap(row: RunRow, first: int, last: int) -> RunEvent:
    """Stands for the events from `first` to `last`, which are no longer kept; has the result."""
    metadata = {
        "run_id": row.run_id,
        "seq": last,
        "agent_id": None,
        "from": first,
        "to": last,
        "snapshot": result_of(row),
    }
    content = f"Events {first} to {last} are no longer kept"
    return _encoded("gap", last, SYSTEM, content, row.ended_at or "", metadata)


def ping(run_id: str, timestamp: str) -> RunEvent:
    """Keeps a silent stream open."""
    return _encoded("ping", None, SYSTEM, "", timestamp, {"run_id": run_id})


def result_of(row: RunRow) -> dict[str, Any]:
    """A run's result as clients get it."""
    return {
        "run_id": row.run_id,
        "status": row.status,
        "reason": row.reason,
        "answer": row.answer,
        "agent_id": row.agent_id,
        "rounds": row.rounds,
        "handoffs": row.handoffs,
        "usage": usage_of(row.usage),
        "duration_seconds": round(row.duration_seconds, 6),
    }


def result_in(event: RunEvent) -> dict[str, Any] | None:
    """The result that a `done` or a `gap` has, in the form of `result_of`; None for others."""
    data = event.metadata
    if event.type == "gap":
        snapshot: dict[str, Any] = data["snapshot"]
        return snapshot
    if event.type != "done":
        return None
    result = {"run_id": data["run_id"], "status": status_of(data["reason"])}
    result |= {key: data[key] for key in RESULT_KEYS}
    return {**result, "agent_id": data["agent_id"]}


def usage_of(usage: Usage) -> dict[str, Any]:
    """Usage as clients get it."""
    document: dict[str, Any] = {
        "prompt_tokens": usage.prompt_tokens,
        "completion_tokens": usage.completion_tokens,
        "total_tokens": usage.total_tokens,
    }
    if usage.cost_usd:
        document["cost_usd"] = round(usage.cost_usd, 8)
    return document


def _call(call: ToolCall) -> dict[str, Any]:
    return {"call_id": call.id, "tool": call.tool, "arguments": call.arguments}


def _run_started(event: RunStarted) -> Envelope:
    return _start(event, {"resumed": False})


def _run_resumed(event: RunResumed) -> Envelope:
    return _start(event, {"resumed": True, **({"expired": True} if event.expired else {})})


def _start(event: RunStarted | RunResumed, adds: dict[str, Any]) -> Envelope:
    metadata = {
        "crew": event.crew,
        "entry_agent": event.agent_id,
        "request_id": event.request_id,
        **adds,
    }
    return Envelope("start", SYSTEM, "Starting crew execution", event.agent_id, metadata)


def _agent_started(event: AgentStarted) -> Envelope:
    metadata = {"round": event.round, "model": event.model, "group": event.group}
    content = f"Starting {event.agent}"
    return Envelope("agent_start", event.agent, content, event.agent_id, metadata)


def _agent_delta(event: AgentDelta) -> Envelope:
    metadata = {"group": event.group}
    return Envelope("agent_delta", event.agent, event.text, event.agent_id, metadata)


def _agent_responded(event: AgentResponded) -> Envelope:
    metadata = {
        "round": event.round,
        "duration_seconds": round(event.duration_seconds, 6),
        "usage": usage_of(event.usage),
        "model": event.model,
        "tool_calls": [_call(call) for call in event.calls],
        "group": event.group,
    }
    return Envelope("agent_response", event.agent, event.content, event.agent_id, metadata)


def _tool_started(event: ToolStarted) -> Envelope:
    call = event.call
    metadata = {
        "tool": call.tool,
        "call_id": call.id,
        "arguments": call.arguments,
        "timeout_seconds": round(event.timeout_seconds, 3),
        "group": event.group,
    }
    content = f"[Tool] {call.tool} → Executing"
    return Envelope("tool_start", event.agent, content, event.agent_id, metadata)


def _tool_returned(event: ToolReturned) -> Envelope:
    result = event.result
    metadata = {
        "tool": result.tool,
        "call_id": result.call_id,
        "status": result.status,
        "attempts": result.attempts,
        "duration_seconds": round(result.duration_seconds, 6),
        "output": result.output,
        "group": event.group,
    }
    mark = "✅" if result.status == "success" else "❌"
    content = f"{mark} [Tool] {result.tool} → {result.output}"
    return Envelope("tool_result", event.agent, content, event.agent_id, metadata)


def _handed_off(event: HandedOff) -> Envelope:
    metadata = {
        "from": event.from_,
        "to": event.to,
        "why": event.why,
        "signal": event.signal,
        "also_found": event.also_found,
        "source": event.source,
    }
    content = f"{event.from_} → {event.to}"
    leader = event.decided_by or event.from_
    return Envelope("handoff", event.agent, content, leader, metadata)


def _parallel_started(event: ParallelStarted) -> Envelope:
    metadata = {"agents": event.agents, "failed": []}
    return Envelope("parallel_start", SYSTEM, event.group, None, metadata)


def _parallel_ended(event: ParallelEnded) -> Envelope:
    metadata = {"agents": event.agents, "failed": event.failed}
    return Envelope("parallel_end", SYSTEM, event.group, None, metadata)


def _paused(event: Paused) -> Envelope:
    metadata: dict[str, Any] = {"paused_agent_id": event.agent_id}
    if event.until is not None:
        metadata["answer_until"] = event.until
    if event.question is not None:
        metadata["question"] = event.question.kind
        metadata["calls"] = [_call(call) for call in event.question.calls]
    content = f"[PAUSE:{event.agent_id}] Waiting for user input"
    return Envelope("pause", event.agent, content, event.agent_id, metadata)


def _warned(event: Warned) -> Envelope:
    metadata = {"code": event.code, "retryable": event.retryable, "group": event.group}
    return Envelope("warning", event.agent, event.message, event.agent_id, metadata)


def _run_failed(event: RunFailed) -> Envelope:
    metadata = {
        "code": event.code,
        "retryable": event.retryable,
        "reason": event.reason,
        "duration_seconds": round(event.duration_seconds, 6),
    }
    return Envelope("error", event.agent, event.message, event.agent_id, metadata)


def _run_done(event: RunDone) -> Envelope:
    metadata = {
        "reason": event.reason,
        "answer": event.answer,
        "rounds": event.rounds,
        "handoffs": event.handoffs,
        "usage": usage_of(event.usage),
        "duration_seconds": round(event.duration_seconds, 6),
    }
    paused = event.reason == "paused"
    content = "Waiting for an answer" if paused else "Execution completed"
    return Envelope("done", SYSTEM, content, event.agent_id, metadata)


# events that are not here are for metrics only
ENVELOPES: dict[type[Any], Callable[[Any], Envelope]] = {
    RunStarted: _run_started,
    RunResumed: _run_resumed,
    AgentStarted: _agent_started,
    AgentDelta: _agent_delta,
    AgentResponded: _agent_responded,
    ToolStarted: _tool_started,
    ToolReturned: _tool_returned,
    HandedOff: _handed_off,
    ParallelStarted: _parallel_started,
    ParallelEnded: _parallel_ended,
    Paused: _paused,
    Warned: _warned,
    RunFailed: _run_failed,
    RunDone: _run_done,
}
