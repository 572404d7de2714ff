"""What runs have published and go on publishing: from here, from the store, or from elsewhere."""

from collections.abc import AsyncGenerator, Callable, Sequence
from dataclasses import dataclass
from typing import assert_never

from crew.journal.errors import LostEvents
from crew.journal.records.rows import PAGE, Record, RunRow
from crew.journal.wire import RunEvent, events_lost, gap
from crew.runs.errors import UnknownRun
from crew.runs.run import Run
from crew.runs.streams.live import LiveRuns
from crew.runs.streams.remote import records_behind
from crew.runs.streams.tail import Tail
from tools.clock import rfc3339


@dataclass(frozen=True, slots=True)
class Here:
    """The run is alive here, and its tail has what comes next; nothing follows it."""

    tail: Tail
    place: int


@dataclass(frozen=True, slots=True)
class Stored:
    """The store has what comes next."""

    records: Sequence[Record]


@dataclass(frozen=True, slots=True)
class Elsewhere:
    """Another process plays the run."""


@dataclass(frozen=True, slots=True)
class Purged:
    """What came next is no longer kept; nothing follows it."""

    row: RunRow


@dataclass(frozen=True, slots=True)
class Over:
    """Nothing more is to come, or not for now."""


@dataclass(frozen=True, slots=True)
class Again:
    """Something has changed meanwhile: look once more."""


Source = Here | Stored | Elsewhere | Purged | Over | Again


def source_without_records(row: RunRow, after: int, *, has_more: bool, goes_on: bool) -> Source:
    """Return where to read on when the store had nothing new and the run is not alive here.

    Args:
        row: of the run, read after the records.
        after: the number of the last event that was read.
        has_more: the store has further events now.
        goes_on: another process plays the run, or will.
    """
    if has_more:
        return Again()
    if row.status != "running":
        return Purged(row) if row.last_seq > after else Over()
    # one that is not played goes on when it is claimed
    return Elsewhere() if goes_on else Over()


class RunReader:
    """Reads the runs of a store."""

    def __init__(self, live: LiveRuns) -> None:
        self.live, self.store = live, live.store

    async def row(self, run_id: str) -> RunRow:
        """Return a run as the store has it; raises UnknownRun."""
        row = await self.store.row(run_id)
        if row is None:
            raise UnknownRun(run_id)
        return row

    async def pause_of(self, row: RunRow) -> RunEvent | None:
        """Return the `pause` event that a run waits in; None if it waits for no person."""
        if row.pause_seq is None:
            return None
        records = await self.store.records(row.run_id, row.pause_seq - 1, 1)
        event = RunEvent.of_record(records[0]) if records else None
        return event if event is not None and event.type == "pause" else None

    async def outcome(self, run_id: str) -> RunRow:
        """Wait until a run has ended or is paused, wherever it is played.

        Raises:
            UnknownRun, StoreError
        """
        if (run := self.live.get(run_id)) is not None:
            return await run.outcome()
        async for _ in self.follow(run_id, await self.last_seq(run_id)):
            pass
        return await self.row(run_id)

    async def last_seq(self, run_id: str) -> int:
        """Return the number of a run's newest event."""
        if (run := self.live.get(run_id)) is not None:
            return run.journal.seq
        newest = (await self.store.newest([run_id])).get(run_id)
        if newest is None:
            raise UnknownRun(run_id)
        return newest.seq

    async def stored(self, run_id: str) -> AsyncGenerator[RunEvent, None]:
        """Yield the events that are stored now; nothing that is to come. Raises UnknownRun."""
        row, after = await self.row(run_id), 0
        last = await self.last_seq(run_id)
        while after < last:
            records = await self.store.records(run_id, after, PAGE)
            if not records:
                if run_id not in self.live:
                    yield gap(row, after + 1, last)
                # those of a run that is alive here are on their way to the store
                return
            for event in _with_gap(row, after, records):
                yield event
            after = records[-1].seq

    async def follow(
        self,
        run_id: str,
        after: int = 0,
        *,
        idle_seconds: float | None = None,
        cut: Callable[[], None] | None = None,
    ) -> AsyncGenerator[RunEvent | None, None]:
        """Yield a run's events after event `after`, as they come, until it ends or pauses.

        Args:
            run_id: the run.
            after: the number of the last event that is known; 0 for none.
            idle_seconds: None is yielded after each so long without an event.
            cut: called when the follower falls too far behind, also while it is busy with one.

        Raises:
            UnknownRun, TooSlow, StoreError
        """
        if run_id not in self.live and not self.live.has_tail_after(run_id, after):
            await self.row(run_id)
        # the last event that this follower got
        known: RunEvent | None = None
        while True:
            try:
                source = await self._next_source(run_id, after, known)
            except LostEvents:
                yield events_lost(run_id, after, rfc3339(self.store.now()))
                after, known = 0, None
                continue
            async for event in self._read(source, run_id, after, idle_seconds, cut):
                if event is not None and event.seq is not None:
                    after, known = event.seq, event
                yield event
            if _is_last(source):
                return

    async def _read(
        self,
        source: Source,
        run_id: str,
        after: int,
        idle_seconds: float | None,
        cut: Callable[[], None] | None,
    ) -> AsyncGenerator[RunEvent | None, None]:
        """Yield what a source has after an event. Raises TooSlow, StoreError."""
        match source:
            case Here(tail, place):
                async for event in tail.follow(place, after, idle_seconds, cut):
                    yield event
            case Stored(records):
                row = await self.row(run_id) if records[0].seq > after + 1 else None
                for stored in _with_gap(row, after, records):
                    yield stored
            case Elsewhere():
                async for event in self._follow_elsewhere(run_id, after, idle_seconds, cut):
                    yield event
            case Purged(row):
                yield gap(row, after + 1, row.last_seq)
            case Again() | Over():
                pass
            case _:
                assert_never(source)

    async def _next_source(self, run_id: str, after: int, known: RunEvent | None) -> Source:
        """Return where what comes after an event is to be read; raises LostEvents if it is gone."""
        records = None
        if known is not None:
            records = await records_behind(self.store, run_id, known)
        run = self.live.get(run_id)
        if run is None and self._is_ahead(run_id, after):
            return Elsewhere()
        if run is not None and (place := run.tail.place_after(after)) is not None:
            return Here(run.tail, place)
        if records is None:
            records = await self.store.records(run_id, after, PAGE)
        if records:
            return Stored(records)
        return await self._source_without_records(run_id, run, after)

    def _is_ahead(self, run_id: str, after: int) -> bool:
        """Return whether the tail of a run that another process plays has what comes next."""
        if not self.live.has_tail_after(run_id, after):
            return False
        with self.live.remote_tail(run_id, after) as tail:
            return tail.place_after(after) is not None

    async def _source_without_records(self, run_id: str, run: Run | None, after: int) -> Source:
        if self.live.get(run_id) is not run:
            return Again()
        if run is not None or self.live.draining:
            return Over()
        row = await self.row(run_id)
        has_more = False
        if row.status != "running" and row.last_seq > after:
            # events that came since the store was asked for them
            has_more = bool(await self.store.records(run_id, after, 1))
        if run_id in self.live:
            # claimed meanwhile
            return Again()
        goes_on = self.live.is_played_by_others(run_id)
        return source_without_records(row, after, has_more=has_more, goes_on=goes_on)

    async def _follow_elsewhere(
        self,
        run_id: str,
        after: int,
        idle_seconds: float | None,
        cut: Callable[[], None] | None,
    ) -> AsyncGenerator[RunEvent | None, None]:
        """Yield what another process publishes, until its segment ends.

        Nothing if it is further on.
        """
        with self.live.remote_tail(run_id, after) as tail:
            place = tail.place_after(after)
            if place is None:
                return
            async for event in tail.follow(place, after, idle_seconds, cut):
                yield event


def _is_last(source: Source) -> bool:
    """Return whether nothing follows it."""
    match source:
        case Here(tail, _):
            # what the database has lost is played again
            return not (tail.lost or tail.goes_on)
        case Purged() | Over():
            return True
        case _:
            return False


def _with_gap(row: RunRow | None, after: int, records: Sequence[Record]) -> list[RunEvent]:
    """Return stored events, led by a gap where some before them are purged."""
    events = [RunEvent.of_record(record) for record in records]
    first = records[0].seq
    if row is not None and first > after + 1:
        return [gap(row, after + 1, first - 1), *events]
    return events
