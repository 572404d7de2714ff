"""What a run is asked: by a client to start it, or by a person to go on."""

from dataclasses import dataclass
from typing import Literal

Role = Literal["user", "assistant", "system"]
Verdict = Literal["approve", "deny", "retry", "skip", "done"]


@dataclass(frozen=True, slots=True)
class Said:
    """One message of a history that a client gives."""

    role: Role
    content: str


@dataclass(frozen=True, slots=True)
class Query:
    """A question to a crew, or an answer to its pause."""

    text: str
    history: tuple[Said, ...] = ()
    # start at this agent instead of the entry
    agent_id: str | None = None
    # tell the words as they are written
    deltas: bool = False
    # to a pause that asks about calls; None: the text says it
    decision: Verdict | None = None
    # with `done`: what the call gave
    result: str = ""
