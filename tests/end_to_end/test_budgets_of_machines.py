"""A budget over three machines, one of which dies: none goes over it, and each call counts once."""

import asyncio
import itertools
import json
import signal
import threading
from pathlib import Path
from typing import Any

from tests.support.crews import write_crew
from tests.support.fleet import Fleet, command
from tests.support.model_server import completion, http, model_server
from tests.support.postgres import needs_postgres
from tests.support.processes import send_to_all, until

pytestmark = needs_postgres
RUNS, FIRST = 40, 3
# of the pot, in millionths of a USD; tokens of an answer at most and really, and what a call may cost
LIMIT, MOST, REAL, WORST = 700, 40, 5, 110


def crew_at(folder: Path, url: str) -> None:
    budget = {"scope": "crew", "per": "day", "usd": LIMIT / 10**6, "reserve": "worst"}
    write_crew(
        folder,
        {"a": {"model": "m", "provider": "gw", "is_terminal": True, "max_tokens": MOST}},
        providers={"gw": {"base_url": url, "max_retries": 0}},
        models={"m": {"provider": "gw", "prices": {"input": 1, "output": 2}}},
        budgets={"day": {**budget, "wait_seconds": 20}},
    )


def test_three_machines_share_a_pot(fleet: Fleet):
    """Against the provider's own books; lost calls count as they were estimated."""
    numbers = itertools.count(1)

    async def go() -> int:
        async def reply(request: dict[str, Any]) -> bytes:
            number = next(numbers)
            if number == FIRST:
                # under way when the machines die
                reached.set()
            if number <= FIRST:
                await asyncio.Event().wait()
            return http(200, completion())

        async with model_server(reply) as model:
            crew_at(fleet.folder, model.url)
            await asyncio.to_thread(play)
            return len(model.asked)

    def play() -> None:
        client = fleet.replica()
        machines = [fleet.worker() for _ in range(3)]
        until(lambda: bool(client.get("/ready").json()["workers"] == 3))
        for _ in range(RUNS):
            found = client.post("/api/crew/runs", json={"query": "x"})
            assert found.status_code in (202, 402), found.text
        assert reached.wait(30)
        for machine in machines:
            send_to_all(machine.process.pid, signal.SIGKILL)
        for _ in range(3):
            fleet.worker()

        def is_over() -> bool:
            rows = client.get("/api/crew/runs", params={"limit": 100}).json()["runs"]
            return all(one["status"] in ("completed", "failed") for one in rows)

        until(is_over, 90)

    reached = threading.Event()
    asked = asyncio.run(go())
    pot = json.loads(command(fleet, "budgets", str(fleet.folder), "--json").stdout)
    spent, calls = round(pot["used"]["usd"] * 10**6), pot["used"]["calls"]
    total = json.loads(command(fleet, "costs", str(fleet.folder), "--json").stdout)["total"]
    lost = total["cost"]["estimated"]
    assert (pot["reserved"]["usd"], calls) == (0, total["calls"])
    # one that was reserved for and not sent before its machine died is lost, too
    assert 1 <= lost <= RUNS
    assert asked <= calls <= asked + lost
    output = total["usage"]["output"]
    assert spent == total["usage"]["input"] + 2 * output
    assert spent <= LIMIT
    # no room is left that a call had fit into
    assert spent > LIMIT - WORST
    assert output == REAL * (calls - lost) + MOST * lost
