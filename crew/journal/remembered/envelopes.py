"""What the events of memory contribute to what clients get."""

from collections.abc import Callable
from typing import Any

from crew.journal.envelopes import Envelope
from crew.journal.remembered.events import DocumentsShown, MemoryChanged, MemoryOp, Tainted
from crew.journal.remembered.sources import source_documents

TEXTS: dict[MemoryOp, str] = {
    "edited": "has changed the block {block} of core memory",
    "added": "remembers something new",
    "again": "remembers what it knew already",
    "replaced": "remembers something in the place of another one",
    "forgot": "has forgotten something",
}


def _changed(event: MemoryChanged) -> Envelope:
    metadata = {
        "group": event.group,
        "op": event.op,
        "block": event.block,
        "version": event.version,
        "ids": event.ids,
        "by": "agent",
    }
    content = f"{event.agent} {TEXTS[event.op]}".format(block=event.block)
    return Envelope("memory", event.agent, content, event.agent_id, metadata)


def _tainted(event: Tainted) -> Envelope:
    content = f"{event.agent} has read text of others: {event.source}"
    metadata = {"group": event.group, "source": event.source}
    return Envelope("tainted", event.agent, content, event.agent_id, metadata)


def _passages(event: DocumentsShown) -> Envelope:
    names = ", ".join(dict.fromkeys(one.name for one in event.passages))
    content = f"{event.agent} is shown passages of {names}"
    metadata = {"group": event.group, "passages": source_documents(event.passages)}
    return Envelope("passages", event.agent, content, event.agent_id, metadata)


MEMORY_ENVELOPES: dict[type[Any], Callable[[Any], Envelope]] = {
    MemoryChanged: _changed,
    Tainted: _tainted,
    DocumentsShown: _passages,
}
