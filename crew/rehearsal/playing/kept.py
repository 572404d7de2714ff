"""What a crew has kept at the end of a run: memory, titles, notices, what an answer cites."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from pydantic_core import to_json, to_jsonable_python

from crew.backends.memory import MemoryStore
from crew.journal.events import RunDone
from crew.journal.records.conversations import owner_of
from crew.journal.records.rows import RunRow
from crew.journal.remembered.sources import source_documents
from crew.rehearsal.keys.expected import Expect
from crew.rehearsal.playing.tape import Noted
from crew.runs.errors import UnknownBlock, UnknownItem
from crew.runs.runs import Runs
from tools.clock import rfc3339

# of items, and of notices to one channel
MAX_LISTED = 1000


@dataclass(slots=True)
class Kept:
    """What is there at the end of a run, as far as the rehearsal expects anything of it."""

    notices: Sequence[dict[str, Any]] = ()
    core: dict[str, str] = field(default_factory=dict)
    recall: Sequence[str] = ()
    title: str = ""
    sources: Sequence[str] = ()


async def find_kept(
    runs: Runs, store: MemoryStore, row: RunRow, events: Sequence[Noted], expect: Expect
) -> Kept:
    """Find what is kept."""
    kept = Kept()
    if expect.notices:
        kept.notices = await _notices(runs, store)
    if expect.memory is not None:
        place = row.user_id, row.conversation_id
        for block in expect.memory.core:
            try:
                version = await runs.memory.core.get(block, *place)
            except UnknownBlock:
                continue
            value = version.value
            kept.core[block] = value if isinstance(value, str) else to_json(value).decode()
        if expect.memory.recall:
            try:
                items = await runs.memory.recall.listed(*place, MAX_LISTED)
            except UnknownItem:
                items = []
            kept.recall = [one.text for one in items]
    if expect.title is not None and row.conversation_id:
        found = await store.conversations.get(owner_of(row.user_id), row.conversation_id)
        kept.title = found.title if found is not None else ""
    if expect.sources is not None:
        ends = (one.event for one in reversed(events) if isinstance(one.event, RunDone))
        if (end := next(ends, None)) is not None:
            named = source_documents(end.sources, end.answer)
            kept.sources = list(dict.fromkeys(one["name"] for one in named if one.get("cited")))
    return kept


async def _notices(runs: Runs, store: MemoryStore) -> list[dict[str, Any]]:
    """Return all notices, as a channel gets them; they stay in the outbox."""
    now = rfc3339(store.now())
    out = []
    for channel in runs.crew.config.told:
        for notice, _ in await store.outbox.take(channel, now, now, MAX_LISTED):
            out.append(to_jsonable_python(notice))
    return out
