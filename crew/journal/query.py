"""What a run is asked: by a client to start it, or by a person to go on."""

import re
from dataclasses import dataclass
from typing import Literal

# all but line feed, carriage return and tab; and halves of surrogate pairs, which have no UTF-8
# form
CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff]")
Role = Literal["user", "assistant", "system"]
Verdict = Literal["approve", "deny", "retry", "skip", "done"]


def text_flaw(text: str) -> str | None:
    """Why a text cannot be taken from a person or a program; None if it can."""
    if found := CONTROL.search(text):
        return f"has the character U+{ord(found[0]):04X}; of control characters only line feed, carriage return and tab are taken"
    return None


@dataclass(frozen=True, slots=True)
class Said:
    """One message of a history that a client gives."""

    role: Role
    content: str


@dataclass(frozen=True, slots=True)
class Once:
    """A request that begins nothing a second time.

    Its client's key, and a fingerprint of what it asks.
    """

    key: str
    fingerprint: str


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
    # the number of the `pause` event that is answered; None: whichever the run is in
    pause: int | None = None
