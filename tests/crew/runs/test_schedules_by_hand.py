"""Schedules that people pause, and start: what is started then, and what came of each time."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from crew import Answer, Runs
from crew.journal.records.audit import AuditEntry
from crew.journal.records.schedules import key_of
from crew.runs.errors import ScheduleBusy, UnknownSchedule
from crew.runs.upkeep.by_hand import (
    forget_pauser,
    pause_schedule,
    resume_schedule,
    start_now,
)
from crew.runs.upkeep.due import due_schedules
from tests.crew.runs.test_schedules import EVERY_TEN, Site, minutes
from tools.clock import rfc3339

ENTRY = AuditEntry("", "start", "ann", "here")


async def outcomes(runs: Runs, name: str = "often") -> Sequence[str]:
    """What came of its times, newest first."""
    shown = await due_schedules(runs.store, runs.crew)
    (one,) = (one for one in shown if one["name"] == name)
    return [time["outcome"] for time in one["ended"]]


async def test_a_paused_schedule_starts_nothing(tmp_path: Path):
    """Until it goes on: what was due meanwhile is not started then, after a restart neither."""
    site = Site(tmp_path)
    crew = site.crew({"often": EVERY_TEN})
    async with site.up(crew, processes=2) as runs:
        await site.clock.sleep(15 * 60)
        await pause_schedule(runs, "often", "ann")
        await site.clock.sleep(20 * 60)
        assert site.counts == {"often started": 1, "often paused": 2}
    await site.down(20)
    async with site.up(crew) as runs:
        await site.clock.sleep(2 * 60)
        (shown,) = await due_schedules(runs.store, runs.crew)
        assert shown["paused"]["by"] == "ann"
        await resume_schedule(runs, "often")
        await site.clock.sleep(10 * 60)
        assert await outcomes(runs) == ["started", *["paused"] * 4, "started"]
    assert minutes(await site.runs()) == [10, 60]
    assert site.counts == {"often started": 2, "often paused": 4}
    assert await site.notices() == []


async def test_it_goes_on_at_once(tmp_path: Path):
    """Also where no process has passed by the times that were due while it was paused."""
    site = Site(tmp_path)
    crew = site.crew({"often": EVERY_TEN})
    async with site.up(crew) as runs:
        await site.clock.sleep(60)
        await pause_schedule(runs, "often", "ann")
        await pause_schedule(runs, "often", "bob")
        (shown,) = await due_schedules(runs.store, runs.crew)
        assert shown["paused"]["by"] == "ann", "the second has changed nothing"
    await site.down(30)
    runs = Runs(crew, site.store)
    await resume_schedule(runs, "often")
    async with site.up(crew) as runs:
        await site.clock.sleep(60)
        assert minutes(await site.runs()) == []
        await site.clock.sleep(9 * 60)
    assert minutes(await site.runs()) == [40]
    assert site.counts == {"often started": 1}


async def test_what_waits_is_dropped_by_a_pause(tmp_path: Path):
    """A time that waited for the run before it."""
    site = Site(tmp_path)
    crew = site.crew({"often": EVERY_TEN | {"query": "wait", "overlap": "queue"}})
    async with site.up(crew) as runs:
        await site.clock.sleep(25 * 60)
        (row,) = await site.runs()
        await pause_schedule(runs, "often", "ann")
        await runs.resume(row.run_id, Answer("yes"))
        await site.clock.sleep(10 * 60)
        assert [one.run_id for one in await site.runs()] == [row.run_id]
        assert await outcomes(runs) == ["paused", "started"]


async def test_a_run_by_hand_counts_as_its_last(tmp_path: Path):
    """The next time leaves a run alone that was started by hand; each outcome is shown."""
    site = Site(tmp_path)
    async with site.up(site.crew({"often": EVERY_TEN | {"query": "wait"}})) as runs:
        with pytest.raises(UnknownSchedule):
            await start_now(runs, "nix", "", ENTRY)
        await site.clock.sleep(5 * 60)
        run_id = await start_now(runs, "often", "", ENTRY)
        await runs.outcome(run_id)
        with pytest.raises(ScheduleBusy, match=run_id):
            await start_now(runs, "often", "", ENTRY)
        await site.clock.sleep(20 * 60)
        assert site.counts == {"often skipped": 2}
        assert await outcomes(runs) == ["skipped", "skipped", "by_hand"]
        await runs.cancel(run_id)
        await site.clock.sleep(10 * 60)
        assert await outcomes(runs) == ["started", "skipped", "skipped", "by_hand"]


async def test_many_change_one_at_the_same_time(tmp_path: Path):
    """None of their changes is lost; of many starts at once one run comes; ten times are kept."""
    site = Site(tmp_path)
    crew = site.crew({"often": EVERY_TEN})
    async with site.up(crew) as runs:
        await site.clock.sleep(60)
        starts = (start_now(runs, "often", "", ENTRY) for _ in range(5))
        started = await asyncio.gather(*starts, return_exceptions=True)
        (only,) = await site.runs()
        # who comes while it is at work hears so
        assert all(one == only.run_id or isinstance(one, ScheduleBusy) for one in started)
        await runs.outcome(only.run_id)
        for _ in range(11):
            await runs.outcome(await start_now(runs, "often", "", ENTRY))
        await asyncio.gather(*(pause_schedule(runs, "often", "ann") for _ in range(5)))
        (state, _) = (await site.store.schedules.states())[key_of(crew.name, "often")]
        assert state.paused_by == "ann"
        assert [one.outcome for one in state.ended] == ["by_hand"] * 10
        assert len({one.run_id for one in state.ended}) == 10


async def test_who_has_paused_it_can_be_forgotten(tmp_path: Path):
    """It stays paused; others' names stay."""
    site = Site(tmp_path)
    async with site.up(site.crew({"often": EVERY_TEN, "other": EVERY_TEN})) as runs:
        await site.clock.sleep(60)
        await pause_schedule(runs, "often", "ann")
        await pause_schedule(runs, "other", "bob")
        await forget_pauser(runs.store, "")
        await forget_pauser(runs.store, "ann")
        shown = {one["name"]: one["paused"] for one in await due_schedules(runs.store, runs.crew)}
        assert (shown["often"]["by"], shown["other"]["by"]) == ("", "bob")
        assert shown["often"]["at"]


async def test_a_clock_that_was_ahead(tmp_path: Path, caplog: pytest.LogCaptureFixture):
    """Has moved a schedule's last time into the future; it goes on from now, and the log says so."""
    site = Site(tmp_path)
    crew, key = site.crew({"often": EVERY_TEN}), key_of("test-crew", "often")
    async with site.up(crew):
        await site.clock.sleep(12 * 60)
    state, version = (await site.store.schedules.states())[key]
    ahead = rfc3339(site.clock.now() + timedelta(hours=2))
    assert await site.store.schedules.move(key, replace(state, due_at=ahead), version)
    async with site.up(crew, processes=2):
        await site.clock.sleep(20 * 60)
    assert minutes(await site.runs()) == [10, 20, 30]
    told = [one.getMessage() for one in caplog.records if "goes on from now" in one.getMessage()]
    assert len(told) == 1
    assert ahead in told[0]
