"""Which stored runs are played again."""

import random
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta

from crew.journal.events import RunStatus
from crew.journal.records.listing import RunFilter
from crew.journal.records.rows import PAGE, RunRow
from crew.journal.store import RunStore
from server.cli.stored import find_run
from tools.clock import SYSTEM_CLOCK, rfc3339


@dataclass(frozen=True, slots=True)
class WantedRuns:
    """What the command line says of them."""

    # ids, beginnings of ids, or last
    names: Sequence[str] = ()
    status: RunStatus | None = None
    # not started before
    since: timedelta | None = None
    # so many of them, chosen by chance, the same each time
    sample: int | None = None

    async def find(self, store: RunStore) -> list[RunRow]:
        """Find them, newest first; raises UnknownRun, StoreError."""
        if self.names:
            ids = [await find_run(store, name) for name in self.names]
            rows = [await store.row(one) for one in ids]
            return [one for one in rows if one is not None]
        since = None if self.since is None else rfc3339(SYSTEM_CLOCK.now() - self.since)
        wanted = RunFilter(self.status, since=since)
        found: list[RunRow] = []
        after: str | None = None
        while page := await store.rows(wanted, PAGE, after):
            found += [one for one in page if one.status != "running"]
            after = page[-1].run_id
        if self.sample is None or self.sample >= len(found):
            return found
        chosen = random.Random(0).sample(range(len(found)), self.sample)
        return [found[place] for place in sorted(chosen)]
