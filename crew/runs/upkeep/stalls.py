"""A tool that holds up the whole process is named: in the log, in its run, to a listener."""

import asyncio
import logging
import time
from collections.abc import Callable

from agents.events import Warned
from crew.journal.outlets import current_run
from crew.runs.streams.live import LiveRuns
from tools.handlers.running import RunningCall, calls_during, running_calls

log = logging.getLogger(__name__)

# how often the event loop is looked at, and how late it may be
LOOK_SECONDS = 0.25
LATE_SECONDS = 3.0


def run_of(call: RunningCall) -> str:
    """Return the id of the run that a call belongs to."""
    found = call.context.get(current_run)
    return found[0] if found is not None else ""


def calls_at_work() -> list[tuple[str, str]]:
    """Return the calls with handlers that run now: each as the run's id and the tool."""
    return [(run_of(call), call.tool) for call in running_calls()]


async def watch_stalls(live: LiveRuns, on_stall: Callable[[str, float], None]) -> None:
    """Report what holds up the event loop, until this is cancelled.

    Not by a clock that is handed in: it is about this process.

    Args:
        live: the runs of this process.
        on_stall: gets the tool, and for how many seconds.
    """
    while True:
        before = time.monotonic()
        await asyncio.sleep(LOOK_SECONDS)
        now = time.monotonic()
        late = now - before - LOOK_SECONDS
        if late < LATE_SECONDS:
            continue
        calls = calls_during(before, now)
        if not calls:
            log.warning("this process was held up for %.1f s, by no tool", late)
        for call in calls:
            on_stall(call.tool, late)
            _report(live, call, late)


def _report(live: LiveRuns, call: RunningCall, seconds: float) -> None:
    text = f"{call.tool} held up the whole process, with all its runs, for {seconds:.1f} s"
    run_id = run_of(call)
    log.warning("%s", text, extra={"run_id": run_id})
    run = live.get(run_id)
    if run is not None:
        run.executor.warn(Warned("stalled", text))
