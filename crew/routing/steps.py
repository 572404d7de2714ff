"""What can follow an answer: a Handoff, a Fork, a Pause or a Finish, each with its reason."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

Why = Literal[
    "signal",
    "output",
    "invalid",
    "plan",
    "default",
    "handoff_target",
    "order",
    "group",
    "no_answer",
]
EndReason = Literal["terminal", "signal", "output", "no_next_agent", "no_answer"]
# why a run ends before its agents have done their work
LIMIT_REASONS = frozenset({"max_handoffs", "max_rounds", "budget"})


@dataclass(frozen=True, slots=True)
class Group:
    """One of `routing.parallel_groups`."""

    name: str
    agents: tuple[str, ...]
    wait_for_all: bool
    timeout_seconds: float
    next_agent: str | None


@dataclass(frozen=True, slots=True)
class Reason:
    """Why the run goes where it goes."""

    why: Why
    signal: str | None = None
    # other signals that were found
    also_found: tuple[str, ...] = ()
    # what in the files says so, as `file:line`
    source: str | None = None
    # by output: the fields of the answer that decided
    matched: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class Handoff:
    """Another agent speaks next."""

    to: str
    reason: Reason


@dataclass(frozen=True, slots=True)
class Fork:
    """A group speaks next."""

    group: Group
    reason: Reason


@dataclass(frozen=True, slots=True)
class Pause:
    """The run pauses for a person."""

    agent_id: str
    # what in the files says so, as `file:line`
    source: str | None = None


@dataclass(frozen=True, slots=True)
class Finish:
    """The run ends in good order."""

    reason: EndReason
    agent_id: str
    # after a group: the answer is that of the deciding agent; otherwise the joined text
    decided: bool = True
    # what in the files says so, as `file:line`; None where nothing does
    source: str | None = None
    # that is acted on; "" where none is
    signal: str = ""


NextStep = Handoff | Fork | Pause | Finish
