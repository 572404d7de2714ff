"""What is kept of users, of a store that ends with its process."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from crew.backends.memory_chores import MemoryChores
from crew.backends.memory_core import MemoryCore
from crew.backends.memory_costs import MemoryCosts
from crew.backends.memory_documents import MemoryDocuments
from crew.backends.memory_logs import MemoryAudit, MemoryGrants, MemoryOutbox
from crew.backends.memory_recall import MemoryRecall
from crew.journal.records.audit import AuditEntry
from crew.journal.records.conversations import owner_of
from crew.journal.records.remembered.people import Erasure, digest_of_user
from crew.journal.records.rows import RunRow


class MemoryPeople:
    """See PeopleLog."""

    def __init__(
        self,
        rows: Mapping[str, RunRow],
        forget_run: Callable[[str], None],
        audit: MemoryAudit,
        grants: MemoryGrants,
        outbox: MemoryOutbox,
        chores: MemoryChores,
        core: MemoryCore,
        recall: MemoryRecall,
        documents: MemoryDocuments,
        costs: MemoryCosts,
    ) -> None:
        """Of a store.

        Args:
            rows: its runs, by their ids.
            forget_run: forgets a run with its events.
            audit: of the store.
            grants: of the store.
            outbox: of the store.
            chores: of the store.
            core: of the store.
            recall: of the store.
            documents: of the store.
            costs: of the store.
        """
        self._rows, self._forget_run = rows, forget_run
        self._audit, self._grants, self._outbox = audit, grants, outbox
        self._chores, self._core, self._recall = chores, core, recall
        self._documents, self._costs = documents, costs
        self._erasures: dict[tuple[str, str], Erasure] = {}

    def _runs_of(self, user_id: str) -> set[str]:
        return {row.run_id for row in self._rows.values() if user_id and row.user_id == user_id}

    def _erase(self, user_id: str, limit: int) -> dict[str, int]:
        ended = [one for one in sorted(self._runs_of(user_id)) if self._rows[one].ended_at][:limit]
        entries = self._audit.about("" if ended else user_id, set(ended))
        self._audit.forget(entries)
        counts = {"runs": len(ended), "audit": len(entries)}
        for run_id in ended:
            self._forget_run(run_id)
            self._outbox.forget(run_id)
        if ended:
            counts["grants"] = self._grants.forget(set(ended))
        else:
            owner = owner_of(user_id)
            if documents := self._documents.erase_some(owner, limit):
                return {"documents": documents}
            self._costs.forget(user_id)
            counts["core"] = self._core.delete(owner)
            counts["recall"] = self._recall.delete_all(owner)
            counts["chores"] = self._chores.forget_owner(owner)
            counts["grants"] = self._grants.forget(set(), user_id)
        return {name: count for name, count in counts.items() if count}

    async def audit(self, user_id: str) -> Sequence[AuditEntry]:
        """See PeopleLog."""
        return self._audit.about(user_id, self._runs_of(user_id))

    async def begin(self, erasure: Erasure) -> None:
        """See PeopleLog."""
        self._erasures.setdefault((erasure.digest, erasure.requested_at), erasure)

    async def erase(self, user_id: str, requested_at: str, limit: int = 100) -> Mapping[str, int]:
        """See PeopleLog."""
        counts = self._erase(user_id, limit)
        await self.count(user_id, requested_at, counts)
        return counts

    async def count(self, user_id: str, requested_at: str, more: Mapping[str, int]) -> None:
        """See PeopleLog."""
        key = digest_of_user(user_id), requested_at
        if key in self._erasures:
            self._erasures[key] = self._erasures[key].with_counts(more)

    async def finish(self, user_id: str, requested_at: str, done_at: str) -> Erasure | None:
        """See PeopleLog."""
        key = digest_of_user(user_id), requested_at
        if key in self._erasures:
            self._erasures[key] = replace(self._erasures[key], done_at=done_at)
        return self._erasures.get(key)

    async def erasures(self, user_id: str) -> list[Erasure]:
        """See PeopleLog."""
        digest = digest_of_user(user_id)
        return [one for key, one in sorted(self._erasures.items()) if key[0] == digest]
