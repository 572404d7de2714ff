"""What the server answers beside streams and problems: runs, the crew."""

from collections.abc import Mapping
from typing import Any

from pydantic_core import to_json
from starlette.responses import Response

from crew.config.problems import Problem
from crew.crew import Crew
from crew.journal.rows import RunRow
from crew.journal.wire import result_of

RUN_KEYS = (
    "run_id",
    "status",
    "query",
    "reason",
    "answer",
    "started_at",
    "ended_at",
    "paused_agent_id",
)


class JsonResponse(Response):
    """A JSON answer."""

    media_type = "application/json"

    def render(self, content: Any) -> bytes:
        """As bytes."""
        return to_json(content)


def listed_run(row: RunRow) -> dict[str, Any]:
    """A run, as lists show it."""
    return {key: getattr(row, key) for key in RUN_KEYS}


def whole_run(row: RunRow) -> dict[str, Any]:
    """A run with its result."""
    return {
        **listed_run(row),
        **result_of(row),
        "crew": row.crew,
        "request_id": row.request_id,
        "owner": row.owner,
        "priority": row.priority,
        "paused_until": row.paused_until,
        # by which an answer may name the pause
        "pause": row.pause_seq,
    }


def whole_crew(crew: Crew, *, prompts: bool) -> dict[str, Any]:
    """The crew without its secrets; `prompts`: with its prompts."""
    config, routing = crew.config, crew.routing
    groups = {}
    for group in routing.groups.values():
        groups[group.name] = {
            "agents": group.agents,
            "wait_for_all": group.wait_for_all,
            "timeout_seconds": group.timeout_seconds,
            "next_agent": group.next_agent,
            "description": config.routing.parallel_groups[group.name].description,
        }
    return {
        "name": crew.name,
        "description": config.description,
        "entry_point": crew.entry_point,
        "agents": [_agent(crew, agent_id, prompts=prompts) for agent_id in crew.agents],
        "groups": groups,
        "routing": [
            {"from": edge.from_, "to": edge.to, "kind": edge.kind, "label": edge.label}
            for edge in crew.graph.edges
        ],
        "limits": config.settings.model_dump(),
        "warnings": [warning(problem) for problem in crew.warnings],
    }


def _agent(crew: Crew, agent_id: str, *, prompts: bool) -> dict[str, Any]:
    agent, routing = crew.agents[agent_id], crew.routing
    behavior = crew.config.routing.agent_behaviors.get(agent_id)
    document = {
        "id": agent.id,
        "name": agent.name,
        "role": agent.role,
        "description": agent.description,
        "model": agent.model.name,
        "tools": [
            {"name": tool.name, "description": tool.description, "parameters": tool.parameters}
            for tool in agent.tools.values()
        ],
        "is_terminal": agent_id in routing.terminal,
        "waits_for_signal": agent_id in routing.waits,
        "behavior": behavior.description if behavior is not None else "",
        "signals": [
            {
                "signal": route.signal.text,
                "target": route.target,
                "description": route.description,
            }
            for route in routing.routes.get(agent_id, ())
        ],
    }
    if prompts:
        document["system_prompt"] = agent.prompt.text()
    return document


def warning(problem: Problem) -> dict[str, Any]:
    """A warning of the crew's files."""
    return {
        "file": problem.file,
        "line": problem.line,
        "code": problem.code,
        "message": problem.message,
    }


def run_address(run_id: str) -> dict[str, str]:
    """Where a run is to be seen."""
    url = f"/api/crew/runs/{run_id}"
    return {"run_id": run_id, "url": url, "events": f"{url}/events"}


def accepted(run_id: str, headers: Mapping[str, str] | None = None) -> Response:
    """What was asked for will be done; where to see it."""
    address = run_address(run_id)
    headers = {"Location": address["url"], **(headers or {})}
    return JsonResponse(address, 202, headers=headers)
