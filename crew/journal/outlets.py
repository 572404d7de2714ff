"""Where the events of all runs of a process go."""

from collections.abc import Callable
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Protocol

from crew.journal.events import Event
from crew.journal.records.notices import MakeNotices, make_no_notices
from crew.journal.store import RunStore
from crew.journal.wire import RunEvent
from tools.clock import Clock

# run_id and request_id of the run that something is done for; log lines have them
current_run: ContextVar[tuple[str, str] | None] = ContextVar("current_run", default=None)


class Listener(Protocol):
    """Gets the events of every run, but for text as it is written; must not raise nor wait."""

    def __call__(self, run_id: str, event: Event) -> None:
        """Handle an event."""
        ...


Publish = Callable[[RunEvent], None]


@dataclass(frozen=True, slots=True)
class Outlets:
    """Where the events of all runs of a process go."""

    store: RunStore
    clock: Clock
    listeners: tuple[Listener, ...] = ()
    # what others are told of an event that changes a run's row
    notices: MakeNotices = make_no_notices
