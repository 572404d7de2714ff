"""The runs of a crew in one process of a rehearsal, until it is killed."""

import asyncio
import contextlib

from crew.crew import Crew
from crew.journal.errors import StoreError
from crew.journal.query import Answer, IdempotencyKey, Query, Source
from crew.journal.records.rows import RunRow
from crew.rehearsal.doubles.mortal import MortalStore
from crew.rehearsal.playing.tape import Tape
from crew.runs.chores.chores import Chores
from crew.runs.chores.documents import DOCUMENTS_LANE
from crew.runs.errors import AlreadyStarted, AnsweredTooLate, NotPaused
from crew.runs.runs import Runs


class KilledError(Exception):
    """The process has ended in the middle of something."""


class CrewProcess:
    """A crew and its runs."""

    def __init__(self, crew: Crew, store: MortalStore, tape: Tape) -> None:
        self.crew, self.store = crew, store
        # it passes on all that a store has
        self.runs = Runs(crew, store, (tape,), tells=True)
        self.chores = Chores(self.runs)

    async def begin(self) -> None:
        """Read the crew's documents, and go on with what another process has left."""
        if self.crew.documents:
            await self.runs.documents.sync()
            await self.chores.drain(DOCUMENTS_LANE)
        await self.runs.find_left()
        await self.runs.recover_left()

    async def start(self, query: Query, key: str, source: Source) -> str:
        """Start a run, once for each key; returns its id. Raises KilledError."""
        try:
            run = await self.runs.start(query, key=IdempotencyKey(key, key), source=source)
        except AlreadyStarted as error:
            return error.record.run_id
        except StoreError:
            self._require_life()
            raise
        return run.id

    async def outcome(self, run_id: str) -> RunRow:
        """Wait until a run has ended or is paused; raises KilledError."""
        ending = asyncio.ensure_future(self.runs.outcome(run_id))
        dying = asyncio.ensure_future(self.store.died.wait())
        try:
            await asyncio.wait({ending, dying}, return_when=asyncio.FIRST_COMPLETED)
            self._require_life()
            return await ending
        finally:
            ending.cancel()
            dying.cancel()
            await asyncio.gather(ending, dying, return_exceptions=True)

    async def resume(self, run_id: str, answer: Answer) -> None:
        """Resume a run, unless it has gone on already; raises KilledError, WrongDecision."""
        try:
            with contextlib.suppress(NotPaused, AnsweredTooLate):
                await self.runs.resume(run_id, answer)
        except StoreError:
            self._require_life()
            raise

    async def expire(self, row: RunRow) -> None:
        """End a pause that is over; raises KilledError."""
        try:
            await self.runs.expire(row)
        except StoreError:
            self._require_life()
            raise

    def _require_life(self) -> None:
        if self.store.is_dead:
            raise KilledError

    async def finish_chores(self) -> None:
        """Do the work that is due after runs."""
        if self.crew.helpers or self.crew.documents or self.crew.embeddings:
            await self.chores.drain()

    async def end(self) -> None:
        """End it; what goes on is left as it is stored."""
        with contextlib.suppress(StoreError):
            await self.runs.drain(0)
        await self.runs.revisions.aclose()
        await self.crew.catalog.aclose()
        # tasks that were cancelled end now
        await asyncio.sleep(0)
