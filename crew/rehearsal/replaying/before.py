"""What was there before a run began: its conversation, and core memory."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from crew.backends.memory import MemoryStore
from crew.journal.records.conversations import Conversation, Exchange, Summary, owner_of
from crew.journal.records.exchanges import copy_of
from crew.journal.records.remembered.core import CoreVersion, Scope, owner_in
from crew.journal.records.rows import RunRow
from crew.journal.store import RunStore

SCOPES: tuple[Scope, ...] = ("user", "conversation", "crew")


@dataclass(frozen=True, slots=True)
class Before:
    """What is restored before a run is played again."""

    # as it was then; None: the run is in none, or begins it
    conversation: Conversation | None = None
    exchanges: Sequence[Exchange] = ()
    summary: Summary | None = None
    core: Sequence[CoreVersion] = ()

    async def restore(self, store: MemoryStore) -> None:
        """Put it into the store of a replay."""
        if self.conversation is not None:
            store.conversations.restore(self.conversation, self.exchanges, self.summary)
        for version in self.core:
            await store.core.add(replace(version, version=1))


class ConversationGone(Exception):
    """The conversation of a run is not kept as it was."""


async def find_before(store: RunStore, row: RunRow, summary_version: int) -> Before:
    """Find what was there before a run.

    Args:
        store: has the runs.
        row: of the run.
        summary_version: of its conversation, as it was shown; 0 for none.

    Raises:
        ConversationGone: it is deleted, or its summary of then is not kept.
        StoreError: the store fails.
    """
    owners = [owner_in(scope, row.user_id, row.conversation_id) for scope in SCOPES]
    core: list[CoreVersion] = []
    for newest in await store.core.newest([one for one in owners if one is not None]):
        kept = await store.core.versions(newest.owner, newest.block)
        core += [one for one in kept if one.changed_at <= row.started_at][:1]
    if row.exchange < 2:
        return Before(core=core)
    place = owner_of(row.user_id), row.conversation_id
    known = await store.conversations.get(*place)
    if known is None:
        raise ConversationGone("its conversation is deleted")
    every = await store.conversations.exchanges(*place, 0, row.exchange - 1)
    earlier = [one for one in every if one.number < row.exchange]
    shown = sum(one.position is not None for one in earlier)
    summary = await store.conversations.summary(*place, shown)
    if summary_version and (summary is None or summary.version != summary_version):
        raise ConversationGone("the summary of its conversation is no longer kept")
    made, summary = copy_of(known, known, earlier, summary if summary_version else None)
    return Before(replace(made, busy=None), earlier, summary, core)
