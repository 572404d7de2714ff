"""What time asks for: pauses that nobody has answered go on, and what is old is forgotten."""

import contextlib
import logging
import time
from dataclasses import dataclass

import anyio

from crew.errors import CrewError, StoreError
from crew.journal.store import RunRow
from crew.journal.wire import now
from crew.runs.runs import Runs

log = logging.getLogger(__name__)

# how late a pause's end may be seen
DUE_SECONDS = 1.0
SWEEP_SECONDS = 60.0
DUE_AT_ONCE = 50


@dataclass(frozen=True, slots=True)
class Keep:
    """How long ended runs are kept. Runs that go on or are paused are kept for ever."""

    # after a run's end
    events_hours: float = 24.0
    events: int = 50_000
    # the run's result, after its end
    runs_days: float = 30.0


async def upkeep(runs: Runs, keep: Keep) -> None:
    """See to both until this is cancelled; a store that fails is asked again later."""
    swept = -SWEEP_SECONDS
    # when those that could not go on are tried again
    later: dict[str, float] = {}
    failing = ""
    while not runs.draining:
        try:
            if runs.store.failing is not None:
                await runs.store.probe()
                log.info("the store can be written again")
            # those that have waited too long
            await runs.recover_left()
            await runs.heed()
            due = await runs.store.due(now(), DUE_AT_ONCE + len(later))
            later = {row.run_id: later[row.run_id] for row in due if row.run_id in later}
            for row in due:
                if later.get(row.run_id, 0.0) <= time.monotonic() and not await _expire(runs, row):
                    later[row.run_id] = time.monotonic() + SWEEP_SECONDS
            # a piece each round, so that nobody who waits for the rest is kept waiting
            if time.monotonic() - swept >= SWEEP_SECONDS and not await sweep_some(runs, keep):
                swept = time.monotonic()
            if failing:
                log.info("the store can be used again")
            failing = ""
        except StoreError as error:
            if not failing:
                # once, not each second
                log.warning("the store fails: %s", error)
            failing = str(error)
        except Exception:
            # whatever one run is, the others must not wait for ever
            log.exception("upkeep broke, and goes on")
        await anyio.sleep(DUE_SECONDS)


async def heed(runs: Runs) -> None:
    """End the runs of this process that others were asked to end, until this is cancelled.

    Where nobody sees to all upkeep.
    """
    while True:
        await anyio.sleep(DUE_SECONDS)
        with contextlib.suppress(StoreError):
            await runs.heed()


async def _expire(runs: Runs, row: RunRow) -> bool:
    try:
        await runs.expire(row)
    except CrewError as error:
        # one that cannot go on must not keep the others waiting
        log.error(
            "run %s cannot go on without an answer: %s",
            row.run_id,
            error,
            extra={"run_id": row.run_id},
        )
        return False
    return True


async def sweep_some(runs: Runs, keep: Keep) -> bool:
    """Forget some of what is old; whether there may be more."""
    return (
        await runs.store.sweep(
            now(-3600 * keep.events_hours), keep.events, now(-86_400 * keep.runs_days)
        )
        > 0
    )
