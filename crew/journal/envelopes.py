"""What each type of event contributes to what clients get."""

from collections.abc import Callable
from typing import Any, NamedTuple

from agents.costs.usage import Usage
from agents.events import (
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
from crew.journal.events import (
    SYSTEM,
    Answered,
    HandedOff,
    InConversation,
    ParallelEnded,
    ParallelStarted,
    Paused,
    RunDone,
    RunFailed,
    RunResumed,
    RunRetried,
    RunStarted,
    Unplayable,
    usage_of,
)
from crew.journal.query import CallDecision
from crew.journal.questions import PendingCall, question_facts
from crew.journal.remembered.sources import source_documents
from crew.journal.said import describe_attached
from tools.calls import ToolCall


class Envelope(NamedTuple):
    """What an event's type contributes to its RunEvent; a tuple, which is cheap to make."""

    type: str
    agent: str
    content: str
    agent_id: str | None
    metadata: dict[str, Any]


def _call(call: ToolCall) -> dict[str, Any]:
    return {"call_id": call.id, "tool": call.tool, "arguments": call.arguments}


def _run_started(event: RunStarted) -> Envelope:
    return _start(event, {"resumed": False, **describe_attached(event.query.attachments)})


def _run_resumed(event: RunResumed) -> Envelope:
    more = describe_attached(event.answer.attachments) | (
        {"expired": True} if event.expired else {}
    )
    return _start(event, {"resumed": True, **more})


def _run_retried(event: RunRetried) -> Envelope:
    forked = {"forked_from": event.forked_from} if event.forked_from else {}
    return _start(event, {"resumed": True, "retried": True, **forked})


def _start(event: RunStarted | RunResumed | RunRetried, adds: dict[str, Any]) -> Envelope:
    metadata = {
        "crew": event.crew,
        "entry_agent": event.agent_id,
        "request_id": event.request_id,
        **adds,
        **_conversation(event.conversation),
        **({"traceparent": event.traceparent} if event.traceparent else {}),
    }
    return Envelope("start", SYSTEM, "Starting crew execution", event.agent_id, metadata)


def _conversation(of: InConversation) -> dict[str, Any]:
    return (
        {} if not of.exchange else {"conversation_id": of.conversation_id, "exchange": of.exchange}
    )


def _agent_started(event: AgentStarted) -> Envelope:
    metadata = {"round": event.round, "model": event.model, "group": event.group}
    return Envelope("agent_start", event.agent, f"Starting {event.agent}", event.agent_id, metadata)


def _agent_responded(event: AgentResponded) -> Envelope:
    metadata = {
        "round": event.round,
        "duration_seconds": round(event.duration_seconds, 6),
        "usage": event.usage.document(),
        "model": event.model,
        "tool_calls": [_call(call) for call in event.calls],
        "group": event.group,
    }
    metadata |= {"provider": event.provider} if event.provider else {}
    spent = usage_of(event)
    if spent.cost_usd or spent.unpriced or spent.estimated:
        metadata["cost"] = spent.cost_document()
    if event.words is not None or event.invalid:
        metadata |= event.typed_document
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
    if event.approved_by is not None:
        metadata |= {"approved_by": event.approved_by, "edited": event.edited}
    if event.grant:
        metadata["grant"] = event.grant
    content = f"[Tool] {call.tool} → Executing"
    return Envelope("tool_start", event.agent, content, event.agent_id, metadata)


def _tool_progressed(event: ToolProgressed) -> Envelope:
    call, progress = event.progressed.call, event.progressed.progress
    metadata = {
        "tool": call.tool,
        "call_id": call.id,
        "progress": progress.progress,
        "total": progress.total,
        "message": progress.message,
        "group": event.group,
    }
    content = f"[Tool] {call.tool} → {progress.message or progress.progress}"
    return Envelope("tool_progress", event.agent, content, event.agent_id, metadata)


def _shown(event: Shown) -> Envelope:
    metadata = event.document | {"group": event.group}
    return Envelope(
        "show", event.agent, f"{event.tool} → {event.component}", event.agent_id, metadata
    )


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
        **result.facts,
    }
    mark = "✅" if result.status == "success" else "❌"
    content = f"{mark} [Tool] {result.tool} → {result.output}"
    return Envelope("tool_result", event.agent, content, event.agent_id, metadata)


def _handed_off(event: HandedOff) -> Envelope:
    metadata: dict[str, Any] = {
        "from": event.from_,
        "to": event.to,
        "why": event.why,
        "signal": event.signal,
        "also_found": event.also_found,
        "source": event.source,
    }
    if event.matched is not None:
        metadata["matched"] = event.matched
    leader = event.decided_by or event.from_
    return Envelope("handoff", event.agent, f"{event.from_} → {event.to}", leader, metadata)


def _parallel(event: ParallelStarted | ParallelEnded) -> Envelope:
    failed = event.failed if isinstance(event, ParallelEnded) else ()
    type_ = "parallel_end" if isinstance(event, ParallelEnded) else "parallel_start"
    return Envelope(type_, SYSTEM, event.group, None, {"agents": event.agents, "failed": failed})


def _asked(one: PendingCall) -> dict[str, Any]:
    return {
        **_call(one.call),
        "agent_id": one.agent_id,
        "effect": one.effect,
        "where": one.where,
        "source": one.source,
        "schema": one.schema,
        "hash": one.hash,
        "may": one.may,
        "remember": one.remember,
        **({"untrusted": one.untrusted} if one.untrusted else {}),
    }


def _answered(event: Answered) -> Envelope:
    answer = event.answer
    metadata: dict[str, Any] = {"pause_seq": event.pause_seq, "by": answer.by}
    metadata |= {"decision": answer.decision} if answer.decision is not None else {}
    if answer.decisions:
        metadata["decisions"] = [_decision(one) for one in answer.decisions]
    content = answer.text or answer.result or answer.decides
    return Envelope("answered", answer.by or "user", content, None, metadata)


def _decision(one: CallDecision) -> dict[str, Any]:
    known = {
        "call_id": one.call_id,
        "agent_id": one.agent_id,
        "decision": one.decision,
        "arguments": one.arguments,
        "reason": one.reason or None,
        "result": one.result or None,
        "remember": one.remember,
        "patterns": one.patterns or None,
    }
    return {key: value for key, value in known.items() if value is not None}


def _paused(event: Paused) -> Envelope:
    metadata: dict[str, Any] = {"paused_agent_id": event.agent_id}
    if event.until is not None:
        metadata["answer_until"] = event.until
    if (question := event.question) is not None:
        metadata |= {"question": question.kind, "calls": [_asked(one) for one in question.calls]}
        metadata |= question_facts(question)
    content = f"[PAUSE:{event.agent_id}] Waiting for user input"
    return Envelope("pause", event.agent, content, event.agent_id, metadata)


def _warned(event: Warned) -> Envelope:
    metadata = {"code": event.code, "retryable": event.retryable, "group": event.group}
    return Envelope("warning", event.agent, event.message, event.agent_id, metadata)


def _unplayable(event: Unplayable) -> Envelope:
    metadata = {"code": "unplayable", "retryable": False, "group": None, "until": event.until}
    return Envelope("warning", SYSTEM, event.message, None, metadata)


def _run_failed(event: RunFailed) -> Envelope:
    metadata = {
        "code": event.code,
        "retryable": event.retryable,
        "reason": event.reason,
        "duration_seconds": round(event.duration_seconds, 6),
        **(_spent(event.usage) if event.usage is not None else {}),
    }
    return Envelope("error", event.agent, event.message, event.agent_id, metadata)


def _spent(usage: Usage) -> dict[str, Any]:
    return {"usage": usage.document(), "cost": usage.cost_document()}


def _run_done(event: RunDone) -> Envelope:
    metadata = {
        "reason": event.reason,
        "answer": event.answer,
        "rounds": event.rounds,
        "handoffs": event.handoffs,
        **_spent(event.usage),
        "duration_seconds": round(event.duration_seconds, 6),
        "stages": event.all_stages,
        **({"signal": event.signal} if event.signal else {}),
        **_conversation(event.conversation),
        **({"shows": [one.document for one in event.shows]} if event.shows else {}),
        **({"sources": source_documents(event.sources, event.answer)} if event.sources else {}),
    }
    content = "Waiting for an answer" if event.reason == "paused" else "Execution completed"
    return Envelope("done", SYSTEM, content, event.agent_id, metadata)


def _context_shown(event: ContextShown) -> Envelope:
    blocks = [
        {
            "kind": block.kind,
            "name": block.name or None,
            "ids": block.ids,
            "versions": block.versions,
            "tokens": block.tokens,
            "left_out": block.left_out,
            "load_millis": round(block.load_millis, 3),
        }
        for block in event.blocks
    ]
    metadata = {
        "group": event.group,
        "window_tokens": event.window_tokens,
        "tokens": event.tokens,
        "blocks": blocks,
    }
    content = f"{event.agent} is shown about {event.tokens} tokens"
    return Envelope("context", event.agent, content, event.agent_id, metadata)


def _compacted(event: Compacted) -> Envelope:
    metadata = {
        "group": event.group,
        "through": event.through,
        "tokens_before": event.tokens_before,
        "tokens_after": event.tokens_after,
    }
    content = f"Older messages of this run are shortened for {event.agent}"
    return Envelope("compacted", event.agent, content, event.agent_id, metadata)


# events that are not here are for metrics only
ENVELOPES: dict[type[Any], Callable[[Any], Envelope]] = {
    RunStarted: _run_started,
    RunResumed: _run_resumed,
    RunRetried: _run_retried,
    AgentStarted: _agent_started,
    AgentResponded: _agent_responded,
    ToolStarted: _tool_started,
    Shown: _shown,
    ToolProgressed: _tool_progressed,
    ToolReturned: _tool_returned,
    HandedOff: _handed_off,
    ParallelStarted: _parallel,
    ParallelEnded: _parallel,
    Paused: _paused,
    Answered: _answered,
    Warned: _warned,
    Unplayable: _unplayable,
    RunFailed: _run_failed,
    RunDone: _run_done,
    ContextShown: _context_shown,
    Compacted: _compacted,
}
