"""How far each schedule has come: which of its times have been dealt with, by any process."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal, Protocol

# by hand: a person has started it, at another time
DueOutcome = Literal["started", "by_hand", "skipped", "missed", "paused"]
# that a state keeps
KEPT_TIMES = 10


@dataclass(frozen=True, slots=True)
class DueTime:
    """What came of one time of a schedule."""

    # RFC 3339, UTC
    due_at: str
    outcome: DueOutcome
    # "" where it has started none
    run_id: str = ""


@dataclass(frozen=True, slots=True)
class ScheduleState:
    """Of one schedule. Times are RFC 3339, UTC."""

    # its cron expression and time zone; a schedule with others begins anew
    definition: str
    # the newest of its times that has been dealt with
    due_at: str
    # whether the run of that time has yet to be started
    pending: bool = False
    # the run that it has started last
    run_id: str = ""
    # who has paused it, and when; "": it is not paused
    paused_by: str = ""
    paused_at: str = ""
    # what came of its newest times, newest last
    ended: tuple["DueTime", ...] = ()

    def noted(self, outcome: DueOutcome, times: Sequence[str], run_id: str = "") -> "ScheduleState":
        """Return it with what came of some times."""
        new = [DueTime(one, outcome, run_id) for one in times]
        return replace(self, ended=(*self.ended, *new)[-KEPT_TIMES:])


class ScheduleLog(Protocol):
    """Keeps the states of schedules, by name. Methods raise StoreError."""

    async def states(self) -> dict[str, tuple[ScheduleState, int]]:
        """Return all of them, each with its version."""
        ...

    async def move(self, name: str, state: ScheduleState, version: int | None) -> bool:
        """Replace the state with this version; None: there is no state yet.

        Returns:
            Whether it was replaced: of several processes only one succeeds.
        """
        ...

    async def forget(self, name: str) -> None:
        """Delete the state of a schedule that there is no more."""
        ...


def key_of(crew: str, name: str) -> str:
    """Return the name under which a crew's schedule is kept.

    Several crews may have one database.
    """
    return f"{crew}:{name}"
