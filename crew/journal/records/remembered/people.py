"""All that is kept of a user: found for an export, and erased."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from crew.journal.records.audit import AuditEntry


@dataclass(frozen=True, slots=True)
class Erasure:
    """What remains of a user that was erased. Times are RFC 3339, UTC."""

    # of the user's id
    digest: str
    requested_at: str
    # "" while there is more to erase
    done_at: str = ""
    # how much there was, by its kind
    counts: Mapping[str, int] | None = None

    def with_counts(self, more: Mapping[str, int]) -> "Erasure":
        """Return the same with more that was erased."""
        known = self.counts or {}
        names = {**known, **more}
        counts = {name: known.get(name, 0) + more.get(name, 0) for name in names}
        return replace(self, counts={name: count for name, count in counts.items() if count})


def digest_of_user(user_id: str) -> str:
    """Return by what a user is known that was erased."""
    return hashlib.sha256(user_id.encode()).hexdigest()


class PeopleLog(Protocol):
    """Finds and erases what is kept of users. Methods raise StoreError."""

    async def audit(self, user_id: str) -> Sequence[AuditEntry]:
        """Return the entries about a user, and about the user's runs, oldest first."""
        ...

    async def begin(self, erasure: Erasure) -> None:
        """Keep that a user is to be erased, unless that is kept already."""
        ...

    async def erase(self, user_id: str, requested_at: str, limit: int = 100) -> Mapping[str, int]:
        """Erase some runs of a user that have ended or, where there are none, all the rest.

        Conversations are deleted before, one by one. What was erased is added to the erasure.

        Returns:
            What was erased, by its kind; nothing is left if that is empty.
        """
        ...

    async def count(self, user_id: str, requested_at: str, more: Mapping[str, int]) -> None:
        """Add what was erased elsewhere to an erasure."""
        ...

    async def finish(self, user_id: str, requested_at: str, done_at: str) -> Erasure | None:
        """Note that nothing is left."""
        ...

    async def erasures(self, user_id: str) -> list[Erasure]:
        """Return the erasures of a user, oldest first."""
        ...
