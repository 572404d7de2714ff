"""The files of crews by their revision, and when each was loaded."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol

LoadSource = Literal["start", "reload", "edit", "rollback"]
# so many of the newest revisions are kept, whether or not a run needs them
KEPT_REVISIONS = 100


@dataclass(frozen=True, slots=True)
class Loading:
    """What has made a revision the current one."""

    source: LoadSource
    # the name of a token; "" for a process that has read its folder
    by: str = ""
    # as a person has said it
    why: str = ""


RELOADED = Loading("reload")


@dataclass(frozen=True, slots=True)
class Load:
    """A revision that was the current one from some time on."""

    # from 1 on; the newest is the highest; 0: not noted yet
    number: int
    revision: str
    # RFC 3339, UTC; when it was loaded last
    loaded_at: str
    loading: Loading
    # of its files
    warnings: int
    # the SHA-256 of files that it used and that are no part of it, by name
    programs: Mapping[str, str] = field(default_factory=dict)
    # runs that were started with these files: that have not ended, and all
    live_runs: int = 0
    runs: int = 0


class RevisionLog(Protocol):
    """Keeps revisions. Methods raise StoreError."""

    async def keep(self, revision: str, files: str, now: str) -> None:
        """Keep the files of a revision, at least for a while from now on (RFC 3339)."""
        ...

    async def files(self, revision: str) -> str | None:
        """Return the files that were kept, as JSON."""
        ...

    async def note(self, load: Load) -> None:
        """Note that a revision is the current one now; only its time, if it was before.

        `load`: its number is given by the store.
        """
        ...

    async def loads(self, limit: int, before: int | None = None) -> Sequence[Load]:
        """Return loads, newest first.

        Args:
            limit: so many at most.
            before: the last number seen.
        """
        ...

    async def find(self, reference: str) -> Sequence[Load]:
        """Return the load with a number, or the newest one of each hash that begins so; up to 2."""
        ...
