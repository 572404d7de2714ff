"""Who looks at a run that waits, so that two people do not answer it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class Viewer:
    """One page that shows a run. Times are RFC 3339, UTC."""

    run_id: str
    # what the page calls itself
    viewer: str
    # of the token it was opened with; "" where there are none
    name: str
    since: str
    # unless it says so again
    until: str


class ViewerLog(Protocol):
    """Keeps viewers for as long as they say. Methods raise StoreError."""

    async def announce(self, one: Viewer) -> None:
        """Keep a viewer of a run; one that is there stays so `since` its first time.

        Viewers that have ended by then are deleted.
        """
        ...

    async def find(self, run_ids: Sequence[str], now: str) -> list[Viewer]:
        """Return the viewers of some runs, of those that have not ended by now, oldest first."""
        ...
