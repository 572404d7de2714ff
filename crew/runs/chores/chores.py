"""Chores: work after runs, such as titles and summaries of conversations.

They are rows of the store, written with the end of the run that makes them necessary. No run waits
for one; a process that ends leaves its chores to the next.
"""

import asyncio
import contextlib
import logging
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta

from agents.errors import ModelError
from crew.journal.errors import StoreError
from crew.journal.records.conversations import Chore
from crew.runs.chores.documents import CountDocuments, DocumentChores
from crew.runs.chores.embedding import EmbeddingChores
from crew.runs.chores.erasure import Erasing
from crew.runs.chores.helper_chores import CountFacts, HelperChores
from crew.runs.chores.kinds import ChoreWork
from crew.runs.chores.learning import CountMemory, Learning
from crew.runs.errors import Draining
from crew.runs.runs import Runs
from tools.clock import rfc3339

log = logging.getLogger(__name__)

LOOK_SECONDS = 1.0
MAX_ATTEMPTS = 3
# before the second attempt; times four before each further one
FIRST_WAIT_SECONDS = 10.0
# a chore that lost its process is taken again so long after its time is over
LEASE_SECONDS = 60.0

# gets the kind, the outcome (done, skipped, stale, postponed, retried or failed) and the seconds
CountChore = Callable[[str, str, float], None]


@dataclass(frozen=True, slots=True)
class Counts:
    """Gets what becomes of chores."""

    chore: CountChore = lambda kind, outcome, seconds: None
    facts: CountFacts = lambda outcome, count: None
    # what is learned, and why something is not
    learned: CountMemory = lambda change: None
    unlearned: CountMemory = lambda reason: None
    documents: CountDocuments = CountDocuments()  # noqa: RUF009 # frozen


class Chores:
    """Does the chores of a store, each kind in its lane."""

    def __init__(self, runs: Runs, counts: Counts = Counts()) -> None:  # frozen
        self.runs, self.store, self.counts = runs, runs.store, counts
        self.clock = runs.crew.clock
        helpers = HelperChores(runs, counts.facts)
        learning = Learning(runs, counts.learned, counts.unlearned)
        documents = DocumentChores(runs, counts.documents)
        works = [*helpers.works, *learning.works, *documents.works]
        works += [*Erasing(runs).works, *EmbeddingChores(runs).works]
        self.works = {one.kind: one for one in works}
        self.lanes = sorted({one.lane for one in self.works.values()})

    async def run(self) -> None:
        """Do what is due, until this is cancelled or the process drains."""
        await self.take_over()
        async with asyncio.TaskGroup() as lanes:
            for lane in self.lanes:
                lanes.create_task(self._run_lane(lane))

    async def take_over(self) -> None:
        """Let what a process has left that is gone be done now, if there is no other process."""
        with contextlib.suppress(StoreError):
            if self.store.alone():
                await self.store.chores.free(rfc3339(self.store.now()))

    async def drain(self, *only: str) -> None:
        """Do what is due, and what becomes due meanwhile; end when nothing is at work.

        `only`: in these lanes; in all unless given.
        """
        lanes = only or self.lanes
        # what is done in one lane may be work for another
        while any(await asyncio.gather(*(self._drain_lane(one, lambda: False) for one in lanes))):
            continue

    async def _run_lane(self, lane: str) -> None:
        while not self.runs.draining:
            await self._drain_lane(lane, lambda: self.runs.draining)
            await self.clock.sleep(LOOK_SECONDS)

    async def _drain_lane(self, lane: str, is_over: Callable[[], bool]) -> bool:
        """Do what is due in a lane: a chore that takes long leaves the other places to others.

        Args:
            lane: its name.
            is_over: begin no more.

        Returns:
            Whether there was anything.
        """
        doing: set[asyncio.Task[None]] = set()
        has_done = False
        try:
            while True:
                # maintenance warns of a store that fails
                with contextlib.suppress(StoreError):
                    if not is_over():
                        doing |= await self._begin_some(lane, len(doing))
                if not doing:
                    return has_done
                has_done = True
                look = asyncio.create_task(self.clock.sleep(LOOK_SECONDS))
                try:
                    await asyncio.wait({*doing, look}, return_when=asyncio.FIRST_COMPLETED)
                finally:
                    look.cancel()
                for task in [one for one in doing if one.done()]:
                    doing.remove(task)
                    task.result()
        finally:
            for task in doing:
                task.cancel()
            await asyncio.gather(*doing, return_exceptions=True)

    async def _begin_some(self, lane: str, doing: int) -> set["asyncio.Task[None]"]:
        """Take and begin chores of a lane, as far as it has places."""
        helpers = self.runs.crew.helpers
        works = [one for one in self.works.values() if one.lane == lane]
        # what waits for a helper is for a crew that has it
        works = [one for one in works if helpers or not one.needs_helper]
        room = self.runs.crew.config.helpers.at_once - doing
        if not works or room <= 0:
            return set()
        lease = max(self._seconds(one) for one in works) + LEASE_SECONDS
        now = self.store.now()
        until = rfc3339(now + timedelta(seconds=lease))
        kinds = [one.kind for one in works]
        taken = await self.store.chores.take(rfc3339(now), until, room, kinds)
        return {asyncio.create_task(self._do(chore)) for chore in taken}

    def _seconds(self, work: ChoreWork) -> float:
        """Return how long a chore of a kind may take."""
        helper = self.runs.crew.helpers.get(work.kind)
        # a wrong answer is requested once more
        return work.seconds if helper is None else 2 * helper.timeout_seconds

    async def _do(self, chore: Chore) -> None:
        started = self.clock.monotonic()
        outcome = await self._outcome(chore)
        self.counts.chore(chore.kind, outcome, self.clock.monotonic() - started)

    async def _outcome(self, chore: Chore) -> str:
        try:
            outcome = await self.works[chore.kind].do(chore)
        except (ModelError, StoreError) as error:
            return await self._fail(chore, str(error))
        except Draining:
            # another process does it, or this one when it is back
            return "postponed"
        except Exception:
            log.exception("the chore %s of conversation %s failed", chore.kind, chore.key)
            return await self._fail(chore, "the runtime made a mistake")
        if outcome == "postponed":
            return outcome
        with contextlib.suppress(StoreError):
            more = outcome == "more"
            await self.store.chores.finish(chore, rfc3339(self.store.now()), more=more)
        return "done" if outcome == "more" else outcome

    async def _fail(self, chore: Chore, why: str) -> str:
        with contextlib.suppress(StoreError):
            if chore.attempts >= MAX_ATTEMPTS and self.works[chore.kind].gives_up:
                text = "the chore %s of conversation %s was given up after %d attempts: %s"
                log.warning(text, chore.kind, chore.key, chore.attempts, why)
                await self.store.chores.finish(chore, rfc3339(self.store.now()))
                return "failed"
            times = min(chore.attempts, MAX_ATTEMPTS) - 1
            wait = timedelta(seconds=FIRST_WAIT_SECONDS * 4**times)
            await self.store.chores.postpone(chore, rfc3339(self.store.now() + wait))
        return "retried"
