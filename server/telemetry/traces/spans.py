"""A run's events as spans: a pure function of the log, with the same ids in any process.

Each segment is a trace: `invoke_workflow` > `invoke_agent` > `chat`, `execute_tool`. An agent's
span is its visit, until it hands over; members of a group, tasks and agents as tools stand side by
side. A span is complete when it ends, and only then is it given out.
"""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import NamedTuple

from crew.journal.state import MEMBER_CODES
from crew.journal.wire import RunEvent, Speaker
from server.telemetry.traces import names
from tools.clock import EPOCH
from tools.tracing import TraceContext, derive_span_id, derive_tool_span_id, derive_trace_id

Attributes = dict[str, str | int | float]
# of events that are noted at the workflow, and what of their metadata
NOTED = {
    "handoff": ("from", "to", "why", "signal", "source"),
    "warning": ("code",),
    "parallel_start": (),
    "parallel_end": (),
    "pause": ("question", "paused_agent_id"),
}


# the flags of a trace, from its id and the place of a caller that it goes on from
FlagsOf = Callable[[str, TraceContext | None], int]


class SpanEvent(NamedTuple):
    """Something that happens within a span."""

    name: str
    # nanoseconds since 1970
    at: int
    attributes: Attributes


@dataclass(slots=True)
class Span:
    """Something that takes time in a run."""

    name: str
    context: TraceContext
    # None: it begins a trace; that of a caller where it is remote
    parent: TraceContext | None
    # nanoseconds since 1970
    start: int
    attributes: Attributes
    end: int = 0
    is_remote: bool = False
    events: list[SpanEvent] = field(default_factory=list)
    link: TraceContext | None = None
    # why it has failed: a code
    error: str = ""

    @property
    def operation(self) -> str:
        """What kind of span it is."""
        return str(self.attributes[names.OPERATION])

    def fail(self, code: str) -> None:
        """Note that it has failed."""
        self.error = self.attributes[names.ERROR_TYPE] = code


class SpanFold:
    """Makes spans of a run's events, from the first one on."""

    def __init__(
        self, run_id: str, revision: str, flags_of: FlagsOf, *, contents: bool = False
    ) -> None:
        """Of a run.

        Args:
            run_id: the run.
            revision: of the crew's files with which it is played.
            flags_of: says which traces are recorded.
            contents: messages, arguments and results are wanted too.
        """
        self.run_id, self.revision, self.contents = run_id, revision, contents
        self._flags_of = flags_of
        self._first: TraceContext | None = None
        self._workflow: Span | None = None
        self._agents: dict[Speaker, Span] = {}
        self._chats: dict[Speaker, Span] = {}
        # by the key that no other call has; and the call's own id
        self._tools: dict[str, tuple[Span, str]] = {}

    def add(self, event: RunEvent) -> list[Span]:
        """Add an event, and return the spans that end with it; what they are part of comes later.

        Events of one run, in their order; those that are not stored change nothing.
        """
        if event.seq is None:
            return []
        kind = event.type
        if kind == "start":
            left = [*self._end_all(event)]
            self._begin(event)
            return left
        if self._workflow is None:
            # its beginning is no longer kept
            return []
        if kind in NOTED:
            self._note(self._workflow, event)
        match kind:
            case "agent_start":
                self._start_agent(self._workflow, event)
            case "agent_response":
                return [*self._end_chat(event)]
            case "tool_start":
                self._start_tool(event)
            case "tool_result":
                return [*self._end_tool(event)]
            case "handoff":
                return [*self._end_agents(event, group="", task="", call="")]
            case "parallel_end":
                return [*self._end_agents(event, group=event.content)]
            case "task_end":
                return [*self._end_agents(event, task=event.metadata["task"])]
            case "warning":
                return [*self._fail_chat(event)]
            case "done" | "error":
                return [*self._end_all(event)]
        return []

    def _begin(self, event: RunEvent) -> None:
        data, seq = event.metadata, event.seq or 0
        caller = TraceContext.parse(data.get("traceparent", ""))
        trace = trace_of_segment(self.run_id, seq, caller, self._flags_of)
        own = trace.at(derive_span_id(self.run_id, seq, names.WORKFLOW))
        attributes: Attributes = {
            names.OPERATION: names.WORKFLOW,
            names.WORKFLOW_NAME: data["crew"],
            names.RUN_ID: self.run_id,
        }
        if self.revision:
            attributes[names.REVISION] = self.revision
        if "conversation_id" in data:
            attributes[names.CONVERSATION_ID] = data["conversation_id"]
        name = f"{names.WORKFLOW} {data['crew']}"
        self._workflow = Span(
            name, own, caller, nanoseconds(event), attributes, is_remote=caller is not None
        )
        if self._first is None:
            self._first = own
        elif not data.get("forked_from"):
            self._workflow.link = self._first

    def _start_agent(self, workflow: Span, event: RunEvent) -> None:
        data, at, who = event.metadata, nanoseconds(event), event.speaker
        agent = self._agents.get(who)
        if agent is None:
            agent = self._child(self._parent_of(who, workflow), names.AGENT, event.seq, at)
            agent.name = f"{names.AGENT} {event.agent}"
            agent.attributes[names.AGENT_ID] = data["agent_id"]
            agent.attributes[names.AGENT_NAME] = event.agent
            agent.attributes |= {
                key: value for key, value in ((names.GROUP, who[1]), (names.TASK, who[2])) if value
            }
            self._agents[who] = agent
        chat = self._child(agent, names.CHAT, event.seq, at)
        chat.name = f"{names.CHAT} {data['model']}"
        chat.attributes[names.AGENT_ID] = data["agent_id"]
        chat.attributes[names.REQUEST_MODEL] = data["model"]
        chat.attributes[names.ROUND] = data["round"]
        self._chats[who] = chat

    def _parent_of(self, who: Speaker, workflow: Span) -> Span:
        """Return what an agent's span is part of: the call of it as a tool, or the workflow."""
        for tool, call_id in self._tools.values():
            if who[3] and call_id == who[3]:
                return tool
        return workflow

    def _end_chat(self, event: RunEvent) -> Iterator[Span]:
        chat = self._chats.pop(event.speaker, None)
        if chat is None:
            return
        data, used, attributes = event.metadata, event.metadata["usage"], chat.attributes
        if data.get("provider"):
            provider = data["provider"]
            attributes[names.PROVIDER_NAME] = names.PROVIDERS.get(provider, provider)
        attributes[names.RESPONSE_MODEL] = data["model"]
        attributes[names.INPUT_TOKENS] = used["prompt_tokens"]
        attributes[names.OUTPUT_TOKENS] = used["completion_tokens"]
        for key, name in (
            ("cache_read", names.CACHE_READ_TOKENS),
            ("cache_write", names.CACHE_WRITE_TOKENS),
            ("thinking", names.THINKING_TOKENS),
            ("cost_usd", names.COST_USD),
        ):
            if used.get(key):
                attributes[name] = used[key]
        if self.contents:
            attributes[names.OUTPUT_MESSAGES] = _message("assistant", event.content)
        yield _ended(chat, event)

    def _fail_chat(self, event: RunEvent) -> Iterator[Span]:
        """End the model call of a member that has failed: its warning says so."""
        code = event.metadata["code"]
        chat = self._chats.pop(event.speaker, None) if code in MEMBER_CODES else None
        if chat is not None:
            chat.fail(code)
            yield _ended(chat, event)

    def _start_tool(self, event: RunEvent) -> None:
        key = self._call_key(event)
        if key in self._tools:
            # it is made again, after a crash
            return
        agent = self._agents.get(event.speaker) or self._workflow
        assert agent is not None, "a segment has begun"
        tool = self._child(agent, names.TOOL, None, nanoseconds(event), key)
        data = event.metadata
        tool.name = f"{names.TOOL} {data['tool']}"
        tool.attributes |= {
            names.TOOL_NAME: data["tool"],
            names.TOOL_TYPE: "function",
            names.TOOL_CALL_ID: data["call_id"],
        }
        if self.contents and "arguments" in data:
            arguments = json.dumps(data["arguments"], ensure_ascii=False)
            tool.attributes[names.TOOL_ARGUMENTS] = arguments
        self._tools[key] = tool, data["call_id"]

    def _end_tool(self, event: RunEvent) -> Iterator[Span]:
        data = event.metadata
        yield from self._end_agents(event, call=data["call_id"])
        # a call that was never made has a result too
        self._start_tool(event)
        tool, _ = self._tools.pop(self._call_key(event))
        tool.attributes[names.ATTEMPTS] = data["attempts"]
        if data["status"] != "success":
            tool.fail(data["status"])
        if self.contents:
            tool.attributes[names.TOOL_RESULT] = data["output"]
        yield _ended(tool, event)

    def _end_agents(
        self,
        event: RunEvent,
        *,
        group: str | None = None,
        task: str | None = None,
        call: str | None = None,
    ) -> Iterator[Span]:
        """End the visits of those who speak in a part of the run."""
        wanted = (group, task, call)
        for who, agent in [*self._agents.items()]:
            if all(one is None or one == own for one, own in zip(wanted, who[1:], strict=True)):
                if (chat := self._chats.pop(who, None)) is not None:
                    yield _ended(chat, event)
                del self._agents[who]
                yield _ended(agent, event)

    def _end_all(self, event: RunEvent) -> Iterator[Span]:
        """End the segment, with all that is still open in it."""
        workflow = self._workflow
        if workflow is None:
            return
        code = event.metadata["code"] if event.type == "error" else ""
        still_open = [*self._chats.values(), *(tool for tool, _ in self._tools.values())]
        if code:
            # what was under way when the run failed
            for span in [*still_open, *self._agents.values(), workflow]:
                span.fail(code)
        for span in [*still_open, *reversed(self._agents.values())]:
            yield _ended(span, event)
        self._chats.clear()
        self._tools.clear()
        self._agents.clear()
        self._workflow = None
        if event.type == "done":
            cost = event.metadata.get("cost", {}).get("usd")
            workflow.attributes |= {names.COST_USD: cost} if cost else {}
            if self.contents and event.metadata["reason"] != "paused":
                answer = _message("assistant", event.metadata["answer"])
                workflow.attributes[names.OUTPUT_MESSAGES] = answer
        if "reason" in event.metadata:
            workflow.attributes[names.REASON] = event.metadata["reason"]
        yield _ended(workflow, event)

    def _note(self, workflow: Span, event: RunEvent) -> None:
        known = ((key, event.metadata.get(key)) for key in NOTED[event.type])
        attributes: Attributes = {
            f"crew.{key}": value if isinstance(value, int | float) else str(value)
            for key, value in known
            if value is not None
        }
        if event.metadata.get("agent_id"):
            attributes[names.AGENT_ID] = event.metadata["agent_id"]
        workflow.events.append(SpanEvent(f"crew.{event.type}", nanoseconds(event), attributes))

    def _child(
        self, parent: Span, operation: str, seq: int | None, at: int, call_key: str = ""
    ) -> Span:
        span_id = (
            derive_tool_span_id(call_key)
            if call_key
            else derive_span_id(self.run_id, seq or 0, operation)
        )
        attributes: Attributes = {names.OPERATION: operation, names.RUN_ID: self.run_id}
        return Span("", parent.context.at(span_id), parent.context, at, attributes)

    def _call_key(self, event: RunEvent) -> str:
        """Return the key of a call, as `ToolContext.key` is."""
        data = event.metadata
        if data["group"] is None:
            return f"{self.run_id}-{data['call_id']}"
        return f"{self.run_id}-{data['agent_id']}-{data['call_id']}"


def trace_of_segment(
    run_id: str, seq: int, caller: TraceContext | None, flags_of: FlagsOf
) -> TraceContext:
    """Return the trace of the segment that begins with an event, before its first span."""
    trace_id = derive_trace_id(run_id, seq) if caller is None else caller.trace_id
    return TraceContext(trace_id, "", flags_of(trace_id, caller))


def nanoseconds(event: RunEvent) -> int:
    """Return when an event was recorded, in nanoseconds since 1970."""
    since = datetime.fromisoformat(event.timestamp) - EPOCH
    return since // timedelta(microseconds=1) * 1000


def _message(role: str, text: str) -> str:
    """Return a message as the conventions write it: JSON."""
    parts = [{"type": "text", "content": text}]
    return json.dumps([{"role": role, "parts": parts}], ensure_ascii=False)


def _ended(span: Span, event: RunEvent) -> Span:
    span.end = nanoseconds(event)
    return span
