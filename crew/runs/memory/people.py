"""What is remembered of people, for themselves: read, corrected and forgotten."""

from collections.abc import Callable

from crew.crew import Crew
from crew.journal.records.conversations import Chore, owner_of
from crew.journal.records.remembered.people import Erasure, digest_of_user
from crew.journal.store import RunStore
from crew.runs.memory.core import CoreMemory
from crew.runs.memory.recall import RecallMemory
from tools.clock import rfc3339


class PeopleMemory:
    """Of a crew, in its store."""

    def __init__(self, store: RunStore, crew: Callable[[], Crew]) -> None:
        """Of a store; `crew`: returns the newest, which says what is remembered."""
        self.core = CoreMemory(store, crew)
        self.recall = RecallMemory(store, crew)
        self._store = store

    async def request_erasure(self, user_id: str) -> Erasure:
        """Have all that is kept of a user erased, by a chore; raises StoreError."""
        at = rfc3339(self._store.now())
        erasure = Erasure(digest_of_user(user_id), at)
        await self._store.people.begin(erasure)
        await self._store.chores.add(Chore("erase", owner_of(user_id), at, at))
        return erasure
