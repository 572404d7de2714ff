"""A kind of chores: what does one, and where it waits."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from crew.journal.records.conversations import Chore, ChoreKind

# of all that call models
HELPERS_LANE = "helpers"
# does a chore; returns its outcome: done, more (done, and there is more of
# it), skipped, stale or postponed (by itself, to a later time)
Do = Callable[[Chore], Awaitable[str]]


@dataclass(frozen=True, slots=True)
class ChoreWork:
    """An entry of the registry of chores."""

    kind: ChoreKind
    # kinds of one lane share its places, so that one lane holds up no other
    lane: str
    do: Do
    # it is done by the crew's helper of its name, and waits while the crew has none
    needs_helper: bool = False
    # how long it may take, where it needs no helper
    seconds: float = 60.0
    # one that fails again and again is given up; else it is tried for ever
    gives_up: bool = True
