"""The contract of a queue: where runs wait for a process that plays them."""

from types import TracebackType
from typing import Protocol


class Queue(Protocol):
    """Where runs wait for a process that plays them. Methods raise StoreError."""

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

    async def put(self, run_id: str, epoch: int, in_seconds: float = 0.0) -> None:
        """Have a run played by whichever worker is free.

        A run that cannot be put now is found and put later.

        Args:
            run_id: the run.
            epoch: that the run is in; whoever claims it must find it there.
            in_seconds: not before.
        """
        ...

    async def is_played(self, run_id: str) -> bool:
        """Whether a live worker plays the run."""
        ...

    async def counts(self) -> tuple[int, int]:
        """How many workers are alive, and how many runs wait for one."""
        ...
