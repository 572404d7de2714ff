"""What runs of others cost: a tenant behind another's runs, idle streams, pauses that are due at once.

Run: python -m tests.bench.sharing [--backlog 2000] [--streams 1000] [--pauses 2000]
"""

import argparse
import asyncio
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import aiohttp
import psycopg

from tests.support.crews import write_crew
from tests.support.fleet import Fleet
from tests.support.postgres import Postgres
from tests.support.processes import ServerProcess

TENANTS = {"many": "many-0123456789abcdef", "few": "few-0123456789abcdef"}
TOKENS = ",".join(f"{name}:{token}" for name, token in TENANTS.items())
RULES: list[dict[str, Any]] = [
    {"agent": "b", "hears": "idle", "say": "late", "delay_seconds": 600},
    {"agent": "b", "say": "answered", "delay_seconds": 0.5},
    {"agent": "a", "hears": "wait", "say": "what now?"},
    {"agent": "a", "say": "to b [B]"},
]
ROUTING = {
    "signals": {"a": [{"signal": "[B]", "target": "b"}]},
    "agent_behaviors": {"a": {"wait_for_signal": True, "wait_timeout_seconds": 20}},
}


def headers(tenant: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {TENANTS[tenant]}"}


async def start(url: str, tenant: str, query: str, count: int) -> None:
    """Start so many runs and leave."""
    left = iter(range(count))

    async def client() -> None:
        async with aiohttp.ClientSession(headers=headers(tenant)) as http:
            for _ in left:
                async with http.post(f"{url}/api/crew/stream", json={"query": query}) as stream:
                    await stream.content.readline()

    await asyncio.gather(*(client() for _ in range(20)))


async def one_by_one(url: str, tenant: str, count: int) -> float:
    """Runs a second of somebody who waits for each."""
    began = time.perf_counter()
    async with aiohttp.ClientSession(headers=headers(tenant)) as http:
        for _ in range(count):
            async with http.post(f"{url}/api/crew/run", json={"query": "x"}) as answer:
                assert (await answer.json())["status"] == "completed"
    return count / (time.perf_counter() - began)


def count(database: str, status: str) -> int:
    with psycopg.connect(database) as connection:
        sql = "SELECT count(*) FROM crew_runs WHERE status = %s"
        found = connection.execute(sql, (status,)).fetchone()
    assert found is not None
    return int(found[0])


def transactions(database: str) -> int:
    with psycopg.connect(database) as connection:
        sql = "SELECT xact_commit FROM pg_stat_database WHERE datname = current_database()"
        found = connection.execute(sql).fetchone()
    assert found is not None
    return int(found[0])


def behind_a_backlog(fleet: Fleet, tenant: str, backlog: int) -> None:
    """What `many` has begun waits when the workers start, and the tenant comes then."""
    replica, database = fleet.start("serve", CREW_API_TOKENS=TOKENS), fleet.database
    asyncio.run(start(replica.url, "many", "x", backlog))
    for _ in range(2):
        fleet.worker()
    before, began = count(database, "running"), time.perf_counter()
    asyncio.run(one_by_one(replica.url, tenant, 1))
    first, seconds = count(database, "running"), time.perf_counter() - began
    rate = asyncio.run(one_by_one(replica.url, tenant, 10)) if tenant == "few" else 0.0
    left = count(database, "running")
    while count(database, "running"):
        time.sleep(0.5)
    alone = asyncio.run(one_by_one(replica.url, tenant, 10))
    print(
        f"{tenant} behind {before} runs of many: its first ends after {seconds:.1f} s and "
        f"{before - first} of those; then {rate:.1f} runs/s while {left} are left (alone "
        f"{alone:.1f})",
        flush=True,
    )


async def idle(url: str, database: str, streams: int) -> None:
    timeout = aiohttp.ClientTimeout(total=None)
    connector = aiohttp.TCPConnector(limit=0)
    async with aiohttp.ClientSession(
        headers=headers("few"), timeout=timeout, connector=connector
    ) as http:
        before = await rate_of(database)
        opened = []
        for _ in range(streams):
            stream = await http.post(f"{url}/api/crew/stream", json={"query": "idle"})
            await stream.content.readline()
            opened.append(stream)
        # the server's own counts come up to ten seconds late
        await asyncio.sleep(20)
        after = await rate_of(database)
        print(f"transactions/s: {before:.1f} idle, {after:.1f} with {streams} idle streams")
        for stream in opened:
            stream.close()


async def rate_of(database: str) -> float:
    began, first = time.perf_counter(), transactions(database)
    await asyncio.sleep(10)
    return (transactions(database) - first) / (time.perf_counter() - began)


def due_at_once(replica: ServerProcess, database: str, pauses: int) -> None:
    asyncio.run(start(replica.url, "few", "wait", pauses))
    while count(database, "paused") < pauses:
        # those that come first must not be over yet
        time.sleep(0.1)
    with psycopg.connect(database, autocommit=True) as connection:
        connection.execute("UPDATE crew_runs SET paused_until = '2020-01-01T00:00:00.000Z'")
    began = time.perf_counter()
    while count(database, "paused"):
        time.sleep(0.1)
    seconds = time.perf_counter() - began
    print(f"{pauses} pauses due at once: over in {seconds:.1f} s, {pauses / seconds:.0f} a second")


def main() -> None:
    """Measure one after the other, each with a database of its own."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--backlog", type=int, default=2000)
    parser.add_argument("--streams", type=int, default=1000)
    parser.add_argument("--pauses", type=int, default=2000)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as made, ExitStack() as stack:
        server = stack.enter_context(Postgres(durable=True))
        folder = write_crew(
            Path(made) / "crew", {"a": {}, "b": {"is_terminal": True}}, RULES, routing=ROUTING
        )
        for tenant in ("few", "many"):
            with ExitStack() as processes:
                behind_a_backlog(Fleet(folder, server.database(), processes), tenant, given.backlog)
        with ExitStack() as processes:
            fleet = Fleet(folder, server.database(), processes)
            replica = fleet.start("serve", CREW_API_TOKENS=TOKENS)
            fleet.worker("--at-once", str(given.streams))
            asyncio.run(idle(replica.url, fleet.database, given.streams))
        with ExitStack() as processes:
            fleet = Fleet(folder, server.database(), processes)
            replica = fleet.start("serve", CREW_API_TOKENS=TOKENS)
            for _ in range(2):
                fleet.worker()
            due_at_once(replica, fleet.database, given.pauses)


if __name__ == "__main__":
    main()
