"""Core memory as people and programs handle it: read, and changed in versions."""

from collections.abc import Callable
from dataclasses import replace

from crew.crew import Crew
from crew.engine.masking import masked_data
from crew.journal.records.remembered.core import CoreVersion, conversation_of, owner_in
from crew.journal.store import RunStore
from crew.memory.core import CoreError, CoreRule, checked, value_of
from crew.runs.errors import BlockRefused, StaleVersion, UnknownBlock, UnknownConversation
from tools.clock import rfc3339


class CoreMemory:
    """The blocks of a crew, in its store."""

    def __init__(self, store: RunStore, crew: Callable[[], Crew]) -> None:
        """Of a store; `crew`: returns the newest, which says what blocks there are."""
        self.store, self._crew = store, crew

    def blocks(self, user_id: str, conversation_id: str = "") -> list[CoreRule]:
        """Return the blocks that a user, and a conversation if one is named, has."""
        rules = self._crew().memory.core.values()
        return [one for one in rules if owner_in(one.scope, user_id, conversation_id) is not None]

    async def get(self, block: str, user_id: str, conversation_id: str = "") -> CoreVersion:
        """Return a block as it is now; before its first change, version 0.

        Raises:
            UnknownBlock: there is none.
            UnknownConversation: nor a conversation that it could belong to.
        """
        rule, owner = self._find(block, user_id, conversation_id)
        await self._require_conversation(owner)
        newest = await self._newest(owner, block)
        value, _ = value_of(rule, newest)
        if newest is None:
            return CoreVersion(owner, block, 0, value, "", "person", "")
        return replace(newest, value=value)

    async def put(
        self,
        block: str,
        value: object,
        expected: int | None,
        who: str,
        user_id: str,
        conversation_id: str = "",
    ) -> CoreVersion:
        """Change a block, and return it as it is then.

        Args:
            block: its name.
            value: all of it: a text, or its fields.
            expected: the version that is changed; None: whichever is there.
            who: the name of the caller.
            user_id: of the user.
            conversation_id: of a block of a conversation.

        Raises:
            UnknownBlock: there is none.
            UnknownConversation: nor a conversation that it could belong to.
            BlockRefused: people may not change it, or it does not take the value.
            StaleVersion: another change came first.
        """
        rule, owner = self._find(block, user_id, conversation_id)
        if "person" not in rule.writers:
            raise BlockRefused(f"{block} is not changed by people", is_readonly=True)
        secrets = self._crew().secrets
        try:
            kept = checked(rule, masked_data(value, secrets))
        except CoreError as error:
            # the caller has what it would be
            raise BlockRefused(str(error).partition(" It would be:")[0]) from error
        while True:
            newest = await self._newest(owner, block)
            number = newest.version if newest is not None else 0
            if expected is not None and expected != number:
                raise StaleVersion(block, number)
            at = rfc3339(self.store.now())
            version = CoreVersion(owner, block, number + 1, kept, at, "person", who)
            if await self.store.core.add(version):
                return version
            await self._require_conversation(owner)

    async def _newest(self, owner: str, block: str) -> CoreVersion | None:
        found = await self.store.core.newest([owner])
        return next((one for one in found if one.block == block), None)

    async def _require_conversation(self, owner: str) -> None:
        """Raise UnknownConversation where what belongs to a conversation has none."""
        place = conversation_of(owner)
        if place is not None and await self.store.conversations.get(*place) is None:
            raise UnknownConversation(place[1])

    def _find(self, block: str, user_id: str, conversation_id: str) -> tuple[CoreRule, str]:
        rule = self._crew().memory.core.get(block)
        if rule is None:
            raise UnknownBlock(f"there is no block {block!r} of core memory")
        owner = owner_in(rule.scope, user_id, conversation_id)
        if owner is None:
            needs = "conversation_id" if rule.scope == "conversation" else "a user"
            raise UnknownBlock(f"{block} belongs to a {rule.scope}: it needs {needs}")
        return rule, owner
