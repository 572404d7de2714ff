"""What a server does at several times its load: what it accepts, how late that is, and /health.

    python tests/bench/overload.py [--seconds 20] [--delay 1]

Requests come at a fixed rate, whether or not earlier ones were answered (open loop). "Its load" is
the highest rate of the steps at which the 99th percentile is at most twice that of the first step.
"""

import argparse
import asyncio
import itertools
import tempfile
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

import aiohttp
import uvloop

from tests.support.crews import write_crew
from tests.support.processes import serving

STEPS = (50, 100, 150, 200, 300, 400, 500, 700, 900, 1200)
STEP_SECONDS = 6.0
HEALTH_SECONDS = 0.1
REQUEST_SECONDS = 180.0


@dataclass
class Seen:
    """Of one rate: seconds of accepted runs and of /health, and all statuses."""

    runs: list[float] = field(default_factory=list)
    health: list[float] = field(default_factory=list)
    statuses: Counter[object] = field(default_factory=Counter)


def percentile(values: list[float], percent: float) -> float:
    ordered = sorted(values) or [float("nan")]
    return ordered[min(len(ordered) - 1, int(len(ordered) * percent / 100))]


async def ask(session: aiohttp.ClientSession, url: str, seen: Seen) -> None:
    started = time.monotonic()
    try:
        async with session.post(f"{url}/api/crew/run", json={"query": "x"}) as answer:
            body = await answer.read()
            status: object = answer.status
            if status == 200 and b'"completed"' not in body:
                status = "not completed"
    except (aiohttp.ClientError, TimeoutError, OSError) as error:
        status = type(error).__name__
    seen.statuses[status] += 1
    if status == 200:
        seen.runs.append(time.monotonic() - started)


async def look(session: aiohttp.ClientSession, url: str, seen: Seen) -> None:
    while True:
        started = time.monotonic()
        async with session.get(f"{url}/health") as answer:
            await answer.read()
        seen.health.append(time.monotonic() - started)
        await asyncio.sleep(HEALTH_SECONDS)


async def load(url: str, rate: float, seconds: float) -> Seen:
    seen = Seen()
    timeout = aiohttp.ClientTimeout(total=REQUEST_SECONDS)
    connector = aiohttp.TCPConnector(limit=0)
    async with aiohttp.ClientSession(connector=connector, timeout=timeout) as session:
        looking = asyncio.create_task(look(session, url, seen))
        asked: set[asyncio.Task[None]] = set()
        begin = time.monotonic()
        for n in itertools.count():
            due = begin + n / rate
            if due > begin + seconds:
                break
            await asyncio.sleep(max(0.0, due - time.monotonic()))
            asked.add(asyncio.create_task(ask(session, url, seen)))
        await asyncio.gather(*asked)
        looking.cancel()
    return seen


def show(rate: float, seen: Seen) -> None:
    statuses = ", ".join(f"{status}: {n}" for status, n in seen.statuses.most_common())
    print(
        f"{rate:6.0f}/s  p50 {percentile(seen.runs, 50):7.3f} s  p99 {percentile(seen.runs, 99):7.3f} s"
        f"  /health max {max(seen.health, default=0):6.3f} s  {statuses}",
        flush=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=float, default=20.0)
    parser.add_argument("--delay", type=float, default=1.0)
    parser.add_argument("--times", type=float, default=5.0)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        rules = [{"say": "done", "delay_seconds": given.delay}]
        folder = write_crew(Path(temporary) / "crew", {"a": {}}, rules)
        with serving(
            folder, CREW_MAX_CONNECTIONS_PER_ADDRESS="10000", CREW_REQUESTS_PER_MINUTE="1000000"
        ) as server:
            own, normal = STEPS[0], 0.0
            for rate in STEPS:
                seen = uvloop.run(load(server.url, rate, STEP_SECONDS))
                show(rate, seen)
                late = percentile(seen.runs, 99)
                normal = normal or late
                if late > 2 * normal or set(seen.statuses) != {200}:
                    break
                own = rate
            print(f"its load: {own}/s, p99 {normal:.3f} s; now {given.times:g} times of it")
            show(own * given.times, uvloop.run(load(server.url, own * given.times, given.seconds)))
            print("and afterwards:")
            show(STEPS[0], uvloop.run(load(server.url, STEPS[0], STEP_SECONDS)))


if __name__ == "__main__":
    main()
