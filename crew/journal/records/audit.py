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


class AuditLog(Protocol):
    """Keeps entries. Methods raise StoreError."""

    async def record(self, entry: AuditEntry) -> None:
        """Keep one."""
        ...

    async def entries(
        self, limit: int = 100, action: AuditAction | None = None, run_id: str | None = None
    ) -> Sequence[AuditEntry]:
        """Return up to `limit` entries, newest first; of one action, or about one run."""
        ...

    async def purge(self, before: str, limit: int = 1000) -> int:
        """Delete up to `limit` entries from before a time (RFC 3339); how many there were."""
        ...
