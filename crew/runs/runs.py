"""All runs of a crew: start, resume, follow, cancel, recover."""

from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import AsyncExitStack
from types import TracebackType

import anyio

from crew.config.errors import LostConfiguration
from crew.crew import Crew
from crew.journal.events import CancelReason, Event
from crew.journal.outlets import Listener, Outlets, Tracing
from crew.journal.query import API, MAX_PRIORITY, Answer, IdempotencyKey, Query, Source
from crew.journal.records.audit import AuditEntry
from crew.journal.records.notices import make_no_notices, notices_of
from crew.journal.records.revisions import RELOADED, Loading
from crew.journal.records.rows import Capacity, Notice, Opened, RunRow
from crew.journal.store import RunStore
from crew.journal.wire import RunEvent
from crew.runs.cancellation import RunCanceller
from crew.runs.capacity import Slots, capacity_of
from crew.runs.claims import RunClaimer
from crew.runs.conversations.conversations import Conversations
from crew.runs.conversations.exchanges import ExchangeStarter
from crew.runs.costs.waiting import resume_with_waiting
from crew.runs.documents.library import DocumentLibrary
from crew.runs.factory import RunFactory
from crew.runs.forks import ForkPoint, RunForker
from crew.runs.memory.people import PeopleMemory
from crew.runs.queue import Queue
from crew.runs.request import RunRequest
from crew.runs.revisions import Revisions
from crew.runs.run import Run
from crew.runs.starter import RunStarter
from crew.runs.streams.live import LiveRuns
from crew.runs.streams.reader import RunReader


class Runs:
    """A crew's runs, kept in a store; an async context manager.

    The runs belong to this object, not to who started or follows them. Leaving it stops those
    that still go on and leaves them `running` in the store.
    """

    def __init__(
        self,
        crew: Crew,
        store: RunStore,
        listeners: tuple[Listener, ...] = (),
        queue: Queue | None = None,
        *,
        tells: bool = False,
        tracing: Tracing | None = None,
    ) -> None:
        """Open nothing yet.

        Args:
            crew: of new runs.
            store: keeps the runs; closed with this object.
            listeners: get every event of every run that is played here.
            queue: gets what is started here; without one, this process plays it.
            tells: channels of `notify` get notices of runs that are played here, by the outbox.
            tracing: records the runs that are played here; closed with this object.
        """
        self.store, self.queue, self.listeners = store, queue, listeners
        self.live, self.revisions = LiveRuns(store, crew.clock), Revisions(crew, store)
        self.slots, notices = Slots(Capacity()), self._notices if tells else make_no_notices
        outlets = Outlets(store, crew.clock, listeners, notices, tracing)
        if tracing is not None:
            tracing.attach(self.follow)
        self._factory = factory = RunFactory(outlets, self.live, self.revisions, self.slots, queue)
        self._limit()
        self._reader = RunReader(self.live)
        self._starter = RunStarter(factory)
        self._exchanges = ExchangeStarter(factory, self._starter)
        self._forker = RunForker(factory, self._starter)
        self._claimer = RunClaimer(factory)
        self._canceller = RunCanceller(factory, self._starter, self._claimer)
        self.conversations = Conversations(store, self._canceller, self._reader)
        self.memory = PeopleMemory(store, lambda: self.revisions.current)
        self.documents = DocumentLibrary(store, lambda: self.revisions.current)

    async def __aenter__(self) -> "Runs":
        if self.queue is not None:
            await self.queue.__aenter__()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        # the last is closed first, and each also where another one fails
        with anyio.CancelScope(shield=True):
            async with AsyncExitStack() as closing:
                if self.queue is not None:
                    closing.push_async_exit(self.queue)
                for part in (self.store, self.revisions, self._factory.outlets.tracing):
                    if part is not None:
                        closing.push_async_callback(part.aclose)
                await self.drain(0)
                await self._factory.settled()

    @property
    def crew(self) -> Crew:
        """The crew of new runs."""
        return self.revisions.current

    @property
    def at_work(self) -> int:
        """How many runs are alive here and do not wait for others."""
        return len(self.live) - self.slots.waiting()

    def _notices(self, event: Event, row: RunRow, seq: int, at: str) -> Sequence[Notice]:
        return notices_of(self.crew.config.told, event, row, seq, at)

    def adopt(self, crew: Crew, loading: Loading = RELOADED) -> None:
        """Use this crew for new runs from now on; `loading`: why."""
        self.revisions.adopt(crew, loading)
        self._limit()

    def _limit(self) -> None:
        capacity = capacity_of(self.crew.config.settings)
        if self.queue is not None:
            self.queue.limit(capacity)
            self.crew.recipe.places.leases = self.queue
        else:
            self.slots.limit(capacity)

    @property
    def draining(self) -> bool:
        """Whether this process takes no new runs."""
        return self.live.draining

    async def start(
        self,
        query: Query,
        request_id: str = "",
        key: IdempotencyKey | None = None,
        owner: str = "",
        *,
        by: str = "",
        may_answer: bool = True,
        entry: AuditEntry | None = None,
        source: Source = API,
    ) -> Run:
        """Start a run; it is stored when this returns.

        In a conversation with a run that is paused on words, the query is the answer to that.

        Args:
            query: for the crew.
            request_id: published with the run.
            key: start nothing if a request with this key has started something.
            owner: of the run; where runs wait, owners take turns. Up to 64 characters.
            by: the name of the caller's token; "" where there are none.
            may_answer: the query may answer a pause.
            entry: kept in the audit with the run; it gets the run's id.
            source: what starts it.

        Raises:
            Draining, StoreError, UnknownAgent, UnknownModel, AlreadyStarted, KeyReused, TooManyWait
            NoConversations, ConversationBusy, ConversationAsks, ConversationFull, TooManyQueued
        """
        asked = RunRequest(request_id, key, owner, by, may_answer, entry, source)
        if query.conversation_id:
            return await self._exchanges.start(query, asked)
        return await self._starter.start(query, asked)

    async def resume(
        self,
        run_id: str,
        answer: Answer,
        request_id: str = "",
        key: IdempotencyKey | None = None,
        *,
        may_decide: bool = True,
        entry: AuditEntry | None = None,
    ) -> Run:
        """Resume a paused run with a person's answer; the first answer wins.

        Args:
            run_id: the run.
            answer: to its pause.
            request_id: published with the segment.
            key: see `start`.
            may_decide: on calls; False for what a link can do.
            entry: see `start`.

        Raises:
            UnknownRun, NotPaused, Draining, StoreError, AlreadyStarted, KeyReused, WrongDecision,
            ChangedCall
            LostConfiguration: what it was started with makes no crew here any more.
        """
        asked = RunRequest(request_id, key, entry=entry)
        return await resume_with_waiting(
            self._starter, run_id, answer, asked, may_decide=may_decide
        )

    async def expire(self, row: RunRow) -> None:
        """Resume a paused run that has no answer in time; do nothing if it has one.

        Raises:
            Draining, StoreError, LostConfiguration
        """
        await self._starter.expire(row)

    async def claim(
        self, run_id: str, epoch: int | None = None, opened: Opened | None = None
    ) -> Run | None:
        """Claim a run that no process plays, and play it. See `RunClaimer.claim`."""
        return await self._claimer.claim(run_id, epoch, opened)

    async def decline(
        self, run_id: str, why: LostConfiguration, epoch: int | None = None
    ) -> int | None:
        """Record that a run cannot be played here. See `RunClaimer.decline`."""
        return await self._claimer.decline(run_id, why, epoch)

    async def retry(
        self, run_id: str, request_id: str = "", entry: AuditEntry | None = None
    ) -> Run:
        """Go on with a failed run at the step that failed.

        Args:
            run_id: the run.
            request_id: published with the segment.
            entry: see `start`.

        Raises:
            UnknownRun, NotRetryable, Draining, StoreError, TooManyWait
            LostConfiguration: what it was started with makes no crew here any more.
        """
        return await self._starter.retry(run_id, RunRequest(request_id, entry=entry))

    async def fork(
        self,
        run_id: str,
        after: int | ForkPoint,
        request_id: str = "",
        key: IdempotencyKey | None = None,
        owner: str = "",
        *,
        max_priority: int = MAX_PRIORITY,
        entry: AuditEntry | None = None,
    ) -> Run:
        """Begin another run with a copy of this one's first events, and go on from there.

        What those events record is not made again; what came after them in the other run has
        happened, and may happen once more. What a person has decided in the other run holds for no
        call of this one: the next question has it.

        Args:
            run_id: the run.
            after: the number of the last event that is copied; or more of where it leaves it.
            request_id: published with the segment.
            key: see `start`.
            owner: of the new run.
            max_priority: the new run has the other's priority, but no higher one than this.
            entry: see `start`; of the new run.

        Raises:
            UnknownRun, NotForkable, Draining, StoreError, AlreadyStarted, KeyReused, TooManyWait
            LostConfiguration: what it was started with makes no crew here any more.
        """
        asked = RunRequest(request_id, key, owner, entry=entry)
        point = ForkPoint(after) if isinstance(after, int) else after
        return await self._forker.fork(run_id, point, asked, max_priority)

    async def find_left(self) -> None:
        """Find the runs that are `running` in the store and not alive here.

        For a process that has the store to itself; `recover_left` claims them. Raises StoreError.
        """
        await self._claimer.find()

    async def recover_left(self) -> list[Run]:
        """Claim the runs that were found, or that were left because the store failed.

        Those in the middle of a tool call, and those that have ended their process before, are
        claimed one at a time. Raises StoreError.
        """
        return await self._claimer.recover()

    async def recover(self) -> list[Run]:
        """Find and claim; see `find_left` and `recover_left`."""
        await self.find_left()
        return await self.recover_left()

    async def cancel(
        self, run_id: str, request_id: str = "", reason: CancelReason = "cancelled"
    ) -> None:
        """End a run: at once if it is alive here, paused, or not played.

        Another process that plays it gets a request to end it.

        Raises:
            UnknownRun, RunEnded, Draining, StoreError
        """
        await self._canceller.cancel(run_id, request_id, reason)

    async def apply_cancellations(self) -> None:
        """End the runs that other processes have requested to end; raises StoreError."""
        await self._canceller.apply_cancellations()

    async def row(self, run_id: str) -> RunRow:
        """Return a run as the store has it; raises UnknownRun, StoreError."""
        return await self._reader.row(run_id)

    async def outcome(self, run_id: str) -> RunRow:
        """Wait until a run has ended or is paused, wherever it is played.

        Raises:
            UnknownRun, StoreError
        """
        return await self._reader.outcome(run_id)

    async def pause_of(self, row: RunRow) -> RunEvent | None:
        """Return the `pause` event that a run waits in.

        None if it waits for no person. Raises StoreError.
        """
        return await self._reader.pause_of(row)

    async def last_seq(self, run_id: str) -> int:
        """Return the number of a run's newest event; raises UnknownRun, StoreError."""
        return await self._reader.last_seq(run_id)

    def stored(self, run_id: str) -> AsyncGenerator[RunEvent, None]:
        """Yield the events that are stored now; raises UnknownRun, StoreError."""
        return self._reader.stored(run_id)

    def follow(
        self,
        run_id: str,
        after: int = 0,
        *,
        idle_seconds: float | None = None,
        cut: Callable[[], None] | None = None,
    ) -> AsyncGenerator[RunEvent | None, None]:
        """Yield a run's events after one, until it ends or pauses. See `RunReader.follow`."""
        return self._reader.follow(run_id, after, idle_seconds=idle_seconds, cut=cut)

    async def drain(self, seconds: float) -> None:
        """Take no new runs, give those alive some time, then leave the rest as stored."""
        self.live.draining = True
        self._claimer.stop_waiting()
        await self.live.drain(seconds)
