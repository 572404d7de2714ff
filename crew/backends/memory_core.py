"""Core memory of a store that ends with its process."""

from collections.abc import Callable, Sequence

from crew.journal.records.exchanges import ExchangeEnd
from crew.journal.records.remembered.core import (
    KEPT_VERSIONS,
    CoreVersion,
    conversation_of,
    conversation_owner,
    filled,
)


class MemoryCore:
    """See CoreLog."""

    def __init__(self, has_conversation: Callable[[tuple[str, str]], bool]) -> None:
        """Of a store; `has_conversation`: whether there is one of an owner and an id."""
        self._has_conversation = has_conversation
        # by owner and block, oldest first
        self._versions: dict[tuple[str, str], list[CoreVersion]] = {}

    def fill(self, ended: ExchangeEnd) -> None:
        """Keep what the end of an exchange adds."""
        owner, exchange = conversation_owner(ended.owner, ended.conversation_id), ended.exchange
        for one in ended.core:
            kept = self._versions.get((owner, one.block))
            known = kept[-1] if kept else None
            version = filled(known, one, owner, exchange.run_id, exchange.ended_at)
            if version is not None:
                self._keep(version)

    def delete(self, owner: str) -> int:
        """Forget all that belongs to an owner; return how many versions there were."""
        forgotten = sum(len(one) for key, one in self._versions.items() if key[0] == owner)
        self._versions = {key: one for key, one in self._versions.items() if key[0] != owner}
        return forgotten

    async def newest(self, owners: Sequence[str]) -> list[CoreVersion]:
        """See CoreLog."""
        found = sorted(self._versions.items())
        return [versions[-1] for (owner, _), versions in found if owner in owners]

    async def versions(self, owner: str, block: str) -> list[CoreVersion]:
        """See CoreLog."""
        return list(reversed(self._versions.get((owner, block), [])))

    async def add(self, version: CoreVersion) -> bool:
        """See CoreLog."""
        return self._keep(version)

    def add_all(self, versions: Sequence[CoreVersion]) -> bool:
        """Keep the next versions of some blocks, all or none."""
        before = dict(self._versions)
        if all(self._keep(one) for one in versions):
            return True
        self._versions = before
        return False

    def _keep(self, version: CoreVersion) -> bool:
        conversation = conversation_of(version.owner)
        if conversation is not None and not self._has_conversation(conversation):
            return False
        place = (version.owner, version.block)
        kept = self._versions.setdefault(place, [])
        if version.version != (kept[-1].version + 1 if kept else 1):
            return False
        self._versions[place] = [*kept, version][-KEPT_VERSIONS:]
        return True
