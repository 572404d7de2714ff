"""All events of a run: what is stored, and what is only published.

A stored event is kept in two forms: as it is (`encode_event`), from which a run is resumed, and as
clients get it (`crew.journal.wire`). An ephemeral event has no number and is not stored.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

from pydantic import TypeAdapter
from pydantic_core import to_json

from agents.costs.usage import NO_USAGE, Usage
from agents.events import (
    AgentDelta,
    AgentFailed,
    AgentResponded,
    AgentStarted,
    Compacted,
    ContextShown,
    FailedRequest,
    ModelCalled,
    Shown,
    ToolAsked,
    ToolProgressed,
    ToolRetried,
    ToolReturned,
    ToolStarted,
    Warned,
)
from crew.journal.planned.events import PlanEnded, Planned, PlanReviewed, TaskEnded, TaskStarted
from crew.journal.query import Answer, Decision, Query
from crew.journal.questions import Question
from crew.journal.remembered.events import MemoryNotice, RememberedEvent
from crew.journal.remembered.sources import ShownPassage

DoneReason = Literal[
    "terminal",
    "signal",
    "output",
    "direct",
    "no_next_agent",
    "paused",
    "max_handoffs",
    "max_rounds",
    "cancelled",
    "abandoned",
    "no_answer",
    "budget",
]
# by request, or because no client listens any more
CancelReason = Literal["cancelled", "abandoned"]
ErrorReason = Literal["timeout", "model", "budget", "crashed", "unplayable", "internal"]
RunStatus = Literal["running", "paused", "completed", "failed", "cancelled"]
# the reasons that leave a run in another status than `completed`
STATUS_BY_REASON: dict[str, RunStatus] = {
    "paused": "paused",
    **dict.fromkeys(get_args(CancelReason), "cancelled"),
}
SYSTEM = "system"


def status_of(reason: str) -> RunStatus:
    """Return the status in which the end of a segment leaves its run, if it has not failed."""
    return STATUS_BY_REASON.get(reason, "completed")


@dataclass(frozen=True, slots=True)
class InConversation:
    """Which exchange of a conversation a run is; "" and 0 for none."""

    conversation_id: str = ""
    exchange: int = 0


NO_CONVERSATION = InConversation()


@dataclass(frozen=True, slots=True)
class RunStarted:
    """A run begins, and with it its first segment."""

    crew: str
    # who speaks first, and its display name
    agent_id: str
    agent: str
    request_id: str
    query: Query
    conversation: InConversation = NO_CONVERSATION
    # W3C, of the request; "" where it had none
    traceparent: str = ""


@dataclass(frozen=True, slots=True)
class RunResumed:
    """A further segment begins: with a person's answer, or without one when the wait is over."""

    crew: str
    # who speaks first, and its display name
    agent_id: str
    agent: str
    request_id: str
    answer: Answer
    # no answer came in time; the answer says so
    expired: bool = False
    conversation: InConversation = NO_CONVERSATION
    # W3C, of the request; "" where it had none
    traceparent: str = ""


@dataclass(frozen=True, slots=True)
class Answered:
    """What a person has said or decided."""

    # the number of the `pause` event
    pause_seq: int | None
    answer: Answer
    # on which tools, and what: each call's
    decided: tuple[tuple[str, Decision], ...] = ()


@dataclass(frozen=True, slots=True)
class RunRetried:
    """A further segment begins: the step at which the run failed is made again."""

    crew: str
    # the current agent, and its display name
    agent_id: str
    agent: str
    request_id: str
    # "RUN:N": the events before this one are a copy of that run's first N
    forked_from: str = ""
    conversation: InConversation = NO_CONVERSATION
    # W3C, of the request; "" where it had none
    traceparent: str = ""


@dataclass(frozen=True, slots=True)
class HandedOff:
    """The current agent changes; `to` may be a group, and `from_` one that has ended."""

    from_: str
    to: str
    why: str
    signal: str | None
    also_found: tuple[str, ...]
    source: str | None
    # display name of the agent that leads on
    agent: str
    # the member whose answer led on from a group
    decided_by: str | None = None
    # by output: the fields of the answer that decided
    matched: dict[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class ParallelStarted:
    """The members of a group begin."""

    group: str
    agents: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ParallelEnded:
    """A group has ended."""

    group: str
    # those that answered, in the order of the configuration
    agents: tuple[str, ...]
    failed: tuple[str, ...]
    # their answers as the next agent is shown them
    joined: str


@dataclass(frozen=True, slots=True)
class Paused:
    """The run waits for a person."""

    agent_id: str
    agent: str
    # None: the agent's own words are the question
    question: Question | None = None
    # RFC 3339: the run goes on then, even without an answer
    until: str | None = None
    # what in the files makes it wait for words, as `file:line`; a question's calls have their own
    source: str | None = None


@dataclass(frozen=True, slots=True)
class Unplayable:
    """No process can play the run: what it was started with is nowhere."""

    # RFC 3339: the run fails then, unless a process can play it by then
    until: str
    message: str


@dataclass(frozen=True, slots=True)
class RunDone:
    """A segment has ended in good order."""

    reason: DoneReason
    agent_id: str
    answer: str
    rounds: int
    handoffs: int
    usage: Usage
    # active time of the whole run so far
    duration_seconds: float
    # of it, by stage: context, models, tools
    stages: dict[str, float] = field(default_factory=dict)
    conversation: InConversation = NO_CONVERSATION
    # what in the files ends it here, as `file:line`; None where nothing does
    source: str | None = None
    # what was shown to people in the segment
    shows: tuple[Shown, ...] = ()
    # passages of documents that were shown in the run
    sources: tuple[ShownPassage, ...] = ()
    # requests that no answer followed
    failed: tuple[FailedRequest, ...] = ()
    # that ends the run; "" where none does
    signal: str = ""

    @property
    def all_stages(self) -> dict[str, float]:
        """What the active time went to, in seconds; `other` is the rest."""
        rest = self.duration_seconds - sum(self.stages.values())
        return {**self.stages, "other": round(max(0.0, rest), 6)}


@dataclass(frozen=True, slots=True)
class RunFailed:
    """The run has failed."""

    reason: ErrorReason
    code: str
    message: str
    agent_id: str | None
    agent: str
    retryable: bool
    duration_seconds: float
    # requests that no answer followed
    failed: tuple[FailedRequest, ...] = ()
    # the budget without room, as `file:line`; None: another reason
    source: str | None = None
    # of the whole run so far; None: stored before it was kept
    usage: Usage | None = None


StoredEvent = (
    RunStarted
    | RunResumed
    | Answered
    | RunRetried
    | AgentStarted
    | AgentResponded
    | ToolStarted
    | Shown
    | ToolReturned
    | HandedOff
    | ParallelStarted
    | ParallelEnded
    | Planned
    | TaskStarted
    | TaskEnded
    | PlanReviewed
    | PlanEnded
    | Paused
    | ContextShown
    | Compacted
    | RememberedEvent
    | Warned
    | Unplayable
    | RunDone
    | RunFailed
)
EphemeralEvent = (
    AgentDelta | AgentFailed | ModelCalled | ToolRetried | ToolProgressed | MemoryNotice
)
Event = StoredEvent | EphemeralEvent | ToolAsked


def usage_of(event: StoredEvent) -> Usage:
    """Return what was used for an event: by the answer, and by requests without one."""
    match event:
        case AgentResponded(usage=usage, failed=failed):
            return usage_with(usage, failed) if failed else usage
        case Compacted(usage=usage):
            return usage
        case Warned(failed=failed) | RunDone(failed=failed) | RunFailed(failed=failed):
            return usage_with(NO_USAGE, failed)
        case _:
            return NO_USAGE


def status_after(event: RunDone | RunFailed) -> RunStatus:
    """Return the status in which the end of a segment leaves its run."""
    return "failed" if isinstance(event, RunFailed) else status_of(event.reason)


def usage_with(usage: Usage, failed: Sequence[FailedRequest]) -> Usage:
    """Return a usage with that of failed requests."""
    return sum((one.usage for one in failed), usage)


STORED_TYPES: dict[str, type[Any]] = {kind.__name__: kind for kind in get_args(StoredEvent)}
# made when first used: most processes decode few types
_adapters: dict[str, TypeAdapter[Any]] = {}


def encode_event(event: StoredEvent, active_seconds: float) -> str:
    """Encode an event as JSON: its type's name, the run's active time by then, its fields."""
    return to_json([type(event).__name__, round(active_seconds, 3), event]).decode()


def decode_event(text: str) -> tuple[StoredEvent, float]:
    """Decode the event that was encoded, and the run's active time by then, in seconds.

    Raises:
        ValueError: this version does not know it.
    """
    name, _, rest = text[2:].partition('",')
    seconds, _, fields = rest.partition(",")
    if name not in STORED_TYPES:
        raise ValueError(f"{name} is no event that this version knows")
    if name not in _adapters:
        _adapters[name] = TypeAdapter(STORED_TYPES[name])
    event: StoredEvent = _adapters[name].validate_json(fields[:-1])
    return event, float(seconds)
