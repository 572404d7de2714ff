"""How often tools were called lately, how often that failed, and how long it took."""

from collections import defaultdict
from dataclasses import dataclass, replace
from datetime import timedelta
from math import ceil
from typing import Any

from pydantic_core import from_json

from crew.journal.records.listing import RunFilter
from crew.journal.store import RunStore
from tools.clock import Clock, rfc3339

# runs and events in one look at the store
BATCH, MAX_EVENTS = 200, 20_000
# how far back it is looked, and for how long
HOURS, SECONDS = 24, 2.0
# stands in each result of a call, as it is stored
RESULT = '"type":"tool_result"'


@dataclass(frozen=True, slots=True)
class ToolUsage:
    """Calls of one tool."""

    calls: int
    failed: int
    # 95 % of the calls took no longer
    p95_seconds: float

    def document(self) -> dict[str, Any]:
        """Return it as clients get it."""
        rounded = round(self.p95_seconds, 3)
        return {"calls": self.calls, "failed": self.failed, "p95_seconds": rounded}


@dataclass(frozen=True, slots=True)
class ToolsUsage:
    """Calls of all tools, of runs that were started since a time."""

    since: str
    by_tool: dict[str, ToolUsage]
    # there were more than were counted
    is_partial: bool


async def tools_usage(store: RunStore, clock: Clock, wanted: RunFilter) -> ToolsUsage:
    """Count the calls of the runs that were started in the last day; raises StoreError.

    `wanted`: of those, only these.
    """
    since = rfc3339(store.now() - timedelta(hours=HOURS))
    seconds: dict[str, list[float]] = defaultdict(list)
    failed: dict[str, int] = defaultdict(int)
    ends, after, is_done, is_cut = clock.monotonic() + SECONDS, None, False, False
    while not is_done and clock.monotonic() < ends:
        rows = await store.rows(replace(wanted, since=since), BATCH, after)
        is_done = len(rows) < BATCH
        if not rows:
            break
        after = rows[-1].run_id
        found = await store.search(RESULT, [row.run_id for row in rows], MAX_EVENTS)
        is_cut = is_cut or len(found) == MAX_EVENTS
        for _, public in found:
            event = from_json(public)
            if event["type"] != "tool_result":
                # the words stand in something that was said
                continue
            data = event["metadata"]
            seconds[data["tool"]].append(data["duration_seconds"])
            failed[data["tool"]] += data["status"] != "success"
    used = {
        name: ToolUsage(len(times), failed[name], sorted(times)[ceil(0.95 * len(times)) - 1])
        for name, times in seconds.items()
    }
    return ToolsUsage(since, used, is_cut or not is_done)
