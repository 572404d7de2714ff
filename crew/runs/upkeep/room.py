"""Whether there is room for one more run: of its owner, of all, and of what is stored."""

from datetime import datetime, timedelta

from crew.journal.query import IdempotencyKey
from crew.runs.errors import TooManyWait, TooMuchStored, key_taken
from crew.runs.factory import RunFactory

# for so long a count of all runs that wait is good enough
COUNT_AGE = timedelta(seconds=1)
# and so is what an owner's runs take
STORED_AGE = timedelta(seconds=10)
MAX_OWNERS = 10_000
MB = 1_000_000
# with more than half of it left, room is counted only after each hundredth of it, or a second: so
# ten processes that fill it within a second exceed it by 9 % at most
ROOM_PARTS = 100


class Room:
    """Of one process."""

    def __init__(self, factory: RunFactory) -> None:
        self.store, self.slots = factory.store, factory.slots
        self.revisions, self.queue = factory.revisions, factory.queue
        # how many runs of all owners waited, and when that was
        self._all_waiting, self._counted = 0, self.store.now() - COUNT_AGE
        # by owner: what its runs took, and when that was
        self._stored: dict[str, tuple[int, datetime]] = {}
        # by owner: how many more runs there is room for without a count, and when that was
        self._room: dict[str, tuple[int, datetime]] = {}

    async def check(self, owner: str, key: IdempotencyKey | None) -> None:
        """Refuse what there is no room for; raises TooManyWait, TooMuchStored.

        Also AlreadyStarted or KeyReused, where a request with this key was accepted before.
        """
        settings = self.revisions.current.config.settings
        refusal: TooManyWait | TooMuchStored
        most_mb = settings.max_stored_mb_per_owner
        if most_mb is not None and await self._stored_bytes(owner) > most_mb * MB:
            refusal = TooMuchStored(most_mb)
        elif not await self._may_wait(owner, settings.max_waiting_runs_per_owner):
            refusal = TooManyWait(settings.max_waiting_runs_per_owner)
        elif await self._all() >= settings.max_waiting_runs:
            refusal = TooManyWait(settings.max_waiting_runs, of_all=True)
        else:
            return
        if key is not None and (record := await self.store.idempotency_record(key.key)):
            # it was accepted when there was room
            raise key_taken(key, record)
        raise refusal

    async def _stored_bytes(self, owner: str) -> int:
        """Count now and then: it takes the database a look at each of the owner's runs."""
        now = self.store.now()
        size, counted = self._stored.get(owner, (0, now - STORED_AGE))
        if now - counted >= STORED_AGE:
            size = await self.store.stored_bytes(owner)
            if len(self._stored) > MAX_OWNERS:
                self._stored.clear()
            self._stored[owner] = size, now
        return size

    async def _may_wait(self, owner: str, most: int) -> bool:
        """Return whether one more run of an owner may wait."""
        if self.queue is None:
            return self.slots.waiting(owner) < most
        now = self.store.now()
        left, counted = self._room.get(owner, (0, now))
        if left == 0 or now - counted >= COUNT_AGE:
            room = most - await self.queue.waiting(owner, most)
            if room <= 0:
                return False
            left, counted = max(1, room // ROOM_PARTS if room > most / 2 else 1), now
            if len(self._room) > MAX_OWNERS:
                self._room.clear()
        self._room[owner] = left - 1, counted
        return True

    async def _all(self) -> int:
        """Return how many runs wait; counted now and then: it takes the database a look at each."""
        if self.queue is None:
            return self.slots.waiting()
        now = self.store.now()
        if now - self._counted >= COUNT_AGE:
            self._counted = now
            _, self._all_waiting = await self.queue.counts()
        return self._all_waiting
