"""All that a run can say: the union, the envelope, the wire names.

An event is stored as it is (`event`, for the runtime to go on from) and as it is told (`public`,
for clients); what is
only told (`Passing`) has no number and is not stored.
"""

from dataclasses import dataclass
from typing import Any, Literal

from pydantic import TypeAdapter
from pydantic_core import to_json

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
from crew.journal.query import Query
from tools.calls import ToolCall

DoneReason = Literal[
    "terminal",
    "signal",
    "no_next_agent",
    "paused",
    "max_handoffs",
    "max_rounds",
    "cancelled",
    "no_answer",
]
ErrorReason = Literal["timeout", "model", "internal"]
SYSTEM = "system"


@dataclass(frozen=True, slots=True)
class RunStarted:
    """A stretch of a run begins: the run itself, or its going on after a person's answer."""

    crew: str
    # who speaks first, and its display name
    agent_id: str
    agent: str
    request_id: str
    resumed: bool
    query: Query
    # nobody answered in time; the query says so
    expired: bool = False


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
    # where a member's signal led on from a group: that member
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
    # their answers as the crew goes on with them
    joined: str


@dataclass(frozen=True, slots=True)
class Approval:
    """Why the run is paused: these calls need a person's yes."""

    calls: tuple[ToolCall, ...]
    kind: Literal["approval"] = "approval"


@dataclass(frozen=True, slots=True)
class UnknownOutcome:
    """Why the run is paused: these calls had begun when the process died.

    And must not be made twice unasked.
    """

    calls: tuple[ToolCall, ...]
    kind: Literal["unknown_outcome"] = "unknown_outcome"


Question = Approval | UnknownOutcome


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
class RunDone:
    """A stretch has ended in good order."""

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


Stored = (
    RunStarted
    | AgentStarted
    | AgentResponded
    | ToolStarted
    | ToolReturned
    | HandedOff
    | ParallelStarted
    | ParallelEnded
    | Paused
    | Warned
    | RunDone
    | RunFailed
)
Passing = AgentDelta | AgentFailed | ModelCalled | ToolRetried
Event = Stored | Passing

STORED_TYPES: dict[str, type[Any]] = {
    kind.__name__: kind
    for kind in (
        RunStarted,
        AgentStarted,
        AgentResponded,
        ToolStarted,
        ToolReturned,
        HandedOff,
        ParallelStarted,
        ParallelEnded,
        Paused,
        Warned,
        RunDone,
        RunFailed,
    )
}
ADAPTERS: dict[str, TypeAdapter[Any]] = {}


def pack(event: Stored) -> str:
    """An event as it is stored: its type's name and its fields, as JSON."""
    return to_json([type(event).__name__, event]).decode()


def unpack(packed: str) -> Stored:
    """The event that was packed; raises ValueError for one that this version does not know."""
    name, _, rest = packed[2:].partition('",')
    adapter = ADAPTERS.get(name)
    if adapter is None and name not in STORED_TYPES:
        raise ValueError(f"{name} is no event that this version knows")
    if adapter is None:
        adapter = ADAPTERS[name] = TypeAdapter(STORED_TYPES[name])
    event: Stored = adapter.validate_json(rest[:-1])
    return event
