"""What the server answers beside streams: problems (RFC 9457), runs, the crew."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic_core import to_json
from starlette.responses import Response

from crew.config.problems import Problem as FileProblem
from crew.crew import Crew
from crew.journal.store import RunRow
from crew.journal.wire import outcome_of

RETRY_AFTER = {"Retry-After": "5"}
TITLES = {
    400: "Bad request",
    401: "Unauthorized",
    403: "Forbidden",
    404: "Not found",
    405: "Method not allowed",
    409: "Conflict",
    413: "Too large",
    415: "Unsupported media type",
    421: "Misdirected request",
    422: "Unprocessable content",
    500: "Internal error",
    503: "Unavailable",
}


@dataclass(slots=True, eq=False)
class Refusal(Exception):
    """A request that is answered with a problem.

    `errors`: each (field, what is wrong with it); `more`: further members.
    """

    status: int
    detail: str
    errors: Sequence[tuple[str, str]] = ()
    headers: Mapping[str, str] | None = None
    more: Mapping[str, Any] | None = None


class Json(Response):
    """A JSON answer."""

    media_type = "application/json"

    def render(self, content: Any) -> bytes:
        """As bytes."""
        return to_json(content)


class ProblemReply(Json):
    """A refusal as `application/problem+json`."""

    media_type = "application/problem+json"

    def __init__(self, refusal: Refusal) -> None:
        body: dict[str, Any] = {
            "type": "about:blank",
            "title": TITLES.get(refusal.status, "Error"),
            "status": refusal.status,
            "detail": refusal.detail,
        }
        if refusal.errors:
            body["errors"] = [
                {"field": field, "message": message} for field, message in refusal.errors
            ]
        body |= refusal.more or {}
        super().__init__(body, refusal.status, headers=dict(refusal.headers or {}))


def listed(row: RunRow) -> dict[str, Any]:
    """A run, as lists show it."""
    keys = (
        "run_id",
        "status",
        "query",
        "reason",
        "answer",
        "started_at",
        "ended_at",
        "paused_agent_id",
    )
    return {key: getattr(row, key) for key in keys}


def whole(row: RunRow) -> dict[str, Any]:
    """A run with its result."""
    return {
        **listed(row),
        **outcome_of(row),
        "crew": row.crew,
        "request_id": row.request_id,
        "paused_until": row.paused_until,
        # by which an answer may name it; `done` comes right behind
        "pause": row.events - 1 if row.status == "paused" else None,
    }


def crew_view(crew: Crew, *, prompts: bool) -> dict[str, Any]:
    """The crew without its secrets; its prompts only where asked for and allowed."""
    config, routing = crew.config, crew.routing

    def agent(agent_id: str) -> dict[str, Any]:
        live, behavior = crew.agents[agent_id], config.routing.agent_behaviors.get(agent_id)
        described = {
            "id": live.id,
            "name": live.name,
            "role": live.role,
            "description": live.description,
            "model": live.model.name,
            "tools": [
                {"name": t.name, "description": t.description, "parameters": t.parameters}
                for t in live.tools.values()
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
        return {**described, "system_prompt": live.prompt.text()} if prompts else described

    edges = [
        {"from": e.from_, "to": e.to, "kind": e.kind, "label": e.label} for e in crew.graph.edges
    ]
    groups = {
        g.name: {
            "agents": g.agents,
            "wait_for_all": g.wait_for_all,
            "timeout_seconds": g.timeout_seconds,
            "next_agent": g.next_agent,
            "description": config.routing.parallel_groups[g.name].description,
        }
        for g in routing.groups.values()
    }
    return {
        "name": crew.name,
        "description": config.description,
        "entry_point": crew.entry_point,
        "agents": [agent(agent_id) for agent_id in crew.agents],
        "groups": groups,
        "routing": edges,
        "limits": config.settings.model_dump(),
        "warnings": [warning(problem) for problem in crew.warnings],
    }


def warning(problem: FileProblem) -> dict[str, Any]:
    """A warning of the crew's files."""
    return {
        "file": problem.file,
        "line": problem.line,
        "code": problem.code,
        "message": problem.message,
    }


def goes_on(run_id: str) -> Refusal:
    """To who waits for a run while this server goes down.

    It was accepted, and must not be begun again.
    """
    url = f"/api/crew/runs/{run_id}"
    detail = (
        f"this server is going down, and run {run_id} goes on: do not begin it again, but ask {url}"
    )
    more = {"run_id": run_id, "url": url, "events": f"{url}/events"}
    return Refusal(503, detail, headers={**RETRY_AFTER, "Location": url}, more=more)


def accepted(run_id: str, headers: Mapping[str, str] | None = None) -> Response:
    """What was asked for will be done; where to see it."""
    url = f"/api/crew/runs/{run_id}"
    return Json(
        {"run_id": run_id, "url": url, "events": f"{url}/events"},
        202,
        headers={"Location": url, **(headers or {})},
    )
