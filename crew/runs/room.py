"""Whether there is room for one more run: of its owner, of all, and of what is stored."""

from datetime import datetime, timedelta

from crew.journal.query import IdempotencyKey
from crew.runs.errors import TooManyWait, TooMuchStored, key_taken
from crew.runs.factory import RunFactory
from crew.runs.queue import Queue

# for so long a count of all runs that wait is good enough
COUNT_AGE = timedelta(seconds=1)
# and so is what an owner's runs take
STORED_AGE = timedelta(seconds=10)
MAX_OWNERS = 10_000
MB = 1_000_000


class Room:
    """Of one process."""

    def __init__(self, factory: RunFactory) -> None:
        self.store, self.slots = factory.store, factory.slots
        self.revisions, self.queue = factory.revisions, factory.queue
        # how many runs of all owners waited, and when that was
        self._all_waiting, self._counted = 0, self.store.now() - COUNT_AGE
        # by owner: what its runs took, and when that was
        self._stored: dict[str, tuple[int, datetime]] = {}

    async def check(self, owner: str, key: IdempotencyKey | None) -> None:
        """Refuse what there is no room for; raises TooManyWait, TooMuchStored.

        Also AlreadyStarted or KeyReused, where a request with this key was accepted before.
        """
        settings = self.revisions.current.config.settings
        refusal: TooManyWait | TooMuchStored
        most_mb = settings.max_stored_mb_per_owner
        if most_mb is not None and await self._stored_bytes(owner) > most_mb * MB:
            refusal = TooMuchStored(most_mb)
        elif await self._waiting(owner) >= settings.max_waiting_runs_per_owner:
            refusal = TooManyWait(settings.max_waiting_runs_per_owner)
        elif await self._waiting() >= settings.max_waiting_runs:
            refusal = TooManyWait(settings.max_waiting_runs, of_all=True)
        else:
            return
        if key is not None and (record := await self.store.idempotency_record(key.key)):
            # it was accepted when there was room
            raise key_taken(key, record)
        raise refusal

    async def _stored_bytes(self, owner: str) -> int:
        """Counted now and then: it takes the database a look at each of the owner's runs."""
        now = self.store.now()
        size, counted = self._stored.get(owner, (0, now - STORED_AGE))
        if now - counted >= STORED_AGE:
            size = await self.store.stored_bytes(owner)
            if len(self._stored) > MAX_OWNERS:
                self._stored.clear()
            self._stored[owner] = size, now
        return size

    async def _waiting(self, owner: str | None = None) -> int:
        """How many runs of an owner, or of all, wait."""
        if self.queue is None:
            return self.slots.waiting(owner)
        if owner is None:
            return await self._count_all(self.queue)
        most = self.revisions.current.config.settings.max_waiting_runs_per_owner
        return await self.queue.waiting(owner, most)

    async def _count_all(self, queue: Queue) -> int:
        """Counted now and then: it takes the database a look at each."""
        now = self.store.now()
        if now - self._counted >= COUNT_AGE:
            self._counted = now
            _, self._all_waiting = await queue.counts()
        return self._all_waiting
