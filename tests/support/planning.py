"""A crew of a planner, a worker and an agent that ends."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tests.support.crews import Played, write_crew

ACTS = '''
from pathlib import Path

def pay(to: str) -> str:
    """Pay."""
    with (Path(__file__).parent / "ledger").open("a") as out:
        out.write(to + " ")
    return "paid " + to


async def wait() -> str:
    """Wait for ever."""
    import asyncio
    await asyncio.Event().wait()
    return ""
'''
WORK: list[dict[str, Any]] = [
    {"agent": "w", "say": "did {{query}}"},
    {"agent": "end", "say": "all is done"},
]


def task(id_: str, *needs: str, agent: str = "w", ask: str = "work") -> dict[str, Any]:
    return {"id": id_, "agent": agent, "ask": ask, "needs": list(needs)}


def planning(
    folder: Path,
    *plans: Sequence[dict[str, Any]],
    rules: Sequence[dict[str, Any]] = WORK,
    plan: dict[str, Any] | None = None,
    tools: dict[str, Any] | None = None,
    then: str | None = "end",
    **crew: Any,
) -> Path:
    """A crew of a planner, a worker and an agent that ends; the planner's plans in turn."""
    planned = [
        {"agent": "p", "turn": n, "say": {"tasks": list(one)}} for n, one in enumerate(plans, 1)
    ]
    keys = {"workers": ["w"], **({"then": then} if then else {}), **(plan or {})}
    agents: dict[str, Any] = {"p": {"plan": keys}, "w": {"tools": list(tools or {})}}
    agents |= {"end": {"is_terminal": True}} if then else {}
    written = write_crew(folder, agents, [*planned, *rules], tools, **crew)
    (written / "acts.py").write_text(ACTS)
    return written


def steps(played: Played) -> list[tuple[str, str]]:
    """The begins and ends of tasks, in their order."""
    found = [one for one in played.events if one["type"] in ("task_start", "task_end")]
    return [(one["type"], one["metadata"]["task"]) for one in found]


def ends(played: Played) -> dict[str, str]:
    return {one["metadata"]["task"]: one["metadata"]["status"] for one in played.of("task_end")}


FAILING: list[dict[str, Any]] = [
    {"agent": "w", "hears": "break", "fail": "unavailable"},
    {"agent": "w", "say": "did it"},
    {"agent": "end", "say": "all is done"},
]


def failing(*tasks: dict[str, Any]) -> list[dict[str, Any]]:
    return [{**one, "ask": "break"} if one["id"].startswith("x") else one for one in tasks]
