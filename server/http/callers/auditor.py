"""Who did what over HTTP: an entry is stored before the answer is sent."""

import asyncio
import logging
import re

from starlette.requests import HTTPConnection

from crew.journal.errors import StoreError
from crew.journal.records.audit import AuditAction, AuditEntry
from crew.journal.store import RunStore
from server.telemetry.logs import current_request
from server.tokens import Caller
from tools.clock import rfc3339

log = logging.getLogger(__name__)
# of a path, in an entry
MAX_PATH = 200
# a user or a document, and the rest of the path, as a name may hold a slash
NAMES = re.compile(r"(/users/|/documents/[^/]+/).+")


def address_of(request: HTTPConnection) -> str:
    """Return where a request comes from."""
    return request.client.host if request.client else "-"


def operation_of(request: HTTPConnection) -> str:
    """Return what a request wants: its method and path, without names that outlive an erasure."""
    path = NAMES.sub(r"\1…", request.url.path)
    return f"{request.scope.get('method', '')} {path[:MAX_PATH]}"


class Auditor:
    """Writes the audit of a process."""

    def __init__(self, store: RunStore) -> None:
        self._store = store
        self._writing: set[asyncio.Task[None]] = set()

    async def record(
        self,
        request: HTTPConnection,
        action: AuditAction,
        run_id: str | None = None,
        detail: str = "",
        user_id: str | None = None,
    ) -> None:
        """Keep what was done; where that fails, it is in the log."""
        await self.keep(self.entry(request, action, run_id, detail, user_id))

    def record_soon(self, request: HTTPConnection, action: AuditAction, detail: str = "") -> None:
        """Record a refusal soon; its answer need not wait."""
        caller: Caller | None = getattr(request.state, "caller", None)
        # an erasure of this person finds it by that
        entry = self.entry(request, action, None, detail, caller.name if caller else None)
        task = asyncio.ensure_future(self.keep(entry))
        self._writing.add(task)
        task.add_done_callback(self._writing.discard)

    def entry(
        self,
        request: HTTPConnection,
        action: AuditAction,
        run_id: str | None = None,
        detail: str = "",
        user_id: str | None = None,
    ) -> AuditEntry:
        """Return what is to be kept, for those who keep it with what was done."""
        caller: Caller | None = getattr(request.state, "caller", None)
        return AuditEntry(
            rfc3339(self._store.now()),
            action,
            caller.name if caller is not None else "",
            address_of(request),
            run_id,
            current_request.get() or "",
            detail,
            # the one that the address names, unless it is said
            str(request.path_params.get("user", "")) if user_id is None else user_id,
        )

    async def keep(self, entry: AuditEntry) -> None:
        """Keep an entry; where that fails, it is in the log."""
        try:
            await self._store.audit.record(entry)
        except StoreError as error:
            log.error("not in the audit (%s): %s", error, entry)
