"""Chores of a store that ends with its process."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from crew.journal.records.conversations import CREW_OWNER, Chore, ChoreKind

Place = tuple[str, str]


class MemoryChores:
    """See ChoreLog."""

    def __init__(self) -> None:
        self._chores: dict[tuple[str, str, str], Chore] = {}
        # that became necessary again while they are done
        self._again: set[tuple[str, str, str]] = set()

    def insert(self, chore: Chore) -> None:
        """Keep one, with the write that it belongs to; one that was taken stays as it is."""
        key = (chore.kind, chore.owner, chore.key)
        known = self._chores.get(key)
        if known is None or known.attempts == 0:
            self._chores[key] = chore
        else:
            self._again.add(key)

    def delete(self, place: Place) -> None:
        """Forget the chores of a conversation."""
        self._chores = {key: one for key, one in self._chores.items() if key[1:] != place}
        self._again = {key for key in self._again if key[1:] != place}

    def forget_owner(self, owner: str) -> int:
        """Drop what waits for an owner, but its erasure; return how much that was."""
        dropped = [key for key in self._chores if key[1] == owner and key[0] != "erase"]
        for key in dropped:
            del self._chores[key]
        return len(dropped)

    async def add(self, chore: Chore) -> None:
        """See ChoreLog."""
        self.insert(chore)

    async def take(
        self, now: str, until: str, limit: int, kinds: Sequence[ChoreKind]
    ) -> list[Chore]:
        """See ChoreLog."""
        wanted = [(key, one) for key, one in self._chores.items() if one.kind in kinds]
        # see TAKE of databases
        due = sorted(
            (one.owner == CREW_OWNER, one.due_at, key) for key, one in wanted if one.due_at <= now
        )
        for *_, key in due[:limit]:
            one = self._chores[key]
            self._chores[key] = replace(one, due_at=until, attempts=one.attempts + 1)
        return [self._chores[key] for *_, key in due[:limit]]

    async def postpone(self, chore: Chore, until: str) -> None:
        """See ChoreLog."""
        if self._is_same(chore):
            self._chores[chore.kind, chore.owner, chore.key] = replace(chore, due_at=until)

    async def finish(self, chore: Chore, now: str, *, more: bool = False) -> None:
        """See ChoreLog."""
        if not self._is_same(chore):
            return
        key = (chore.kind, chore.owner, chore.key)
        del self._chores[key]
        if more or key in self._again:
            self._chores[key] = replace(chore, due_at=now, attempts=0)
        self._again.discard(key)

    async def free(self, now: str) -> None:
        """See ChoreLog."""
        for key, one in self._chores.items():
            if one.attempts and one.due_at > now:
                self._chores[key] = replace(one, due_at=now)

    async def counts(self) -> dict[ChoreKind, int]:
        """See ChoreLog."""
        return dict(Counter(one.kind for one in self._chores.values()))

    def _is_same(self, chore: Chore) -> bool:
        known = self._chores.get((chore.kind, chore.owner, chore.key))
        return known == chore
