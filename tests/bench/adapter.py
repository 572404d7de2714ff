"""Our row of the benchmark beside the project: a YAML crew for each scenario, in process, with the SQLite store and the metrics.

Run it with the benchmark's own runner: BENCH_PYTHON=.venv/bin/python python3 run.py --peer tests/bench/adapter.py --scenario S1
"""

VENV = "ours"
VERSIONS = ("crewline", "openai", "aiohttp")

import os  # noqa: E402 # the constants above are read without importing this file
import tempfile  # noqa: E402
from pathlib import Path  # noqa: E402

import yaml  # noqa: E402
from peers._common import ANALYSTS, MODEL, S2_TOOLS, S3_TOOLS, SYS, USER  # noqa: E402 # type: ignore[import-not-found]

import agents.providers.remote  # noqa: E402, F401 # imported at the top, so that its time counts as import
from crew import Query, Runs, SqliteStore, load_crew  # noqa: E402
from server.telemetry.metrics import Metrics  # noqa: E402
from tools import tool  # noqa: E402

SETTINGS = {"route_hints": "never", "parallel_tool_calls": True}
# what calls may cost together, more than all of them do: for what that costs itself
BUDGETED = {
    "models": {MODEL: {"provider": "openai", "prices": {"input": 1, "output": 2}}},
    "budgets": {"all": {"scope": "crew", "per": "total", "usd": 1e6}},
}


def crews() -> dict[str, dict]:
    """crew.yaml of each scenario."""
    return {
        "S1": {"agents": ["solo"]},
        "S2": {"agents": ["tooler"]},
        "S3": {
            "agents": ["orchestrator", "clarifier", "executor"],
            "routing": {
                "signals": {
                    "orchestrator": [{"signal": "ROUTE: clarifier", "target": "clarifier"}],
                    "clarifier": [{"signal": "ROUTE: executor", "target": "executor"}],
                }
            },
        },
        "S4": {
            "agents": ["router", *ANALYSTS, "aggregator"],
            "routing": {
                "signals": {"router": [{"signal": "ROUTE: fanout", "target": "fanout"}]},
                "parallel_groups": {
                    "fanout": {"agents": list(ANALYSTS), "next_agent": "aggregator"}
                },
            },
        },
    }


TOOLS = {"tooler": S2_TOOLS, "executor": S3_TOOLS}


class Peer:
    """What the runner drives."""

    def __init__(self, base_url: str) -> None:
        self.base_url = base_url
        self.folder = Path(tempfile.mkdtemp())

    async def start(self, scenario: str) -> None:
        """Write the crew's files, load it, open the store."""
        config = crews()[scenario]
        (self.folder / "agents").mkdir()
        (self.folder / "crew.yaml").write_text(
            yaml.safe_dump(
                {
                    **config,
                    **(BUDGETED if os.environ.get("BENCH_BUDGETS") else {}),
                    "name": scenario.lower(),
                    "settings": SETTINGS,
                    "providers": {"openai": {"base_url": self.base_url, "api_key": "sk-bench"}},
                }
            )
        )
        for name in config["agents"]:
            agent = {
                "id": name,
                "name": name,
                "role": name,
                "model": MODEL,
                "system_prompt": SYS[name],
                "is_terminal": name == config["agents"][-1],
            }
            agent["tools"] = [function.__name__ for function in TOOLS.get(name, ())]
            (self.folder / "agents" / f"{name}.yaml").write_text(yaml.safe_dump(agent))
        given = [_async(function) for name in config["agents"] for function in TOOLS.get(name, ())]
        crew = load_crew(self.folder, tools=given)
        store = SqliteStore(self.folder / "crew.db")
        self.runs = Runs(crew, store, listeners=(Metrics(crew),))

    async def run(self, scenario: str) -> str:
        """One run; its answer."""
        return (await (await self.runs.start(Query(USER))).outcome()).answer or ""

    async def stop(self) -> None:
        """Close the store and the connections."""
        await self.runs.__aexit__(None, None, None)


def _async(function):
    """The peers' tools are called on their loop; a sync one would cost us a thread."""

    async def handler(**arguments):
        return function(**arguments)

    handler.__name__, handler.__doc__, handler.__annotations__ = (
        function.__name__,
        function.__doc__,
        function.__annotations__,
    )
    import inspect

    handler.__signature__ = inspect.signature(function)
    return tool(handler)
