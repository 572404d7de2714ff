"""A store as a process sees it that ends at a certain event, as by `kill -9`; or that fails."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic_core import from_json

from crew.backends.memory import MemoryStore
from crew.journal.errors import StoreError, StoreUnavailable
from crew.journal.records.rows import AppendResult, Record, Write
from crew.rehearsal.keys.faults import Fault
from tools.clock import Clock

# what these begin is done behind them
BEGINNINGS = frozenset({"start", "agent_start", "parallel_start", "task_start", "tool_start"})


@dataclass(slots=True)
class Moment:
    """When a process ends."""

    # the number of the event; or its type, the tool that it is about, and the so-many-th of them
    seq: int = 0
    event: str = ""
    tool: str | None = None
    nth: int = 1
    # the start of this call
    call_id: str = ""
    # what the event says is being done; else it ends when the event is stored
    is_during: bool = False
    seen: int = 0

    @classmethod
    def of(cls, fault: Fault) -> "Moment":
        """Return the moment that a fault names."""
        is_during = fault.kill == "during"
        return cls(0, fault.event or "", fault.tool, fault.nth, is_during=is_during)

    def is_at(self, record: Record) -> bool:
        """Return whether an event is the one; it counts as seen."""
        if self.seq:
            return record.seq == self.seq
        event = from_json(record.public)
        if self.call_id:
            call_id = event["metadata"].get("call_id")
            return bool(event["type"] == "tool_start" and call_id == self.call_id)
        if event["type"] != self.event or self.tool not in (None, event["metadata"].get("tool")):
            return False
        self.seen += 1
        return self.seen == self.nth


@dataclass(slots=True)
class Outage:
    """The store cannot be written for a while, from the second write on."""

    clock: Clock
    seconds: float
    writes: int = 0
    ends_at: float | None = None

    def check(self) -> None:
        """Raise StoreUnavailable while it lasts."""
        self.writes += 1
        if self.writes < 2:
            return
        now = self.clock.monotonic()
        if self.ends_at is None:
            self.ends_at = now + self.seconds
        if now < self.ends_at:
            raise StoreUnavailable("a fault of the rehearsal: the store cannot be written")


@dataclass(slots=True)
class Trigger:
    """Something that happens once an event is stored."""

    moment: Moment
    act: Callable[[], None]


class MortalStore:
    """Passes all on to a store that outlives it, until the process ends."""

    def __init__(
        self,
        store: MemoryStore,
        moment: Moment | None = None,
        outage: Outage | None = None,
        triggers: Sequence[Trigger] = (),
    ) -> None:
        self.store, self.moment, self.outage = store, moment, outage
        # they outlive the process, too
        self.triggers = triggers
        self.died = asyncio.Event()
        # it ends with the next write
        self._is_dying = False

    @property
    def is_dead(self) -> bool:
        """Whether the process has ended."""
        return self.died.is_set()

    def __getattr__(self, name: str) -> Any:
        return getattr(self.store, name)

    async def append(self, write: Write) -> AppendResult:
        """See RunLog; raises StoreError when the process has ended."""
        if self.is_dead or self._is_dying:
            raise self._end()
        if self.outage is not None:
            self.outage.check()
        moment = self.moment
        record = next((one for one in write.records if moment and moment.is_at(one)), None)
        if record is None or moment is None:
            result = await self.store.append(write)
            self._trigger(write)
            return result
        if moment.is_during and from_json(record.public)["type"] not in BEGINNINGS:
            # what is done is not stored yet, nor what came with it
            raise self._end()
        self._is_dying = moment.is_during
        result = await self.store.append(write)
        if not moment.is_during:
            raise self._end()
        return result

    def _trigger(self, write: Write) -> None:
        for trigger in self.triggers:
            if any(trigger.moment.is_at(one) for one in write.records):
                trigger.act()

    async def release(self, run_id: str, epoch: int) -> None:
        """See RunLog: who has ended releases nothing."""
        if not self.is_dead:
            await self.store.release(run_id, epoch)

    async def aclose(self) -> None:
        """See RunStore: the store outlives it."""

    def _end(self) -> StoreError:
        self.died.set()
        return StoreError("the process has ended")
