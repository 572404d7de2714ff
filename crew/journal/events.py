"""All events of a run: what is stored, and what is only published.

A stored event is kept in two forms: as it is (`encode_event`), from which a run is resumed, and as
clients get it (`crew.journal.wire`). An ephemeral event has no number and is not stored.
"""

from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Literal, get_args

from pydantic import TypeAdapter
from pydantic_core import to_json

from agents.events import (
    AgentDelta,
    AgentFailed,
    AgentResponded,
    AgentStarted,
    ModelCalled,
    ToolAsked,
    ToolProgressed,
    ToolRetried,
    ToolReturned,
    ToolStarted,
    Warned,
)
from agents.model import Usage
from crew.journal.query import Answer, CallDecision, Decision, Query
from tools.approval import Remember
from tools.calls import ToolCall
from tools.forms import Filled, Form

DoneReason = Literal[
    "terminal",
    "signal",
    "no_next_agent",
    "paused",
    "max_handoffs",
    "max_rounds",
    "cancelled",
    "abandoned",
    "no_answer",
]
# by request, or because nobody listens any more
CancelReason = Literal["cancelled", "abandoned"]
ErrorReason = Literal["timeout", "model", "crashed", "unplayable", "internal"]
RunStatus = Literal["running", "paused", "completed", "failed", "cancelled"]
# the reasons that leave a run in another status than `completed`
STATUS_BY_REASON: dict[str, RunStatus] = {
    "paused": "paused",
    **dict.fromkeys(get_args(CancelReason), "cancelled"),
    **dict.fromkeys(get_args(ErrorReason), "failed"),
}
SYSTEM = "system"


def status_of(reason: str) -> RunStatus:
    """The status in which a segment's end leaves its run."""
    return STATUS_BY_REASON.get(reason, "completed")


@dataclass(frozen=True, slots=True)
class RunStarted:
    """A run begins, and with it its first segment."""

    crew: str
    # who speaks first, and its display name
    agent_id: str
    agent: str
    request_id: str
    query: Query


@dataclass(frozen=True, slots=True)
class RunResumed:
    """A further segment begins: with a person's answer, or without one when the wait is over."""

    crew: str
    # who speaks first, and its display name
    agent_id: str
    agent: str
    request_id: str
    answer: Answer
    # nobody answered in time; the answer says so
    expired: bool = False


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
    # the member whose signal led on from a group
    decided_by: str | None = None


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
class AskedCall:
    """A call that a person decides on, and the agent that made it."""

    agent_id: str
    call: ToolCall
    # of the tool's definition and the arguments; "" in events of earlier versions
    hash: str = ""
    # the tool's digest, and its effect
    definition: str = ""
    effect: str = ""
    # method and URL, or argv, filled in; "" where there is nothing more to show
    where: str = ""
    # the kind of its entry
    source: str = ""
    schema: dict[str, Any] = field(default_factory=dict)
    # what the person may do: approve, deny, edit, done; retry, skip, done
    may: tuple[str, ...] = ()
    remember: tuple[Remember, ...] = ()

    def is_meant(self, decision: CallDecision) -> bool:
        """Whether a decision is about this call."""
        return decision.call_id == self.call.id and decision.agent_id in (None, self.agent_id)


@dataclass(frozen=True, slots=True)
class AskingCall:
    """A call whose tool asks a person before it goes on, one form after the other."""

    asked: AskedCall
    forms: tuple[Form, ...]
    # what the tool wants back
    state: str | None
    # what the person has said to the first ones
    filled: tuple[Filled, ...] = ()


@dataclass(frozen=True, slots=True)
class Approval:
    """Why the run is paused: these calls need a person's approval."""

    calls: tuple[AskedCall, ...]
    kind: Literal["approval"] = "approval"
    # where a call does not say what the person may do
    usual: ClassVar[tuple[str, ...]] = ("approve", "deny")

    @property
    def involved(self) -> tuple[AskedCall, ...]:
        """The calls that wait for the answer."""
        return self.calls


@dataclass(frozen=True, slots=True)
class UnknownOutcome:
    """Why the run is paused: these calls had started when the process died.

    Whether they acted is not known, so they are not made again without a person's word.
    """

    calls: tuple[AskedCall, ...]
    kind: Literal["unknown_outcome"] = "unknown_outcome"
    usual: ClassVar[tuple[str, ...]] = ("retry", "skip", "done")

    @property
    def involved(self) -> tuple[AskedCall, ...]:
        """The calls that wait for the answer."""
        return self.calls


@dataclass(frozen=True, slots=True)
class Inquiry:
    """Why the run is paused: tools ask a person before they go on, one form at a time."""

    waiting: tuple[AskingCall, ...]
    kind: Literal["form"] = "form"
    usual: ClassVar[tuple[str, ...]] = ("approve", "deny")

    @property
    def current(self) -> tuple[AskedCall, Form] | None:
        """The form that is asked now, and whose it is; None: all are filled in."""
        for one in self.waiting:
            if len(one.filled) < len(one.forms):
                return one.asked, one.forms[len(one.filled)]
        return None

    @property
    def calls(self) -> tuple[AskedCall, ...]:
        """The call that is asked about now."""
        return (self.current[0],) if self.current is not None else ()

    @property
    def involved(self) -> tuple[AskedCall, ...]:
        """The calls that wait for the answers."""
        return tuple(one.asked for one in self.waiting)

    def answered(self, content: dict[str, Any] | None) -> "Inquiry":
        """With what the person says to the current form; None: no."""
        assert self.current is not None, "there is one"
        call, form = self.current
        filled = Filled(form, content)
        return Inquiry(
            tuple(
                replace(one, filled=(*one.filled, filled)) if one.asked is call else one
                for one in self.waiting
            )
        )


Question = Approval | UnknownOutcome | Inquiry


@dataclass(frozen=True, slots=True)
class Paused:
    """The run waits for a person."""

    agent_id: str
    agent: str
    # None: the agent's own words are the question
    question: Question | None = None
    # RFC 3339: the run goes on then, even without an answer
    until: str | None = None


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


StoredEvent = (
    RunStarted
    | RunResumed
    | Answered
    | RunRetried
    | AgentStarted
    | AgentResponded
    | ToolStarted
    | ToolReturned
    | HandedOff
    | ParallelStarted
    | ParallelEnded
    | Paused
    | Warned
    | Unplayable
    | RunDone
    | RunFailed
)
EphemeralEvent = AgentDelta | AgentFailed | ModelCalled | ToolRetried | ToolProgressed
Event = StoredEvent | EphemeralEvent | ToolAsked

STORED_TYPES: dict[str, type[Any]] = {kind.__name__: kind for kind in get_args(StoredEvent)}
# made when first used: most processes decode few types
_adapters: dict[str, TypeAdapter[Any]] = {}


def encode_event(event: StoredEvent, active_seconds: float) -> str:
    """An event as it is stored: type's name, the run's active time by then, fields; as JSON."""
    return to_json([type(event).__name__, round(active_seconds, 3), event]).decode()


def decode_event(text: str) -> tuple[StoredEvent, float]:
    """The event that was encoded, and the run's active time by then, in seconds.

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
