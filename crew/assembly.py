"""Configuration -> live agents; the only bridge between the two."""

import datetime
from collections.abc import Mapping, Sequence
from typing import Any

from agents.agent import Agent
from agents.budget import Budget, Spent
from agents.config import AgentConfig, ModelConfig
from agents.errors import ProviderError
from agents.fallback import Fallback
from agents.model import Model
from agents.prompt import Prompt, variables
from agents.providers.catalog import Catalog
from crew.config.crew_file import Settings
from crew.config.loader import CrewFiles
from crew.config.problems import Problem
from crew.config.routing_plan import is_terminal
from crew.routing.decisions import Route, Routing
from crew.routing.signals import normal
from tools.builtin import BUILTIN_TOOLS
from tools.deadline import Limits
from tools.errors import ToolDefinitionError
from tools.executor import ToolExecutor
from tools.python import python_tool
from tools.tool import Tool


def make_tools(files: CrewFiles, given: Sequence[Tool]) -> tuple[dict[str, Tool], list[Problem]]:
    """Every tool of a crew by name: built-in, given by a program, of its files.

    And what keeps any of the last from being made.

    Python tools are imported, which runs their files.
    """
    tools = {**BUILTIN_TOOLS, **{tool.name: tool for tool in given}}
    problems: list[Problem] = []
    for name, config in files.tools.items():
        document = files.tool_files[name]
        if name in tools:
            kind = "a built-in tool" if name in BUILTIN_TOOLS else "a tool that the program gives"
            problems.append(
                document.problem(
                    ("tools", name),
                    "tool-twice",
                    f"{name} is {kind} already; choose another name",
                    key=True,
                )
            )
            continue
        try:
            tools[name] = python_tool(name, config, files.sources.folder)
        except ToolDefinitionError as error:
            problems.append(document.problem(("tools", name, error.key), "tool-import", str(error)))
    return tools, problems


def tool_limits(settings: Settings) -> Limits:
    """The limits of one answer's calls."""
    return Limits(
        sequence_seconds=settings.tool_result_timeout_seconds,
        tool_seconds=settings.tool_execution_timeout_seconds,
        overhead_seconds=settings.tool_overhead_budget_millis / 1000,
        minimum_seconds=settings.min_tool_timeout_millis / 1000,
        retries=settings.tool_retries,
        backoff_min_seconds=settings.retry_backoff_min_millis / 1000,
        backoff_max_seconds=settings.retry_backoff_max_seconds,
        warning_percent=settings.timeout_warning_threshold_pct,
        output_chars=settings.max_tool_output_chars,
        total_output_chars=settings.max_total_tool_output_chars,
        parallel=settings.parallel_tool_calls,
    )


def make_agents(
    files: CrewFiles,
    routing: Routing,
    tools: Mapping[str, Tool],
    catalog: Catalog,
    limits: Limits,
    provider: str | None,
    spent: dict[str, Spent],
) -> tuple[dict[str, Agent], list[Problem]]:
    """The crew's agents, and what keeps any of them from being made.

    Args:
        files: a crew without errors.
        routing: its plan.
        tools: what `make_tools` made.
        catalog: makes the models, and owns their clients.
        limits: of one answer's calls.
        provider: used for every agent instead of its own, without backups.
        spent: what each agent has used, by its id; goes on with every edition of the crew.
    """
    crew = files.crew
    assert crew is not None, "a crew with errors is not assembled"
    executor, settings = ToolExecutor(limits), crew.settings
    agents: dict[str, Agent] = {}
    problems: list[Problem] = []
    for agent_id in crew.agents:
        config = files.agents[agent_id]
        own = {name: tools[name] for name in config.tools}
        try:
            model = _model(config, catalog, provider, spent.setdefault(agent_id, Spent()))
        except ProviderError as error:
            problems.append(
                files.agent_files[agent_id].problem(
                    ("provider",), "provider", f"agent {agent_id}: {error}"
                )
            )
            continue
        agents[agent_id] = Agent(
            id=agent_id,
            name=config.name,
            role=config.role,
            description=config.description,
            prompt=_prompt(
                config,
                settings,
                own,
                routing.routes.get(agent_id, ()),
                is_terminal=is_terminal(files, agent_id),
            ),
            model=model,
            tools=own,
            offers=()
            if config.tool_call_mode == "text"
            else tuple(_offer(tool) for tool in own.values()),
            offer_tokens=0
            if config.tool_call_mode == "text"
            else sum(len(str(_offer(tool))) // 4 for tool in own.values()),
            tool_call_mode=config.tool_call_mode,
            executor=executor,
            temperature=config.temperature,
            top_p=config.top_p,
            max_tokens=config.max_tokens,
            context_window_tokens=settings.max_context_window,
            context_trim_percent=settings.context_trim_percent,
            allow_client_system=settings.allow_client_system,
        )
    return agents, problems


def _offer(tool: Tool) -> dict[str, Any]:
    """A tool in the form of chat completions."""
    return {
        "type": "function",
        "function": {
            "name": tool.name,
            "description": tool.description,
            "parameters": tool.parameters,
        },
    }


def _model(config: AgentConfig, catalog: Catalog, provider: str | None, spent: Spent) -> Model:
    primary = config.primary or ModelConfig(
        model=config.model, provider=config.provider, provider_url=config.provider_url
    )
    if provider is not None:
        model = catalog.model(ModelConfig(model=primary.model, provider=provider))
    elif config.backup is not None:
        model = Fallback(catalog.model(primary), catalog.model(config.backup))
    else:
        model = catalog.model(primary)
    return Budget(model, config.cost_limits, spent)


def _prompt(
    config: AgentConfig,
    settings: Settings,
    tools: Mapping[str, Tool],
    routes: Sequence[Route],
    *,
    is_terminal: bool,
) -> Prompt:
    described = {name: _described(tool) for name, tool in tools.items()}
    values = {
        "name": config.name,
        "role": config.role,
        "description": config.description,
        "backstory": config.backstory,
        "language": settings.language,
        "organization": settings.organization,
        "tools": "\n".join(f"- {text}" for text in described.values()),
        "signals": "\n".join(f"- {_hint(route)}" for route in routes),
    }
    used = variables(config.system_prompt)
    sections: list[str] = []
    if config.tool_call_mode == "text" and tools:
        unnamed = [
            text
            for name, text in described.items()
            if "tools" not in used and name not in config.system_prompt
        ]
        listed = "\n".join(f"- {text}" for text in unnamed)
        sections.append(
            "To call a tool, write Name(arguments) on a line of its own."
            + (f" Your tools:\n{listed}" if unnamed else "")
        )
    hinted = _hinted(config, settings, routes, mentions_all="signals" in used)
    if hinted:
        listed = "\n".join(f"- {_hint(route)}" for route in hinted)
        sections.append(
            f"To hand over, write one of these texts exactly as it stands in your answer:\n{listed}"
        )
    return Prompt(
        config.system_prompt,
        values,
        is_terminal,
        lambda: datetime.datetime.now(datetime.UTC).date().isoformat(),
        tuple(sections),
    )


def _hinted(
    config: AgentConfig, settings: Settings, routes: Sequence[Route], *, mentions_all: bool
) -> list[Route]:
    """The signals that the runtime tells an agent of."""
    if settings.route_hints == "never":
        return []
    if settings.route_hints == "always":
        return list(routes)
    # without a system_prompt the backstory is the prompt
    prompt = normal(config.system_prompt or config.backstory)
    return [] if mentions_all else [route for route in routes if not route.signal.occurs(prompt)]


def _hint(route: Route) -> str:
    return (
        f"{route.signal.text}: {route.description}"
        if route.description
        else f"{route.signal.text}: {f'to {route.target}' if route.target else 'to finish'}"
    )


def _described(tool: Tool) -> str:
    takes = ", ".join(tool.parameters.get("properties", ()))
    return f"{tool.name}({takes}): {tool.description.splitlines()[0] if tool.description else ''}".rstrip(
        ": "
    )
