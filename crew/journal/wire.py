"""The envelope: events as clients are told them, and the names they have there."""

from datetime import UTC, datetime, timedelta
from typing import Any, assert_never

from pydantic_core import from_json, to_json

from agents.events import (
    AgentDelta,
    AgentFailed,
    AgentResponded,
    AgentStarted,
    ModelCalled,
    ToolRetried,
    ToolReturned,
    ToolStarted,
    Warned,
)
from agents.model import Usage
from crew.journal.events import (
    Event,
    HandedOff,
    ParallelEnded,
    ParallelStarted,
    Paused,
    RunDone,
    RunFailed,
    RunStarted,
)
from crew.journal.store import RunRow
from tools.calls import ToolCall

SYSTEM = "system"
# how a stretch's last event begins
ENDS = ('{"type":"done"', '{"type":"error"')
# of a run's result, what its last event tells
TOLD = ("reason", "answer", "rounds", "handoffs", "usage", "duration_seconds")


def now(later_seconds: float = 0.0) -> str:
    """This moment, or one later or earlier: RFC 3339, UTC, milliseconds.

    Such texts sort by time.
    """
    return (
        (datetime.now(UTC) + timedelta(seconds=later_seconds))
        .isoformat(timespec="milliseconds")
        .replace("+00:00", "Z")
    )


def public(event: Event, run_id: str, seq: int | None, timestamp: str) -> str | None:
    """An event as clients are told it, as JSON on one line; None for one that they are not told.

    The envelope is `{"type", "agent", "content", "timestamp", "metadata"}`; `seq` is None for what
    is not stored.
    """
    told = _wire(event)
    if told is None:
        return None
    type_, agent, content, agent_id, adds = told
    metadata = {
        "run_id": run_id,
        **({} if seq is None else {"seq": seq}),
        "agent_id": agent_id,
        **adds,
    }
    return to_json(
        {
            "type": type_,
            "agent": agent,
            "content": content,
            "timestamp": timestamp,
            "metadata": metadata,
        },
        inf_nan_mode="null",
    ).decode()


def outcome_of(row: RunRow) -> dict[str, Any]:
    """A run's result as clients are told it."""
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


def ends(public: str) -> bool:
    """Whether an event, as clients are told it, is the last of a stretch."""
    return public.startswith(ENDS)


def outcome_in(public: str) -> dict[str, Any] | None:
    """The result that a `done` or a `gap` tells, in the form of `outcome_of`.

    None for another event.
    """
    event = from_json(public)
    data = event["metadata"]
    match event["type"]:
        case "gap":
            snapshot: dict[str, Any] = data["snapshot"]
            return snapshot
        case "done":
            status = {"paused": "paused", "cancelled": "cancelled"}.get(data["reason"], "completed")
            return {
                "run_id": data["run_id"],
                "status": status,
                "agent_id": data["agent_id"],
                **{key: data[key] for key in TOLD},
            }
        case _:
            return None


def gap(row: RunRow, first: int, last: int) -> str:
    """What stands for the events from `first` to `last`, which are no longer kept.

    The run as it came out.
    """
    metadata = {
        "run_id": row.run_id,
        "seq": last,
        "agent_id": None,
        "from": first,
        "to": last,
        "snapshot": outcome_of(row),
    }
    content = f"Events {first} to {last} are no longer kept"
    told = {
        "type": "gap",
        "agent": SYSTEM,
        "content": content,
        "timestamp": row.ended_at,
        "metadata": metadata,
    }
    return to_json(told).decode()


def ping(run_id: str) -> str:
    """What a silent stream says so that nobody takes it for dead."""
    return to_json(
        {
            "type": "ping",
            "agent": SYSTEM,
            "content": "",
            "timestamp": now(),
            "metadata": {"run_id": run_id},
        }
    ).decode()


def usage_of(usage: Usage) -> dict[str, Any]:
    """Usage as clients are told it."""
    told: dict[str, Any] = {
        "prompt_tokens": usage.prompt_tokens,
        "completion_tokens": usage.completion_tokens,
        "total_tokens": usage.total_tokens,
    }
    return {**told, "cost_usd": round(usage.cost_usd, 8)} if usage.cost_usd else told


def _call(call: ToolCall) -> dict[str, Any]:
    return {"call_id": call.id, "tool": call.tool, "arguments": call.arguments}


def _wire(event: Event) -> tuple[str, str, str, str | None, dict[str, Any]] | None:
    """Type, display name, content, agent id, and what the type adds."""
    match event:
        case RunStarted():
            adds: dict[str, Any] = {
                "crew": event.crew,
                "entry_agent": event.agent_id,
                "request_id": event.request_id,
                "resumed": event.resumed,
            }
            adds |= {"expired": True} if event.expired else {}
            return "start", SYSTEM, "Starting crew execution", event.agent_id, adds
        case AgentStarted():
            return (
                "agent_start",
                event.agent,
                f"Starting {event.agent}",
                event.agent_id,
                {"round": event.round, "model": event.model, "group": event.group},
            )
        case AgentDelta():
            return "agent_delta", event.agent, event.text, event.agent_id, {"group": event.group}
        case AgentResponded():
            adds = {
                "round": event.round,
                "duration_seconds": round(event.duration_seconds, 6),
                "usage": usage_of(event.usage),
                "model": event.model,
                "tool_calls": [_call(call) for call in event.calls],
                "group": event.group,
            }
            return "agent_response", event.agent, event.content, event.agent_id, adds
        case ToolStarted(call=call):
            adds = {
                "tool": call.tool,
                "call_id": call.id,
                "arguments": call.arguments,
                "timeout_seconds": round(event.timeout_seconds, 3),
                "group": event.group,
            }
            return (
                "tool_start",
                event.agent,
                f"[Tool] {call.tool} → Executing",
                event.agent_id,
                adds,
            )
        case ToolReturned(result=result):
            adds = {
                "tool": result.tool,
                "call_id": result.call_id,
                "status": result.status,
                "attempts": result.attempts,
                "duration_seconds": round(result.duration_seconds, 6),
                "group": event.group,
            }
            mark = "✅" if result.status == "success" else "❌"
            return (
                "tool_result",
                event.agent,
                f"{mark} [Tool] {result.tool} → {result.output}",
                event.agent_id,
                adds,
            )
        case HandedOff():
            adds = {
                "from": event.from_,
                "to": event.to,
                "why": event.why,
                "signal": event.signal,
                "also_found": event.also_found,
                "source": event.source,
            }
            return (
                "handoff",
                event.agent,
                f"{event.from_} → {event.to}",
                event.decided_by or event.from_,
                adds,
            )
        case ParallelStarted():
            return (
                "parallel_start",
                SYSTEM,
                event.group,
                None,
                {"agents": event.agents, "failed": []},
            )
        case ParallelEnded():
            return (
                "parallel_end",
                SYSTEM,
                event.group,
                None,
                {"agents": event.agents, "failed": event.failed},
            )
        case Paused(question=question):
            adds = {"paused_agent_id": event.agent_id}
            adds |= {"answer_until": event.until} if event.until is not None else {}
            if question is not None:
                adds |= {
                    "question": question.kind,
                    "calls": [_call(call) for call in question.calls],
                }
            return (
                "pause",
                event.agent,
                f"[PAUSE:{event.agent_id}] Waiting for user input",
                event.agent_id,
                adds,
            )
        case Warned():
            return (
                "warning",
                event.agent,
                event.message,
                event.agent_id,
                {"code": event.code, "retryable": event.retryable, "group": event.group},
            )
        case RunFailed():
            return (
                "error",
                event.agent,
                event.message,
                event.agent_id,
                {
                    "code": event.code,
                    "retryable": event.retryable,
                    "reason": event.reason,
                    "duration_seconds": round(event.duration_seconds, 6),
                },
            )
        case RunDone():
            adds = {
                "reason": event.reason,
                "answer": event.answer,
                "rounds": event.rounds,
                "handoffs": event.handoffs,
                "usage": usage_of(event.usage),
                "duration_seconds": round(event.duration_seconds, 6),
            }
            return "done", SYSTEM, "Execution completed", event.agent_id, adds
        case AgentFailed() | ModelCalled() | ToolRetried():
            return None
        case _:
            assert_never(event)
