"""Calls of a process that wait for room in pots."""

import contextlib
import itertools
from bisect import bisect_left, insort
from collections.abc import Iterator, Sequence

from crew.journal.records.spent.budgets import PotKey
from tools.loops import PerLoop


class PotLines:
    """Who waits for room in which pot: who came first is first."""

    def __init__(self) -> None:
        # by pot: the numbers of those who wait, in their order
        self._waiting: PerLoop[dict[PotKey, list[int]]] = PerLoop(dict)
        self._numbers = itertools.count()

    @contextlib.contextmanager
    def place(self) -> Iterator["LinePlace"]:
        """Take a place, for as long as the block lasts."""
        waiting = self._waiting.get()
        place = LinePlace(next(self._numbers), waiting)
        try:
            yield place
        finally:
            for key in place.joined:
                del waiting[key][bisect_left(waiting[key], place.number)]
                if not waiting[key]:
                    del waiting[key]


class LinePlace:
    """The place of one call among those that wait."""

    def __init__(self, number: int, waiting: dict[PotKey, list[int]]) -> None:
        self.number, self._waiting = number, waiting
        # pots for which it waits
        self.joined: set[PotKey] = set()

    def behind(self, keys: Sequence[PotKey]) -> list[PotKey]:
        """Return the pots for which others wait that came before."""
        waiting = self._waiting
        return [key for key in keys if key in waiting and waiting[key][0] < self.number]

    def join(self, keys: Sequence[PotKey]) -> None:
        """Wait for these pots, too: who comes later stands behind."""
        for key in keys:
            if key not in self.joined:
                self.joined.add(key)
                insort(self._waiting.setdefault(key, []), self.number)
