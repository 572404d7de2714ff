"""The crew as clients get it: its agents, tools, models, routing, limits."""

from dataclasses import asdict
from typing import Any

from pydantic_core import to_json

from agents.wrappers.health import Failure
from crew.config.keys.memory import BY
from crew.config.problems import Problem
from crew.crew import Crew
from tools import Tool
from tools.approval import ApprovalRule, Condition


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
        **_memory(crew),
        **_documents(crew),
        "schedules": {name: one.model_dump() for name, one in config.schedules.items()},
        "warnings": [warning(problem) for problem in crew.warnings],
        "tools": [describe_tool(tool, agents) for tool, agents in tools_of(crew)],
        "providers": _providers(crew),
    }


def _documents(crew: Crew) -> dict[str, Any]:
    """Return the collections of the crew's documents; nothing where it has none."""
    if not crew.documents:
        return {}
    found = [
        {
            "name": one.name,
            "description": one.description,
            "scope": one.scope,
            "uploads": not one.files,
            "accept": sorted(one.accept),
            "max_file_mb": one.max_bytes / 1_000_000,
            "untrusted": one.is_untrusted,
        }
        for one in crew.documents.collections.values()
    ]
    return {"documents": found}


def _memory(crew: Crew) -> dict[str, Any]:
    """Return what the crew remembers of people; nothing where it does not."""
    if not crew.memory:
        return {}
    names = {one: key for key, one in BY.items()}
    core = [
        {
            "name": one.name,
            "scope": one.scope,
            "description": one.description,
            "write": sorted(names[by] for by in one.writers),
        }
        for one in crew.memory.core.values()
    ]
    recall = crew.memory.recall
    found = {"scope": recall.scope, "learns": recall.learn is not None} if recall else None
    return {"memory": {"core": core, "recall": found}}


def describe_models(crew: Crew) -> list[dict[str, Any]]:
    """Return the models that a request may name."""
    out = []
    for name in crew.config.settings.client_models:
        takers = [one for one in crew.agents.values() if name in one.by_client_model]
        if not takers:
            continue
        made = takers[0].by_client_model[name]
        provider, model = made.model.endpoints[0]
        known = {
            "name": name,
            "provider": provider,
            "model": model,
            "context_window": made.context.window_tokens,
        }
        out.append({**known, "agents": [one.id for one in takers]})
    return out


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
