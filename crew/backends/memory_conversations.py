"""Conversations of a store that ends with its process."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal

from crew.backends.memory_chores import MemoryChores
from crew.backends.memory_core import MemoryCore
from crew.backends.memory_documents import MemoryDocuments
from crew.backends.memory_recall import MemoryRecall
from crew.journal.records.conversations import (
    KEPT_SUMMARIES,
    Conversation,
    Exchange,
    Summary,
    TitledBy,
)
from crew.journal.records.exchanges import (
    Began,
    ExchangeEnd,
    ExchangeStart,
    Refused,
    begin,
    copy_of,
    end,
    is_used,
    summarised,
    titled,
)
from crew.journal.records.remembered.core import conversation_owner

Place = tuple[str, str]


class MemoryConversations:
    """See ConversationLog."""

    def __init__(
        self,
        chores: MemoryChores,
        core: MemoryCore,
        recall: MemoryRecall,
        documents: MemoryDocuments,
        forget_runs: Callable[[Place], None],
        is_open: Callable[[str], bool],
    ) -> None:
        """Of a store.

        Args:
            chores: of the conversations.
            core: of the conversations, and of others.
            recall: of the conversations, and of others.
            documents: of the conversations, and of others.
            forget_runs: deletes the runs of a conversation.
            is_open: whether a run is there and has not ended.
        """
        self._chores, self._core, self._recall = chores, core, recall
        self._documents = documents
        self._forget_runs, self._is_open = forget_runs, is_open
        self._known: dict[Place, Conversation] = {}
        self._exchanges: dict[Place, dict[int, Exchange]] = {}
        self._summaries: dict[Place, list[Summary]] = {}
        # run ids by conversation, in their order
        self._queues: dict[Place, list[str]] = {}

    def begin(self, start: ExchangeStart) -> Began | Refused:
        """Let a run be the next one; nothing is kept yet."""
        place = (start.owner, start.conversation_id)
        known = self._freed(self._known.get(place))
        return begin(known, start, len(self._queues.get(place, ())))

    def _freed(self, known: Conversation | None) -> Conversation | None:
        """Free a conversation of a run that has ended, or is not there."""
        if known is None or known.busy is None or self._is_open(known.busy):
            return known
        return replace(known, busy=None)

    def keep(self, start: ExchangeStart, began: Began) -> None:
        """Keep what a start has changed."""
        place = (start.owner, start.conversation_id)
        self._known[place] = began.conversation
        if began.waits:
            self._queues.setdefault(place, []).append(start.run_id)

    def end(self, ended: ExchangeEnd) -> str | None:
        """Keep an exchange; the run that goes on now."""
        place, given = (ended.owner, ended.conversation_id), ended.exchange
        known = self._known.get(place)
        if known is None:
            return None
        queue = self._queues.get(place, [])
        if given.run_id in queue:
            queue.remove(given.run_id)
        next_run = queue.pop(0) if queue and known.busy == given.run_id else None
        exchanges = self._exchanges.setdefault(place, {})
        result = end(known, ended, exchanges.get(given.number), next_run)
        self._known[place] = result.conversation
        exchanges[given.number] = result.exchange
        for chore in result.chores:
            self._chores.insert(chore)
        self._core.fill(ended)
        return next_run

    async def create(self, conversation: Conversation) -> bool:
        """See ConversationLog."""
        place = (conversation.owner, conversation.conversation_id)
        is_new = place not in self._known
        if is_new:
            self._known[place] = conversation
        return is_new

    def restore(
        self, conversation: Conversation, exchanges: Sequence[Exchange], summary: Summary | None
    ) -> None:
        """Keep one as it was at another time, with its exchanges and its summary."""
        place = (conversation.owner, conversation.conversation_id)
        self._known[place] = conversation
        self._exchanges[place] = {one.number: one for one in exchanges}
        self._summaries[place] = [summary] if summary is not None else []

    def find(self, place: Place) -> Conversation | None:
        """Return the one of this owner and id, if there is one."""
        return self._known.get(place)

    def put(self, changed: Conversation) -> None:
        """Keep one that has changed."""
        self._known[changed.owner, changed.conversation_id] = changed

    async def get(self, owner: str, conversation_id: str) -> Conversation | None:
        """See ConversationLog."""
        return self._known.get((owner, conversation_id))

    async def listed(
        self,
        owner: str,
        limit: int = 50,
        after: tuple[str, str] | None = None,
        text: str | None = None,
    ) -> list[Conversation]:
        """See ConversationLog."""
        own = [one for (whose, _), one in self._known.items() if whose == owner]
        if text is not None:
            own = [one for one in own if self._has(one, text.casefold())]
        in_order = sorted(own, key=lambda one: (one.used_at, one.conversation_id), reverse=True)
        if after is not None:
            in_order = [one for one in in_order if (one.used_at, one.conversation_id) < after]
        return in_order[:limit]

    def _has(self, one: Conversation, text: str) -> bool:
        exchanges = self._exchanges.get((one.owner, one.conversation_id), {})
        texts = [one.title, *(exchange.query for exchange in exchanges.values())]
        return any(text in given.casefold() for given in texts)

    async def set_title(
        self,
        owner: str,
        conversation_id: str,
        title: str,
        by: TitledBy,
        created_at: str | None = None,
    ) -> bool:
        """See ConversationLog."""
        known = self._known.get((owner, conversation_id))
        changed = titled(known, title, by, created_at) if known is not None else None
        if changed is not None:
            self._known[owner, conversation_id] = changed
        return changed is not None

    async def set_metadata(
        self, owner: str, conversation_id: str, metadata: Mapping[str, Any]
    ) -> bool:
        """See ConversationLog."""
        known = self._known.get((owner, conversation_id))
        if known is not None:
            self._known[owner, conversation_id] = replace(known, metadata=dict(metadata))
        return known is not None

    async def exchanges(
        self, owner: str, conversation_id: str, after: int = 0, limit: int = 50
    ) -> list[Exchange]:
        """See ConversationLog."""
        known = self._exchanges.get((owner, conversation_id), {})
        return [known[number] for number in sorted(known) if number > after][:limit]

    async def shown(
        self,
        owner: str,
        conversation_id: str,
        after: int,
        through: int | None = None,
        *,
        transcripts: bool,
    ) -> list[Exchange]:
        """See ConversationLog."""
        found = {
            one.position: one
            for one in self._exchanges.get((owner, conversation_id), {}).values()
            if one.position is not None
            and after < one.position
            and (through is None or one.position <= through)
        }
        shown = [found[position] for position in sorted(found)]
        return shown if transcripts else [replace(one, transcript="") for one in shown]

    async def summary(
        self, owner: str, conversation_id: str, through: int | None = None
    ) -> Summary | None:
        """See ConversationLog."""
        kept = reversed(self._summaries.get((owner, conversation_id), []))
        return next((one for one in kept if through is None or one.through <= through), None)

    async def add_summary(
        self, owner: str, conversation_id: str, summary: Summary, created_at: str
    ) -> bool:
        """See ConversationLog."""
        place = (owner, conversation_id)
        known = self._known.get(place)
        changed = summarised(known, summary, created_at) if known is not None else None
        if changed is None:
            return False
        self._known[place] = changed
        kept = [*self._summaries.get(place, []), summary]
        self._summaries[place] = kept[-KEPT_SUMMARIES:]
        return True

    async def fork(
        self, owner: str, conversation_id: str, through: int, copy: Conversation
    ) -> bool:
        """See ConversationLog."""
        place = (copy.owner, copy.conversation_id)
        known = self._known.get((owner, conversation_id))
        if known is None or place in self._known:
            return False
        every = await self.exchanges(owner, conversation_id, 0, known.started)
        exchanges = [one for one in every if one.number <= through]
        shown = sum(one.position is not None for one in exchanges)
        summary = await self.summary(owner, conversation_id, shown)
        self._known[place], summary = copy_of(known, copy, exchanges, summary)
        self._exchanges[place] = {one.number: one for one in exchanges}
        if summary is not None:
            self._summaries[place] = [summary]
        return True

    async def delete(
        self,
        owner: str,
        conversation_id: str,
        unused_since: str | None = None,
    ) -> Literal["deleted", "busy", "none"]:
        """See ConversationLog."""
        place = (owner, conversation_id)
        known = self._freed(self._known.get(place))
        if known is None:
            return "none"
        if known.busy is not None or is_used(known, unused_since):
            return "busy"
        for kept in (self._known, self._exchanges, self._summaries, self._queues):
            kept.pop(place, None)
        self._chores.delete(place)
        self._core.delete(conversation_owner(*place))
        self._recall.delete_all(conversation_owner(*place))
        self._documents.remove_all(conversation_owner(*place))
        self._forget_runs(place)
        return "deleted"

    async def old(self, before: str, limit: int = 100) -> list[tuple[str, str]]:
        """See ConversationLog."""
        known = self._known.items()
        old = [place for place, one in known if one.used_at < before and one.busy is None]
        return old[:limit]

    async def waiting(self, run_ids: Sequence[str]) -> set[str]:
        """See ConversationLog."""
        return {run_id for queue in self._queues.values() for run_id in queue} & set(run_ids)
