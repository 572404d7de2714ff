"""The contract of a queue: where runs wait for a process that plays them."""

from types import TracebackType
from typing import Protocol

from agents.wrappers.places import Leases
from crew.journal.records.rows import Capacity


class Queue(Leases, Protocol):
    """Where runs wait for a process that plays them. Methods raise StoreError.

    It also has the places of model calls, which processes share.
    """

    async def __aenter__(self) -> "Queue":
        """Open it."""
        ...

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
        /,
    ) -> None:
        """Close it."""
        ...

    def limit(self, capacity: Capacity) -> None:
        """Set how many runs may be at work from now on."""
        ...

    async def put(
        self, run_id: str, epoch: int, in_seconds: float = 0.0, *, again: bool = False
    ) -> None:
        """Have a run played by whichever worker is free.

        A run that cannot be put now is found and put later.

        Args:
            run_id: the run.
            epoch: that the run is in; a claim must find it there.
            in_seconds: not before.
            again: it was at work before, and goes before others of its priority that were not.
        """
        ...

    async def waiting(self, owner: str, most: int) -> int:
        """Return how many runs of an owner wait; `most`: no more are counted."""
        ...

    async def is_played(self, run_id: str) -> bool:
        """Return whether a live worker plays the run."""
        ...

    async def counts(self) -> tuple[int, int]:
        """Return how many workers are alive, and how many runs wait for one."""
        ...
