"""Items of recall memory that models were shown in a recording, for the same models again."""

from collections import deque
from collections.abc import Sequence

from agents.events import ContextShown, ShownBlock
from crew.backends.memory_chores import MemoryChores
from crew.backends.memory_core import MemoryCore
from crew.backends.memory_recall import MemoryRecall
from crew.journal.events import StoredEvent
from crew.journal.records.remembered.core import Scope, owner_in
from crew.journal.records.remembered.recall import RecallItem, Search
from crew.journal.records.rows import RunRow
from crew.journal.store import RunStore

SCOPES: tuple[Scope, ...] = ("user", "conversation")


class ItemGone(Exception):
    """An item that a model was shown is forgotten."""


def blocks_of(event: StoredEvent) -> Sequence[ShownBlock]:
    """Return what an agent was shown, where an event says so."""
    return event.blocks if isinstance(event, ContextShown) else ()


async def find_recalled(
    store: RunStore, row: RunRow, events: Sequence[StoredEvent]
) -> list[list[RecallItem]]:
    """Find what models were shown: the items of each look, in order.

    Args:
        store: has the items.
        row: of the run.
        events: of it, in order.

    Raises:
        ItemGone: one is forgotten.
        StoreError: the store fails.
    """
    owners = [owner_in(scope, row.user_id, row.conversation_id) for scope in SCOPES]
    known: dict[str, RecallItem] = {}
    found: list[list[RecallItem]] = []
    # looks of the same group, of which each member has the same words
    together: list[int] = []
    group: str | None = None
    for event in events:
        for block in blocks_of(event):
            if block.kind != "recall":
                continue
            for item_id in set(block.ids) - known.keys():
                known[item_id] = await _item(store, owners, item_id)
            of_group = event.group if isinstance(event, ContextShown) else None
            if of_group is None or of_group != group:
                together, group = [], of_group
            together.append(len(found))
            found.append([known[item_id] for item_id in block.ids])
            # members may look in another order: the longest list has what each may be shown
            longest = max((found[place] for place in together), key=len)
            for place in together:
                found[place] = longest
    return found


async def _item(store: RunStore, owners: Sequence[str | None], item_id: str) -> RecallItem:
    for owner in owners:
        item = await store.recall.get(owner, item_id) if owner is not None else None
        if item is not None:
            return item
    raise ItemGone(f"the item {item_id} of recall memory, which it was shown, is forgotten")


class RecordedRecall(MemoryRecall):
    """Finds what was found in the recording, whatever is looked for."""

    def __init__(self, recalled: Sequence[Sequence[RecallItem]]) -> None:
        """Begin; `recalled`: see `find_recalled`."""
        core = MemoryCore(lambda _: False)
        super().__init__(core, MemoryChores(), lambda _: None, lambda _: None)
        self._recalled = deque(recalled)

    async def search(self, search: Search) -> list[tuple[RecallItem, float]]:
        """See RecallLog."""
        found = self._recalled.popleft() if self._recalled else ()
        return [(one, 1.0) for one in found[: search.most]]
