"""A crew of an agent with a typed answer, which leads to two others."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tests.support.crews import Played, write_crew

OUTPUT: dict[str, Any] = {
    "properties": {
        "tools": {"type": "boolean"},
        "kind": {"enum": ["simple", "complex"]},
        "question": {"type": "string"},
    },
    "required": ["tools", "kind"],
}
ROUTES = [
    {"when": {"kind": "complex", "question": {"absent": False}}, "pause": True},
    {"when": {"tools": True}, "target": "doer"},
    {"target": "talker"},
]
AGENTS: dict[str, Any] = {
    "sort": {"output": OUTPUT},
    "talker": {"is_terminal": True},
    "doer": {"is_terminal": True},
}
REST = [{"agent": "talker", "say": "talked"}, {"agent": "doer", "say": "done"}]
RIGHT = {"tools": True, "kind": "simple"}
WRONG = {"tools": "true", "kind": "simple"}


def said(*answers: Any, agent: str = "sort") -> list[dict[str, Any]]:
    """An agent's answers, in turn; the last one stays."""
    *first, last = answers
    rules = [{"agent": agent, "turn": n, "say": one} for n, one in enumerate(first, 1)]
    return [*rules, {"agent": agent, "say": last}, *REST]


def sorting(
    folder: Path,
    rules: Sequence[Any],
    sort: dict[str, Any] | None = None,
    routes: Sequence[Any] = ROUTES,
    **crew: Any,
) -> Path:
    agents = {**AGENTS, "sort": {**AGENTS["sort"], **(sort or {})}, **crew.pop("agents", {})}
    routing = {"outputs": {"sort": list(routes)}, **crew.pop("routing", {})}
    return write_crew(folder, agents, rules, routing=routing, **crew)


def ways(played: Played) -> list[tuple[str, str, str]]:
    hops = [event["metadata"] for event in played.of("handoff")]
    return [(hop["from"], hop["to"], hop["why"]) for hop in hops]


def answers(played: Played, agent: str = "sort") -> list[dict[str, Any]]:
    given = [event["metadata"] for event in played.of("agent_response")]
    return [one for one in given if one["agent_id"] == agent]
