"""Recall memory as people and programs handle it: listed, searched, added to, forgotten."""

from collections.abc import Callable, Sequence

from crew.crew import Crew
from crew.engine.memory.counting import counting
from crew.engine.memory.finding import patient_finder
from crew.journal.records.remembered.core import owner_in
from crew.journal.records.remembered.recall import RecallItem, Remembered
from crew.journal.store import RunStore
from crew.memory.recall import (
    RecallError,
    RecallRule,
    checked_importance,
    checked_key,
    checked_text,
    checked_topics,
    new_item_id,
)
from crew.runs.errors import ItemRefused, RecallFull, UnknownConversation, UnknownItem
from tools.clock import rfc3339

# that a person looks through at once
MAX_REPLACED = 1000


class RecallMemory:
    """The items of a crew's users, in its store."""

    def __init__(self, store: RunStore, crew: Callable[[], Crew]) -> None:
        """Of a store; `crew`: returns the newest, which says what is remembered."""
        self.store, self._crew = store, crew

    async def listed(
        self,
        user_id: str,
        conversation_id: str,
        limit: int,
        after: str = "",
        *,
        replaced: bool = False,
    ) -> list[RecallItem]:
        """Return items, newest first; raises UnknownItem.

        Args:
            user_id: of them.
            conversation_id: where they belong to one.
            limit: so many at most.
            after: the id of the last one of the page before.
            replaced: those, too, that another one has taken the place of.
        """
        _, owner = self._find(user_id, conversation_id)
        return await self.store.recall.listed(owner, limit, after, replaced=replaced)

    async def searched(
        self,
        user_id: str,
        conversation_id: str,
        query: str,
        limit: int,
        *,
        replaced: bool = False,
    ) -> list[RecallItem]:
        """Return the items that words find, best first; raises UnknownItem.

        `replaced`: behind them those, too, that another one has taken the place of, newest first.
        """
        rule, owner = self._find(user_id, conversation_id)
        search = rule.search(owner, query, limit, self.store.now())
        emit = counting(self._crew(), self.store, user_id, conversation_id)
        found = await patient_finder(self._crew(), self.store, emit).items(search, query) or []
        if not replaced:
            return found
        known = await self.store.recall.listed(owner, MAX_REPLACED, "", replaced=True)
        wanted = set(rule.words.query(query))
        older = [
            one
            for one in known
            if one.replaced_by and wanted & rule.words.terms(one.text)[0].keys()
        ]
        return [*found, *older][:limit]

    async def add(
        self,
        user_id: str,
        conversation_id: str,
        who: str,
        text: str,
        key: str = "",
        topics: Sequence[str] = (),
        importance: float = 0.5,
    ) -> tuple[RecallItem, Remembered]:
        """Remember an item that a person gives; return it with what that has come to.

        Raises:
            UnknownItem: nothing is remembered of this user.
            UnknownConversation: nor is there such a conversation.
            ItemRefused: it may not be remembered.
            RecallFull: there is no room for it.
        """
        rule, owner = self._find(user_id, conversation_id)
        mask, now = self._crew().secrets.mask, self.store.now()
        at = rfc3339(now)
        try:
            item = RecallItem(
                owner,
                new_item_id(now),
                checked_text(mask(text)),
                at,
                at,
                key=checked_key(mask(key)),
                topics=checked_topics([mask(one) for one in topics]),
                importance=checked_importance(importance),
                conversation_id=conversation_id,
                who=who,
            )
        except RecallError as error:
            raise ItemRefused(str(error)) from error
        done = await self.store.recall.add(owner, [rule.addition(item)], rule.limits(now))
        if done is None:
            raise UnknownConversation(conversation_id)
        if done[0].op == "full":
            raise RecallFull(rule.full)
        known = await self.store.recall.get(owner, done[0].item_id)
        # another one may have come since
        return known or item, done[0]

    async def delete(self, user_id: str, conversation_id: str, item_id: str) -> None:
        """Forget an item; raises UnknownItem."""
        _, owner = self._find(user_id, conversation_id)
        if not await self.store.recall.delete(owner, item_id):
            raise UnknownItem(f"there is nothing remembered as {item_id!r}")

    def _find(self, user_id: str, conversation_id: str) -> tuple[RecallRule, str]:
        rule = self._crew().memory.recall
        if rule is None:
            raise UnknownItem("this crew has no recall memory: describe memory.recall in crew.yaml")
        owner = owner_in(rule.scope, user_id, conversation_id)
        if owner is None:
            needs = "conversation_id" if rule.scope == "conversation" else "a user"
            raise UnknownItem(f"recall memory belongs to a {rule.scope}: it needs {needs}")
        return rule, owner
