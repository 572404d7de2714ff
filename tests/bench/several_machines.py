"""What one process on SQLite carries, and what replicas and workers around one PostgreSQL do: runs a second, CPU of each part.

Run: python -m tests.bench.several_machines [--runs 1000] [--at-once 50] [--streams 500]
"""

import argparse
import asyncio
import statistics
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path

import aiohttp
import psutil
import psycopg

from tests.support.crews import write_crew
from tests.support.postgres import Postgres
from tests.support.processes import ServerProcess, serving

RULES = [
    {"agent": "a", "say": "to b [B]"},
    {"agent": "b", "say": "answered"},
    {"agent": "c", "say": "late", "delay_seconds": 120},
]


def crew(folder: Path) -> Path:
    """Two agents and a handoff, six events; and one that keeps its streams waiting."""
    routing = {"signals": {"a": [{"signal": "[B]", "target": "b"}]}}
    agents = {"a": {}, "b": {"is_terminal": True}, "c": {"is_terminal": True}}
    settings = {"client_start_agents": ["c"]}
    return write_crew(folder, agents, RULES, routing=routing, settings=settings)


def cpu_seconds(pid: int) -> float:
    """Of a process and all that it has started."""
    family = [psutil.Process(pid), *psutil.Process(pid).children(recursive=True)]
    return sum(sum(one.cpu_times()[:2]) for one in family)


async def load(urls: list[str], runs: int, at_once: int) -> list[float]:
    """Run so many; the seconds that each took."""
    left, taken = iter(range(runs)), []

    async def client(url: str) -> None:
        async with aiohttp.ClientSession() as http:
            for _ in left:
                began = time.perf_counter()
                async with http.post(f"{url}/api/crew/run", json={"query": "x"}) as answer:
                    assert (await answer.json())["status"] == "completed"
                taken.append(time.perf_counter() - began)

    await asyncio.gather(*(client(urls[n % len(urls)]) for n in range(at_once)))
    return taken


async def streams(url: str, pid: int, count: int) -> float:
    """Bytes of memory that each open stream takes in its server."""
    process = psutil.Process(pid)

    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as http:

        async def follow(ready: asyncio.Event) -> None:
            body = {"query": "x", "resume_agent_id": "c"}
            async with http.post(f"{url}/api/crew/stream", json=body) as stream:
                async for line in stream.content:
                    if b"agent_start" in line:
                        ready.set()

        before = process.memory_info().rss
        all_ready = [asyncio.Event() for _ in range(count)]
        tasks = [asyncio.create_task(follow(ready)) for ready in all_ready]
        await asyncio.gather(*(ready.wait() for ready in all_ready))
        after = process.memory_info().rss
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        return (after - before) / count


def measure(
    name: str, replicas: list[ServerProcess], parts: dict[str, list[int]], runs: int, at_once: int
) -> None:
    """One line of the table."""
    urls = [replica.url for replica in replicas]
    asyncio.run(load(urls, runs // 5, at_once))
    before = {part: sum(map(cpu_seconds, pids)) for part, pids in parts.items()}
    began = time.perf_counter()
    taken = sorted(asyncio.run(load(urls, runs, at_once)))
    seconds = time.perf_counter() - began
    used = {part: sum(map(cpu_seconds, pids)) - before[part] for part, pids in parts.items()}
    cpu = ", ".join(f"{part} {1000 * used[part] / runs:.2f} ms" for part in parts)
    print(
        f"{name}: {runs / seconds:.0f} runs/s with {at_once} at once; p50 {1000 * statistics.median(taken):.0f} ms, "
        f"p95 {1000 * taken[int(0.95 * runs)]:.0f} ms; CPU a run: {cpu}",
        flush=True,
    )


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=1000)
    parser.add_argument("--at-once", type=int, default=50)
    parser.add_argument("--streams", type=int, default=500)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as made, ExitStack() as stack:
        folder = crew(Path(made))
        with serving(folder) as alone:
            for at_once in (1, given.at_once):
                measure(
                    "one process, SQLite",
                    [alone],
                    {"server": [alone.process.pid]},
                    given.runs,
                    at_once,
                )
            each = asyncio.run(streams(alone.url, alone.process.pid, given.streams))
            print(
                f"one process, SQLite: {each / 1024:.0f} KiB a stream with its run, of {given.streams}",
                flush=True,
            )
        database = stack.enter_context(Postgres(durable=True))
        shared = {"CREW_DATABASE_URL": database.database()}
        replicas: list[ServerProcess] = []
        workers: list[ServerProcess] = []
        for count in (1, 2):
            replicas.append(stack.enter_context(serving(folder, **shared)))
            workers.append(
                stack.enter_context(serving(folder, "--at-once", "200", command="worker", **shared))
            )
            parts = {
                "replicas": [one.process.pid for one in replicas],
                "workers": [one.process.pid for one in workers],
                "PostgreSQL": [database.pid],
            }
            for at_once in (1, given.at_once):
                measure(f"{count} + {count}, PostgreSQL", replicas, parts, given.runs, at_once)
        each = asyncio.run(
            streams(replicas[0].url, replicas[0].process.pid, min(given.streams, 300))
        )
        print(f"replica, PostgreSQL: {each / 1024:.0f} KiB a stream", flush=True)
        with psycopg.connect(shared["CREW_DATABASE_URL"]) as connection:
            found = connection.execute(
                "SELECT pg_database_size(current_database()), (SELECT count(*) FROM crew_runs)"
            ).fetchone()
        assert found is not None, "one row"
        print(
            f"PostgreSQL: {found[0] / 1e6:.0f} MB for {found[1]} runs, with some 8 MB of its own",
            flush=True,
        )


if __name__ == "__main__":
    main()
