"""Numbers an event, stores it, then tells it; nothing is told that is not stored, and nothing leaves the process before."""

import asyncio
from collections.abc import Callable
from typing import Protocol

from crew.events import Event, Passing, Stored, pack
from crew.state import Status
from crew.stores.contract import Record, RunRow, RunStore
from crew.wire import now, public


class Listener(Protocol):
    """Someone who is told every event of every run, such as the metrics; must not raise nor wait."""

    def __call__(self, run_id: str, event: Event) -> None:
        """Take notice of an event."""
        ...


# (seq, or None for what is not stored; the event as clients are told it)
Tell = Callable[[int | None, str], None]


class Journal:
    """The book of one run. Events that are recorded without a wait between them are stored together."""

    def __init__(self, run_id: str, store: RunStore, tell: Tell, listeners: tuple[Listener, ...], seq: int = 0) -> None:
        """`seq`: the number of the last event that the store has."""
        self.run_id, self.store, self.tell, self.listeners, self.seq = run_id, store, tell, listeners, seq
        self._waiting: list[tuple[Record, Stored]] = []
        self._row: RunRow | None = None
        self._writing: asyncio.Task[None] | None = None

    def record(self, event: Stored, row: RunRow | None = None) -> None:
        """Take an event down, and the run's row with it if it changes; it is stored and then told soon."""
        self._waiting.append((self._numbered(event), event))
        self._row = row or self._row
        if self._writing is None or self._writing.done():
            self._writing = asyncio.create_task(self._write())

    async def begin(self, event: Stored, row: RunRow, expected: Status | None = None) -> bool:
        """Store the first event of a stretch; False, and nothing stored, if the run's status is not the one expected."""
        record = self._numbered(event)
        if not await self.store.append(self.run_id, [record], row, expected):
            return False
        self._told(record, event)
        return True

    def pass_on(self, event: Passing) -> None:
        """Tell what is not stored."""
        told = public(event, self.run_id, None, now())
        if told is not None:
            self.tell(None, told)
        for listener in self.listeners:
            listener(self.run_id, event)

    async def settled(self) -> None:
        """Wait until all that was recorded is stored and told; raises StoreError if it could not be."""
        if self._writing is not None:
            # the writing goes on when the run that waits for it is cancelled
            await asyncio.shield(self._writing)

    def _numbered(self, event: Stored) -> Record:
        self.seq += 1
        told = public(event, self.run_id, self.seq, now())
        assert told is not None, "every stored event has a public form"
        return Record(self.seq, told, pack(event))

    async def _write(self) -> None:
        while self._waiting:
            batch, self._waiting = self._waiting, []
            row, self._row = self._row, None
            await self.store.append(self.run_id, [record for record, _ in batch], row)
            for record, event in batch:
                self._told(record, event)

    def _told(self, record: Record, event: Stored) -> None:
        self.tell(record.seq, record.public)
        for listener in self.listeners:
            listener(self.run_id, event)
