"""What a call of a tool costs, beside the same without us; and an MCP server that is killed again and again.

Run: .venv/bin/python -m tests.bench.tool_calls [--calls 500] [--kills 0]
"""

import argparse
import asyncio
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import aiohttp
import psutil
from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters

from tests.support.made_tools import tool_of, tools_of
from tests.support.mcp_servers import raw_server

ROUNDS = 5
SERVER = """
import asyncio

async def answer(reader, writer):
    while True:
        await reader.readuntil(b"\\r\\n\\r\\n")
        writer.write(b"HTTP/1.1 200 OK\\r\\nContent-Length: 2\\r\\nContent-Type: text/plain\\r\\n\\r\\nok")

async def main():
    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await asyncio.Event().wait()

asyncio.run(main())
"""
HANGING = """
def called(request):
    open("begun", "a").write(f"{os.getpid()}\\n")
    time.sleep(600)
"""
Call = Callable[[], Awaitable[Any]]


def cpu_seconds() -> float:
    """Of this process and of those that have ended, user and system."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in used)


async def compare(name: str, calls: int, floor: Call, ours: Call) -> None:
    """Both in turn, a burst each; the medians, and that of the ratios."""
    found: dict[str, list[float]] = {"floor": [], "ours": []}
    for _ in range(ROUNDS):
        for kind, call in (("floor", floor), ("ours", ours)):
            await call()
            before = cpu_seconds()
            for _ in range(calls):
                await call()
            found[kind].append((cpu_seconds() - before) / calls * 1000)
    ratio = statistics.median(b / a for a, b in zip(*found.values(), strict=True))
    floor_ms, ours_ms = (statistics.median(values) for values in found.values())
    print(f"{name:<18} floor {floor_ms:.2f} ms, ours {ours_ms:.2f} ms, ratio {ratio:.2f}")


async def measure_http(calls: int) -> None:
    """Beside aiohttp alone."""
    server = subprocess.Popen(  # noqa: ASYNC220 # before anything is measured
        [sys.executable, "-c", SERVER], stdout=subprocess.PIPE, text=True
    )
    assert server.stdout is not None
    url = f"http://127.0.0.1:{server.stdout.readline().strip()}/"
    async with (
        aiohttp.ClientSession() as session,
        tool_of("http", url=url, allow_private=True) as ours,
    ):

        async def floor() -> None:
            async with session.get(url) as answer:
                await answer.read()

        await compare("http", calls, floor, ours)
    server.kill()
    server.wait()


async def measure_commands(folder: Path, calls: int) -> None:
    """Beside subprocess.run in a thread, the child's CPU included."""

    async def floor() -> None:
        await asyncio.to_thread(subprocess.run, ["/bin/true"], check=True)

    for sandbox in ("off", "landlock"):
        async with tool_of("command", folder, argv=["/bin/true"], sandbox=sandbox) as ours:
            await compare(f"command, {sandbox}", max(20, calls // 5), floor, ours)


async def measure_stdio(folder: Path, calls: int) -> None:
    """Beside the SDK and its own transport; the server is the same, its CPU is not in it."""
    entry = raw_server(folder)
    parameters = StdioServerParameters(command=entry["command"], args=entry["args"])
    async with (
        Client(parameters, mode="legacy") as client,
        tools_of(**entry, folder=folder) as tools,
    ):
        await compare("mcp, stdio", calls, lambda: client.call_tool("t", {}), tools["T_t"])


async def measure_kills(folder: Path, kills: int) -> None:
    """Each call has its one result, however often its server is killed; memory stays."""
    entry = raw_server(folder, HANGING, cwd=str(folder), write=[str(folder)])
    begun, told, memory = folder / "begun", [], []
    options = {"retries": 0, "breaker": False, "timeout_seconds": 60, "sandbox": "off"}
    async with tools_of(**entry, folder=folder, **options) as tools:
        results = 0
        while results < kills:
            begun.unlink(missing_ok=True)
            calling = asyncio.ensure_future(tools["T_t"]())
            while not (begun.exists() and begun.read_text().endswith("\n")):
                await asyncio.sleep(0.005)
                if calling.done():
                    # the server was not there yet
                    calling = asyncio.ensure_future(tools["T_t"]())
            at = time.monotonic()
            os.kill(int(begun.read_text().split()[-1]), 9)
            result = await calling
            told.append((time.monotonic() - at) * 1000)
            assert result.status == "error", result
            results += 1
            if results in (kills // 10, kills):
                memory.append(psutil.Process().memory_info().rss / 2**20)
    print(
        f"kills {kills}: each call has its result; told after {statistics.median(told):.1f} ms "
        f"(at most {max(told):.1f}); memory {memory[0]:.0f} MiB after a tenth, {memory[-1]:.0f} at the end"
    )


async def main() -> None:
    """Print a line for each kind."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--calls", type=int, default=500)
    parser.add_argument("--kills", type=int, default=0)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        if given.kills:
            await measure_kills(Path(folder), given.kills)
            return
        await measure_http(given.calls)
        await measure_commands(Path(folder), given.calls)
        await measure_stdio(Path(folder), given.calls)


if __name__ == "__main__":
    asyncio.run(main())
