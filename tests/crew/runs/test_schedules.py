"""Each time of a schedule starts one run, or is told as skipped or missed; whoever was there."""

import asyncio
import logging
from collections import Counter
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import islice, pairwise
from pathlib import Path
from typing import Any
from zoneinfo import available_timezones

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crew import Answer, Crew, MemoryStore, Query, Runs, load_crew
from crew.config.keys.schedules import ScheduleConfig
from crew.journal.records.rows import Notice, RunRow
from crew.runs.upkeep.schedules import Scheduler
from tests.support.crews import write_crew
from tools.clock import rfc3339
from tools.virtual_clock import VirtualClock

RULES = [{"hears": "wait", "say": "go on?"}, {"say": "well [END]"}]
WAITING: dict[str, Any] = {
    "signals": {"a": [{"signal": "[END]", "target": ""}]},
    "agent_behaviors": {"a": {"wait_for_signal": True}},
}
EVERY_TEN = {"cron": "*/10 * * * *", "query": "all well?"}


class Site:
    """A store, and what the processes that come and go on it count."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.clock = folder, VirtualClock()
        self.store = MemoryStore(self.clock)
        self.counts: Counter[str] = Counter()

    def crew(self, schedules: Mapping[str, Any], rules: Sequence[Any] = RULES, **more: Any) -> Crew:
        agents = {"a": {}, "b": {"is_terminal": True}}
        notify = {"hook": {"kind": "webhook", "url": "http://127.0.0.1:9/in"}}
        keys = {"routing": WAITING, "notify": notify, "schedules": dict(schedules), **more}
        write_crew(self.folder, agents, rules, **keys)
        return load_crew(self.folder, clock=self.clock)

    @asynccontextmanager
    async def up(self, crew: Crew, processes: int = 1) -> AsyncIterator[Runs]:
        """Processes that start what is due, while time passes."""
        runs = Runs(crew, self.store)
        schedulers = [Scheduler(runs, self._count) for _ in range(processes)]
        tasks = [asyncio.create_task(one.run()) for one in schedulers]
        self._moving = asyncio.create_task(self.clock.run())
        try:
            yield runs
        finally:
            for task in (*tasks, self._moving):
                task.cancel()
            await asyncio.gather(*tasks, self._moving, return_exceptions=True)
            await runs.drain(0)

    def _count(self, name: str, outcome: str, times: int) -> None:
        self.counts[f"{name} {outcome}"] += times

    async def down(self, minutes: float) -> None:
        """Time passes while there is no process."""
        moving = asyncio.create_task(self.clock.run())
        await self.clock.sleep(minutes * 60)
        moving.cancel()
        with suppress(asyncio.CancelledError):
            await moving

    async def runs(self) -> list[RunRow]:
        return await self.store.rows(oldest_first=True)

    async def notices(self) -> list[Notice]:
        """What is to be told."""
        later = rfc3339(self.clock.now() + timedelta(days=9))
        return [one for one, _ in await self.store.outbox.take("hook", later, later, 9)]


def minutes(rows: list[RunRow]) -> list[float]:
    """When runs were started, since the clock began."""
    begun = datetime(2026, 1, 1, tzinfo=UTC)
    return [(datetime.fromisoformat(row.started_at) - begun).total_seconds() // 60 for row in rows]


async def test_each_time_starts_one_run(tmp_path: Path):
    """However many processes are there; and it is in the audit."""
    site = Site(tmp_path)
    schedule = EVERY_TEN | {"agent": "b", "priority": 8}
    async with site.up(site.crew({"often": schedule}), processes=3):
        await site.clock.sleep(35 * 60)
    rows = await site.runs()
    assert minutes(rows) == [10, 20, 30]
    assert {(row.query, row.status, row.owner, row.priority) for row in rows} == {
        ("all well?", "completed", "", 8)
    }
    assert site.counts == {"often started": 3}
    acts = await site.store.audit.entries()
    assert {(one.action, one.address, one.run_id, one.detail) for one in acts} == {
        ("start", "local", row.run_id, "schedule often") for row in rows
    }
    assert await site.notices() == []


async def test_a_run_that_has_not_ended_is_not_overtaken(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
):
    """Its schedule leaves times out while it goes on or waits, and says so."""
    site = Site(tmp_path)
    async with site.up(site.crew({"often": EVERY_TEN | {"query": "wait"}})) as runs:
        await site.clock.sleep(35 * 60)
        (row,) = await site.runs()
        assert (row.status, site.counts) == ("paused", {"often started": 1, "often skipped": 2})
        await runs.resume(row.run_id, Answer("yes"))
        await site.clock.sleep(10 * 60)
    assert minutes(await site.runs()) == [10, 40]
    assert [one.getMessage() for one in caplog.records if one.levelno == logging.WARNING] == [
        f"schedule often: run {row.run_id} has not ended, so 1 of its times are left out"
    ] * 2


async def test_a_run_may_wait_for_the_one_before_it(tmp_path: Path):
    """The newest time alone, and it starts as soon as that one has ended, after a restart too."""
    site = Site(tmp_path)
    crew = site.crew({"often": EVERY_TEN | {"query": "wait", "overlap": "queue"}})
    async with site.up(crew):
        await site.clock.sleep(25 * 60)
    (row,) = await site.runs()
    await site.down(9)
    async with site.up(crew) as runs:
        await site.clock.sleep(60)
        assert (len(await site.runs()), site.counts) == (
            1,
            {"often started": 1, "often skipped": 1},
        )
        await runs.resume(row.run_id, Answer("yes"))
        await site.clock.sleep(60)
    assert minutes(await site.runs()) == [10, 35]
    assert site.counts == {"often started": 2, "often skipped": 1}
    assert await site.notices() == []


async def test_what_was_missed_is_told(tmp_path: Path, caplog: pytest.LogCaptureFixture):
    """Once, with how many times, and none of them is made up for."""
    site = Site(tmp_path)
    crew = site.crew({"often": EVERY_TEN})
    async with site.up(crew):
        await site.clock.sleep(12 * 60)
    await site.down(33)
    async with site.up(crew, processes=2):
        await site.clock.sleep(4 * 60)
        assert site.counts == {"often started": 1, "often missed": 3}
        await site.clock.sleep(4 * 60)
    assert minutes(await site.runs()) == [10, 50]
    (told,) = await site.notices()
    assert (told.kind, told.run_id, told.status, told.query) == ("missed", "", None, "all well?")
    assert told.id == "schedule:often:2026-01-01T00:40:00.000Z:hook"
    assert told.text == (
        "schedule often has started no run for 2026-01-01T00:40:00.000Z: within 60 seconds no "
        "process was there to start it, or too many runs waited; so it was 3 times in a row"
    )
    assert [one.getMessage() for one in caplog.records if one.levelno == logging.WARNING] == [
        told.text
    ]


async def test_a_restart_in_the_minute_starts_the_run(tmp_path: Path):
    """The newest time is not missed then; those before it are."""
    site = Site(tmp_path)
    crew = site.crew({"often": EVERY_TEN})
    async with site.up(crew):
        await site.clock.sleep(5 * 60)
    await site.down(15.7)
    async with site.up(crew):
        await site.clock.sleep(60)
    assert minutes(await site.runs()) == [20]
    assert site.counts == {"often started": 1, "often missed": 1}
    (told,) = await site.notices()
    assert told.at == "2026-01-01T00:10:00.000Z"


async def test_a_kill_between_start_and_note_starts_nothing_again(tmp_path: Path):
    """The next process finds the run that the time has started."""
    site = Site(tmp_path)
    crew = site.crew({"often": EVERY_TEN})
    async with site.up(crew):
        await site.clock.sleep(10.2 * 60)
    (row,) = await site.runs()
    ((key, (state, version)),) = (await site.store.schedules.states()).items()
    assert (key, state.run_id, state.pending) == ("test-crew:often", row.run_id, False)
    assert await site.store.schedules.move(key, replace(state, pending=True, run_id=""), version)
    async with site.up(crew):
        await site.clock.sleep(60)
    assert await site.runs() == [row]
    ((_, (state, _)),) = (await site.store.schedules.states()).items()
    assert (state.run_id, state.pending) == (row.run_id, False)


async def test_times_change(tmp_path: Path):
    """The new ones count from then on; a run that waited for the one before it is left out."""
    site = Site(tmp_path)
    schedule = EVERY_TEN | {"query": "wait", "overlap": "queue"}
    async with site.up(site.crew({"one": schedule})) as runs:
        await site.clock.sleep(22 * 60)
        runs.adopt(site.crew({"one": schedule | {"cron": "*/5 * * * *", "overlap": "skip"}}))
        await site.clock.sleep(2 * 60)
        assert site.counts == {"one started": 1, "one skipped": 1}
        (row,) = await site.runs()
        # its crew is loaded again in a thread, from the files that it was started with
        await runs.resume(row.run_id, Answer("yes"))
        await site.clock.sleep(1)
    await site.down(5)
    async with site.up(site.crew({"one": schedule | {"cron": "*/5 * * * *"}})) as runs:
        await site.clock.sleep(30)
        assert site.counts == {"one started": 1, "one skipped": 1, "one missed": 1}
        for cron in ("0 * * * *", "33 * * * *"):
            runs.adopt(site.crew({"one": schedule | {"cron": cron}}))
            await site.clock.sleep(2 * 60)
    assert minutes(await site.runs()) == [10, 33]


async def test_files_change(tmp_path: Path):
    """A schedule that is new, has other times or was away begins now; nothing of it was missed."""
    site = Site(tmp_path)
    async with site.up(site.crew({"one": EVERY_TEN})):
        await site.clock.sleep(12 * 60)
    await site.down(20)
    hourly = EVERY_TEN | {"cron": "*/20 * * * *", "query": "other times"}
    async with site.up(site.crew({"one": hourly, "two": EVERY_TEN})) as runs:
        await site.clock.sleep(10 * 60)
        runs.adopt(site.crew({"one": hourly}))
        await site.clock.sleep(12 * 60)
        runs.adopt(site.crew({"one": hourly | {"query": "same times"}, "two": EVERY_TEN}))
        await site.clock.sleep(12 * 60)
    rows = await site.runs()
    assert sorted(zip(minutes(rows), [row.query for row in rows], strict=True)) == [
        (10, "all well?"),
        (40, "all well?"),
        (40, "other times"),
        (60, "all well?"),
        (60, "same times"),
    ]
    assert site.counts == {"one started": 3, "two started": 2}


async def test_too_many_wait(tmp_path: Path, caplog: pytest.LogCaptureFixture):
    """The run is started if there is room within the minute, or else it is missed."""
    site = Site(tmp_path)
    limits = {"max_concurrent_runs": 1, "max_waiting_runs": 1, "timeout_seconds": 3600}
    slow = [{"hears": "slow", "say": "x [END]", "delay_seconds": 621}, *RULES]
    crew = site.crew({"often": EVERY_TEN}, slow, settings=limits)
    async with site.up(crew) as runs:
        for _ in range(2):
            await runs.start(Query("slow"))
        await site.clock.sleep(25 * 60)
        assert site.counts == {"often started": 1, "often skipped": 1}
        for _ in range(2):
            await runs.start(Query("slow"))
        await site.clock.sleep(7 * 60)
        assert site.counts == {"often started": 1, "often skipped": 1, "often missed": 1}
    assert caplog.text.count("schedule often cannot start its run yet: 1 runs wait already") == 2


async def test_a_budget_without_room(tmp_path: Path, caplog: pytest.LogCaptureFixture):
    """Each time is missed at once, with that as the reason, and refused once."""
    site = Site(tmp_path)
    budgets = {"mine": {"scope": "schedule", "per": "day", "calls": 1}}
    crew = site.crew({"often": EVERY_TEN | {"agent": "b"}}, budgets=budgets)
    async with site.up(crew):
        await site.clock.sleep(32 * 60)
    assert minutes(await site.runs()) == [10]
    assert site.counts == {"often started": 1, "often missed": 2}
    assert crew.recipe.budget_refusals["mine", "block"] == 2
    assert "budget mine of often: 1 calls of 1 calls used" in caplog.text
    assert "no process was there" not in caplog.text


BERLIN = {"time_zone": "Europe/Berlin", "query": "x"}


@pytest.mark.parametrize(
    ("cron", "after", "wanted"),
    [
        # the hour from two to three is left out on that day
        ("30 2 * * *", "2026-03-28T12:00Z", ["2026-03-29T01:00Z", "2026-03-30T00:30Z"]),
        ("*/30 * * * *", "2026-03-29T00:30Z", ["2026-03-29T01:00Z", "2026-03-29T01:30Z"]),
        # it comes twice
        ("30 2 * * *", "2026-10-24T12:00Z", ["2026-10-25T00:30Z", "2026-10-26T01:30Z"]),
        ("30 2 * * *", "2026-10-25T01:10Z", ["2026-10-26T01:30Z"]),
        ("30 * * * *", "2026-10-25T00:00Z", ["2026-10-25T00:30Z", "2026-10-25T01:30Z"]),
        # a day of the month, or of the week
        ("0 0 13 * 5", "2026-11-24T00:00Z", ["2026-11-26T23:00Z", "2026-12-03T23:00Z"]),
    ],
)
def test_clocks_that_are_put_forward_and_back(cron: str, after: str, wanted: list[str]):
    schedule = ScheduleConfig.model_validate(BERLIN | {"cron": cron})
    found = islice(schedule.times(datetime.fromisoformat(after)), len(wanted))
    assert list(found) == [datetime.fromisoformat(one) for one in wanted]


FIELDS = [(0, 59), (0, 23), (1, 28), (1, 12), (0, 7)]


@st.composite
def expressions(draw: st.DrawFn) -> str:
    """Cron expressions that come at least once in most years."""
    parts = []
    for least, most in FIELDS:
        number = st.integers(least, most)
        parts.append(
            draw(
                st.just("*")
                | number.map(str)
                | st.integers(1, most).map(lambda step: f"*/{step}")
                | st.lists(number, min_size=1, max_size=3).map(lambda ns: ",".join(map(str, ns)))
            )
        )
    return " ".join(parts)


@given(
    cron=expressions(),
    zone=st.sampled_from(sorted(available_timezones())),
    after=st.integers(1_577_836_800, 1_893_456_000).map(lambda n: datetime.fromtimestamp(n, UTC)),
)
def test_times_go_on(cron: str, zone: str, after: datetime):
    """Each is later than the one before it; asked from in between, it is the same."""
    schedule = ScheduleConfig(cron=cron, time_zone=zone, query="x")
    times = list(islice(schedule.times(after), 3))
    for before, time in pairwise([after, *times]):
        assert before < time
        assert time.tzinfo is UTC
        assert next(schedule.times(time - timedelta(microseconds=1))) == time
