"""What has happened in a run, in order: what is stored, and what is only published."""

from collections import Counter
from dataclasses import dataclass, field
from datetime import datetime

from pydantic_core import from_json

from agents.events import ModelCalled
from crew.backends.memory import MemoryStore
from crew.journal.events import Event, StoredEvent, decode_event
from crew.journal.records.rows import Page, Record


@dataclass(frozen=True, slots=True)
class Noted:
    """An event that is stored, and when it was, in seconds since the start."""

    event: StoredEvent
    seconds: float


@dataclass(slots=True)
class Tape:
    """Counts what is only published, by run; a Listener."""

    model_calls: Counter[str] = field(default_factory=Counter)

    def __call__(self, run_id: str, event: Event) -> None:
        """See Listener."""
        if isinstance(event, ModelCalled):
            self.model_calls[run_id] += 1


async def stored_events(store: MemoryStore, run_id: str) -> Page:
    """Return all events of a run that are stored."""
    page = await store.records(run_id)
    while not page.is_last:
        more = await store.records(run_id, page[-1].seq)
        page = Page([*page, *more], is_last=more.is_last)
    return page


def noted(page: Page, start: datetime) -> list[Noted]:
    """Decode events; `start`: of the rehearsal."""
    out = []
    for record in page:
        seconds = (moment_of(record) - start).total_seconds()
        out.append(Noted(decode_event(record.event)[0], seconds))
    return out


def moment_of(record: Record) -> datetime:
    """Return when an event was."""
    return datetime.fromisoformat(from_json(record.public)["timestamp"])
