"""What the server answers beside streams and problems: runs, conversations, the crew."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from pydantic_core import to_json
from starlette.responses import Response

from agents.wrappers.health import Failure
from crew.config.problems import Problem
from crew.crew import Crew
from crew.journal.envelopes import usage_of
from crew.journal.records.conversations import Conversation, Exchange, Summary
from crew.journal.records.rows import RunRow
from crew.journal.said import Said
from crew.journal.wire import RunEvent, result_of
from tools import Tool
from tools.approval import ApprovalRule, Condition

RUN_KEYS = (
    "run_id",
    "status",
    "query",
    "reason",
    "answer",
    "agent_id",
    "started_at",
    "ended_at",
    "paused_agent_id",
    "paused_until",
    "asks",
    "user_id",
    "conversation_id",
    "exchange",
    "source",
    "source_name",
)


class JsonResponse(Response):
    """A JSON answer."""

    media_type = "application/json"

    def render(self, content: Any) -> bytes:
        """Return as bytes."""
        return to_json(content)


def describe_listed_run(row: RunRow) -> dict[str, Any]:
    """Return a run, as lists show it."""
    return {
        **{key: getattr(row, key) for key in RUN_KEYS},
        "usage": usage_of(row.usage),
        "duration_seconds": round(row.duration_seconds, 6),
    }


def describe_waiting_run(row: RunRow, pause: RunEvent | None) -> dict[str, Any]:
    """Return a run with what it asks a person: what its `pause` event has.

    None where it asks nothing.
    """
    waiting = None
    if pause is not None:
        waiting = {**pause.metadata, "agent": pause.agent, "since": pause.timestamp}
    return {**describe_listed_run(row), "waiting": waiting}


def describe_run(row: RunRow, pause: RunEvent | None) -> dict[str, Any]:
    """Return a run with its result, and what it asks a person."""
    return {
        **describe_waiting_run(row, pause),
        **result_of(row),
        "crew": row.crew,
        "request_id": row.request_id,
        "owner": row.owner,
        "priority": row.priority,
        # by which an answer may name the pause
        "pause": row.pause_seq,
    }


def describe_crew(crew: Crew, *, prompts: bool) -> dict[str, Any]:
    """Return the crew without its secrets; `prompts`: with its prompts."""
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
            for edge in crew.graph.drawn()
        ],
        "limits": config.settings.model_dump(),
        "hooks": {name: hook.model_dump() for name, hook in config.hooks.items()},
        "notify": {
            name: {"kind": channel.kind, "on": channel.on}
            for name, channel in config.notify.items()
        },
        "conversations": (
            config.conversations.model_dump() if config.conversations is not None else None
        ),
        "schedules": {name: one.model_dump() for name, one in config.schedules.items()},
        "warnings": [warning(problem) for problem in crew.warnings],
        "tools": [describe_tool(tool, agents) for tool, agents in tools_of(crew)],
        "providers": _providers(crew),
    }


def _providers(crew: Crew) -> list[dict[str, Any]]:
    """Return whether each provider used in this process answers, and what its models do."""
    guards, models = crew.recipe.model_guards, _models(crew)
    is_open, reasons = guards.open, guards.reasons
    names = sorted({*is_open, *models})
    return [
        {
            "name": name,
            "answers": not is_open.get(name, False),
            "reason": reasons.get(name) or None,
            "models": models.get(name, []),
        }
        for name in names
    ]


def _models(crew: Crew) -> dict[str, list[dict[str, Any]]]:
    """Return the models of each provider, by its name and address.

    Their quirks and last failure.
    """
    failures = crew.recipe.health.failures
    return {
        f"{endpoint.provider} {endpoint.path_url}": [
            {
                "model": model,
                "quirks": table.document(),
                "last_failure": failure_of(failures.get((endpoint.provider, model))),
            }
            for model, table in sorted(client.models.items())
        ]
        for endpoint, client in crew.catalog.clients.items()
    }


def failure_of(failure: Failure | None) -> dict[str, Any] | None:
    """Return the last failure of a model as clients get it."""
    return None if failure is None else asdict(failure)


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


def tools_of(crew: Crew) -> list[tuple[Tool, list[str]]]:
    """Return the tools that agents have, then those that none has; with the agents' ids."""
    users: dict[str, list[str]] = {}
    found: dict[str, Tool] = {}
    for agent_id, agent in crew.agents.items():
        for name, tool in agent.tools.items():
            found[name] = tool
            users.setdefault(name, []).append(agent_id)
    found |= {tool.name: tool for tool in crew.tools if tool.name not in found}
    return [(tool, users.get(name, [])) for name, tool in found.items()]


def describe_tool(tool: Tool, agents: list[str]) -> dict[str, Any]:
    """Return what a tool is and may do, as JSON."""
    reach = tool.reach
    return {
        "tool": tool.name,
        "kind": reach.kind,
        "agents": agents,
        "description": tool.description,
        "effect": tool.effect,
        "requires_approval": tool.requires_approval,
        "approval": _approval(tool.approval),
        "reaches": reach.hosts,
        "runs": reach.runs,
        "reads": reach.reads,
        "writes": reach.writes,
        "sandbox": reach.sandbox,
        "pin": reach.pin,
        "schema_bytes": len(to_json(tool.parameters)),
    }


def _approval(rule: ApprovalRule | None) -> dict[str, Any] | None:
    """Return when calls of a tool need approval; None: never."""
    if rule is None:
        return None
    when = [{name: _condition(one) for name, one in conditions.items()} for conditions in rule.when]
    return {
        "when": when,
        "deadline_seconds": rule.deadline_seconds,
        "on_deadline": rule.on_deadline,
        "may": rule.may,
        "remember": rule.remember,
    }


def _condition(condition: Condition) -> dict[str, Any]:
    """Return what an argument must be, in the words of the YAML."""
    named = {
        "values": condition.values,
        "above": condition.above,
        "below": condition.below,
        "matches": condition.matches,
        "not": condition.other_than,
    }
    return {name: value for name, value in named.items() if value is not None}


def warning(problem: Problem) -> dict[str, Any]:
    """Return a warning of the crew's files."""
    return {
        "file": problem.file,
        "line": problem.line,
        "code": problem.code,
        "message": problem.message,
    }


def run_address(run_id: str) -> dict[str, str]:
    """Return where a run is to be seen."""
    url = f"/api/crew/runs/{run_id}"
    return {"run_id": run_id, "url": url, "events": f"{url}/events"}


def accepted(run_id: str, headers: Mapping[str, str] | None = None) -> Response:
    """Return 202: the request will be done; with the address to see it."""
    address = run_address(run_id)
    headers = {"Location": address["url"], **(headers or {})}
    return JsonResponse(address, 202, headers=headers)


def describe_listed_conversation(one: Conversation) -> dict[str, Any]:
    """Return a conversation, as lists show it."""
    return {
        "conversation_id": one.conversation_id,
        "title": one.title,
        "created_at": one.created_at,
        "used_at": one.used_at,
        "exchanges": one.exchanges,
        "status": one.status,
        "run_id": one.run_id,
    }


def describe_conversation(one: Conversation) -> dict[str, Any]:
    """Return a conversation, without its exchanges."""
    user_id = one.owner.partition(":")[2]
    document = {
        **describe_listed_conversation(one),
        "metadata": one.metadata,
        "user_id": user_id or None,
    }
    # `exchanges` are themselves there
    document["exchange_count"] = document.pop("exchanges")
    return document


def describe_exchange(one: Exchange) -> dict[str, Any]:
    """Return one run of a conversation."""
    return {
        "exchange": one.number,
        "run_id": one.run_id,
        "query": one.query,
        "parts": [_shown_part(part) for part in one.said],
        "answer": one.answer,
        "agent_id": one.agent_id,
        "agent": one.agent,
        "status": one.status,
        "started_at": one.started_at,
        "ended_at": one.ended_at or None,
    }


def _shown_part(one: Said) -> dict[str, Any]:
    """Return what was said between query and answer, where the run paused."""
    return {
        "by": "agent" if one.agent_id else "person",
        "text": one.text,
        "agent_id": one.agent_id or None,
        "agent": one.agent or None,
    }


def describe_summary(one: Summary) -> dict[str, Any]:
    """Return what older exchanges come to."""
    facts = [{"text": f.text, "quote": f.quote, "exchange": f.exchange} for f in one.facts]
    return {
        "version": one.version,
        "through": one.through,
        "summary": one.text,
        "facts": facts,
        "made_at": one.made_at,
    }


def export_document(
    conversation: Conversation, exchanges: Sequence[Exchange], summary: Summary | None
) -> dict[str, Any]:
    """Return a conversation with exchanges of it."""
    return {
        **describe_conversation(conversation),
        "exchanges": [describe_exchange(one) for one in exchanges],
        "summary": describe_summary(summary) if summary is not None else None,
    }
