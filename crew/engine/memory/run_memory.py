"""What the tools of an agent may do with memory, in one run."""

from collections.abc import Sequence
from dataclasses import dataclass

from crew.engine.memory import core, recall
from crew.engine.memory.speaker import Speaker


@dataclass(frozen=True, slots=True)
class RunMemory:
    """Of one agent in one run; see Memory."""

    speaker: Speaker

    async def edit_core(
        self, block: str, edits: Sequence[tuple[str, str]], quote: str, key: str
    ) -> str:
        """See Memory."""
        return await core.edit_block(self.speaker, block, edits, quote, key)

    async def remember(self, text: str, topic: str, importance: float, quote: str, key: str) -> str:
        """See Memory."""
        return await recall.remember_text(self.speaker, text, topic, importance, quote, key)

    async def recall(self, query: str, most: int) -> str:
        """See Memory."""
        return await recall.search_items(self.speaker, query, most)

    async def forget(self, item_id: str, quote: str) -> str:
        """See Memory."""
        return await recall.drop_item(self.speaker, item_id, quote)
