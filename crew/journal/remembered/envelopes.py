"""What the events of memory contribute to what clients get."""

from collections.abc import Callable
from typing import Any

from crew.journal.envelopes import Envelope
from crew.journal.remembered.events import MemoryChanged


def _changed(event: MemoryChanged) -> Envelope:
    metadata = {
        "group": event.group,
        "op": event.op,
        "block": event.block,
        "version": event.version,
        "ids": (),
        "by": "agent",
    }
    content = f"{event.agent} has changed the block {event.block} of core memory"
    return Envelope("memory", event.agent, content, event.agent_id, metadata)


MEMORY_ENVELOPES: dict[type[Any], Callable[[Any], Envelope]] = {MemoryChanged: _changed}
