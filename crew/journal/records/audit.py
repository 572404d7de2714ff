"""Who did what to which run, and when: entries that are only added, and kept longer than runs."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

AuditAction = Literal[
    "start",
    "answer",
    "cancel",
    "retry",
    "fork",
    "delete",
    "reload",
    "edit",
    "rollback",
    "budget",
    "schedule",
    "test",
    "revoke",
    "memory",
    "export",
    "erase",
    "document",
    "refused",
    "wrong_token",
]
# in place of an address: a user of the machine itself
LOCAL = "local"
# before the name of an account of the machine
LOCAL_USER = "os:"


@dataclass(frozen=True, slots=True)
class AuditEntry:
    """One act, or one that was refused."""

    # RFC 3339, UTC
    at: str
    action: AuditAction
    # the token's; "" for one without; "os:USER" for the commands
    name: str
    # of the client, as the server saw it; LOCAL for the commands
    address: str
    run_id: str | None = None
    request_id: str = ""
    # the decision, the scope that lacked
    detail: str = ""
    # the person that it is about, as far as it names one; of one about a run, the run's
    user_id: str = ""


@dataclass(frozen=True, slots=True)
class AuditFilter:
    """Which entries are wanted; without a value: all. Times are as `beginning_of` returns them."""

    action: AuditAction | None = None
    run_id: str | None = None
    # of the token, or of the account, that did it
    name: str | None = None
    # not before, and before
    since: str | None = None
    until: str | None = None

    def fits(self, entry: AuditEntry) -> bool:
        """Return whether an entry is one of these."""
        return (
            self.action in (None, entry.action)
            and self.run_id in (None, entry.run_id)
            and self.name in (None, entry.name)
            and (self.since is None or entry.at >= self.since)
            and (self.until is None or entry.at < self.until)
        )


ALL_ENTRIES = AuditFilter()


class AuditLog(Protocol):
    """Keeps entries. Methods raise StoreError."""

    async def record(self, entry: AuditEntry) -> None:
        """Keep one."""
        ...

    async def entries(
        self, limit: int = 100, wanted: AuditFilter = ALL_ENTRIES
    ) -> Sequence[AuditEntry]:
        """Return up to `limit` entries, newest first."""
        ...

    async def purge(self, before: str, limit: int = 1000) -> int:
        """Delete up to `limit` entries from before a time (RFC 3339); how many there were."""
        ...
