"""Configuration -> live agents; the only bridge between the two."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, Protocol

from pydantic_core import to_json

from agents.agent import Agent, ToolDefinition
from agents.budget import Budget, DailyUsage
from agents.config import AgentConfig, ModelConfig
from agents.errors import ProviderError
from agents.fallback import Fallback
from agents.model import Model
from agents.places import Limited, Places
from agents.prompt import Prompt, variables
from agents.providers.catalog import BUILTIN_PROVIDERS, Catalog
from agents.tokens import TokenRatios, count_tokens
from crew.config.crew_file import CrewSettings
from crew.config.loader import CrewFiles
from crew.config.problems import Problem
from crew.config.routing_plan import is_terminal
from crew.routing.rules import Route, Routing
from crew.routing.signals import escape, normalize
from tools.builtin import BUILTIN_TOOLS
from tools.clock import Clock
from tools.config import McpServer, OpenApiTool, PythonTool
from tools.context import FindSecret
from tools.deadline import Limits
from tools.errors import ToolDefinitionError, ToolImportError
from tools.executor import ToolExecutor
from tools.kinds import ToolMaker
from tools.search import TOOL_SEARCH, search_tool
from tools.secrets import Secrets
from tools.suggest import nearest
from tools.texts import map_texts
from tools.tool import Tool
from tools.toolbox import Toolbox

# of the tools of an agent, as JSON: with more it is given a tool that finds them
MAX_SHOWN_CHARS = 20_000


class Given(Protocol):
    """What a program gives to a crew beside its files."""

    @property
    def provider(self) -> str | None:
        """Used for every agent instead of its own, without backups."""
        ...

    @property
    def clock(self) -> Clock:
        """Of all runs."""
        ...

    @property
    def daily_usage(self) -> dict[str, DailyUsage]:
        """Of each agent, by its id; shared by all revisions of the crew."""
        ...

    @property
    def places(self) -> Places:
        """For agents with `max_concurrent`; shared by all revisions of the crew."""
        ...

    @property
    def token_ratios(self) -> TokenRatios:
        """How providers count; shared by all revisions of the crew."""
        ...

    @property
    def secrets(self) -> Secrets:
        """What no model is sent."""
        ...

    @property
    def find_secret(self) -> FindSecret:
        """What tools ask for the environment."""
        ...


def make_tools(
    files: CrewFiles, given: Sequence[Tool], maker: ToolMaker, *, imports: bool
) -> tuple[Toolbox, list[Problem]]:
    """Every tool of a crew (built-in, given, of its files), and what is wrong with any.

    With `imports`, Python tools are imported, which runs their files; else they are left out.
    """
    tools = Toolbox({**BUILTIN_TOOLS, **{tool.name: tool for tool in given}})
    problems: list[Problem] = []
    # modules that do not import: reported once, not for each of their tools
    failed_modules: set[str] = set()
    for name, config in files.tools.items():
        document = files.tool_files[name]
        if name in tools.by_name:
            kind = "a built-in tool" if name in BUILTIN_TOOLS else "a tool that the program gives"
            text = f"{name} is {kind} already; choose another name"
            problems.append(document.problem(("tools", name), "tool-twice", text, key=True))
            continue
        if isinstance(config, PythonTool) and not imports:
            continue
        if isinstance(config, OpenApiTool) and config.document not in files.api_documents:
            # which is a problem of its own
            continue
        if isinstance(config, McpServer) and not imports and name not in files.locked:
            # to ask for its tools is to start it
            continue
        try:
            made = maker.make(name, config)
        except ToolImportError as error:
            if error.module not in failed_modules:
                failed_modules.add(error.module)
                problems.append(_tool_problem(files, name, error))
        except ToolDefinitionError as error:
            problems.append(_tool_problem(files, name, error))
        else:
            for twice in tools.add(name, made):
                text = f"{name} makes a tool {twice}, and there is one of this name already"
                problems.append(document.problem(("tools", name), "tool-twice", text, key=True))
    return tools, problems


def _tool_problem(files: CrewFiles, name: str, error: ToolDefinitionError) -> Problem:
    return files.tool_files[name].problem(("tools", name, *error.path), error.code, str(error))


def tool_limits(settings: CrewSettings) -> Limits:
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
    given: Given,
    files: CrewFiles,
    routing: Routing,
    tools: Toolbox,
    catalog: Catalog,
) -> tuple[dict[str, Agent], list[Problem]]:
    """The crew's agents, and what is wrong with any.

    Args:
        given: what the program gives.
        files: a crew without errors.
        routing: its routing.
        tools: what `make_tools` made.
        catalog: makes the models, and owns their clients.
    """
    crew = files.crew
    assert crew is not None, "a crew with errors is not assembled"
    if given.provider is not None:
        _require_provider(given.provider, catalog)
    settings = crew.settings
    executor = ToolExecutor(tool_limits(settings), given.clock, given.find_secret)
    agents: dict[str, Agent] = {}
    problems: list[Problem] = []
    for agent_id in crew.agents:
        config = files.agents[agent_id]
        own_tools = tools.named(config.tools)
        try:
            model = _model(config, catalog, given)
        except ProviderError as error:
            text = f"agent {agent_id}: {error}"
            document = files.agent_files[agent_id]
            problems.append(document.problem(("provider",), "provider", text))
            continue
        definitions = _tool_definitions(config, own_tools, given.secrets)
        finders = {}
        if _searches(settings, definitions):
            finders = {TOOL_SEARCH: search_tool(own_tools.values())}
            definitions |= _tool_definitions(config, finders, given.secrets)
        routes = routing.routes.get(agent_id, ())
        terminal = is_terminal(files, agent_id)
        agents[agent_id] = Agent(
            id=agent_id,
            name=config.name,
            role=config.role,
            description=config.description,
            prompt=_prompt(config, settings, own_tools, routes, terminal, given),
            model=model,
            tools={**finders, **own_tools},
            tool_definitions=definitions,
            tool_call_mode=config.tool_call_mode,
            text_call_hint=_text_call_hint(config, own_tools),
            max_calls=settings.max_calls_per_answer,
            escape_signals=partial(escape, [route.signal for route in routes]),
            executor=executor,
            temperature=config.temperature,
            top_p=config.top_p,
            max_tokens=config.max_tokens,
            context_window_tokens=settings.max_context_window,
            context_trim_percent=settings.context_trim_percent,
            token_ratios=given.token_ratios,
            allow_client_system=settings.allow_client_system,
            clock=given.clock,
        )
    return agents, problems


def _require_provider(name: str, catalog: Catalog) -> None:
    """A provider that replaces every agent's own is the caller's word, not that of a file."""
    known = (*BUILTIN_PROVIDERS, *catalog.providers)
    if name in known:
        return
    near = nearest(name, known)
    hint = f"did you mean {near!r}?" if near else f"known: {', '.join(known)}"
    raise ProviderError(f"there is no provider {name!r}; {hint}")


def _tool_definitions(
    config: AgentConfig, tools: Mapping[str, Tool], secrets: Secrets
) -> dict[str, ToolDefinition]:
    """The tools in the form of chat completions; none for calls in text."""
    if config.tool_call_mode == "text":
        return {}
    definitions = {}
    for tool in tools.values():
        function = {
            "name": tool.name,
            "description": tool.description,
            "parameters": tool.parameters,
        }
        shown = {"type": "function", "function": map_texts(function, secrets.mask)}
        definitions[tool.name] = ToolDefinition(shown, count_tokens(to_json(shown).decode()))
    return definitions


def _searches(settings: CrewSettings, definitions: Mapping[str, ToolDefinition]) -> bool:
    """Whether an agent is to find its tools, instead of being shown them all."""
    if settings.tool_search == "auto":
        chars = sum(len(to_json(one.document).decode()) for one in definitions.values())
        return chars > MAX_SHOWN_CHARS
    return settings.tool_search == "always" and bool(definitions)


def _model(config: AgentConfig, catalog: Catalog, given: Given) -> Model:
    primary = config.primary or ModelConfig(
        model=config.model, provider=config.provider, provider_url=config.provider_url
    )
    if given.provider is not None:
        model = catalog.model(ModelConfig(model=primary.model, provider=given.provider))
    elif config.backup is not None:
        model = Fallback(catalog.model(primary, has_backup=True), catalog.model(config.backup))
    else:
        model = catalog.model(primary)
    if config.max_concurrent is not None:
        model = Limited(model, config.max_concurrent, given.places)
    usage = given.daily_usage.setdefault(config.id, DailyUsage())
    return Budget(model, config.cost_limits, usage, given.clock)


def _prompt(
    config: AgentConfig,
    settings: CrewSettings,
    tools: Mapping[str, Tool],
    routes: Sequence[Route],
    terminal: bool,
    given: Given,
) -> Prompt:
    mask = given.secrets.mask
    described = {name: _describe_tool(tool) for name, tool in tools.items()}
    values = {
        "name": config.name,
        "role": config.role,
        "description": config.description,
        "backstory": config.backstory,
        "language": settings.language,
        "organization": settings.organization,
        "tools": _as_list(described.values()),
        "signals": _as_list(_describe_route(route) for route in routes),
    }
    used = variables(config.system_prompt)
    sections: list[str] = []
    if config.tool_call_mode == "text" and tools:
        sections.append(_text_call_hint(config, tools))
    hinted = _hinted_routes(config, settings, routes, mentions_all="signals" in used)
    if hinted:
        listed = _as_list(_describe_route(route) for route in hinted)
        sections.append(
            "To hand over, write one of these texts exactly as it stands in your answer:\n" + listed
        )
    return Prompt(
        mask(config.system_prompt),
        {name: mask(value) for name, value in values.items()},
        terminal,
        given.clock,
        tuple(mask(section) for section in sections),
    )


def _as_list(lines: Any) -> str:
    return "\n".join(f"- {line}" for line in lines)


def _text_call_hint(config: AgentConfig, tools: Mapping[str, Tool]) -> str:
    """How to call tools in text, with those tools that the prompt does not name."""
    how = "To call a tool, write Name(arguments) on a line of its own."
    if "tools" in variables(config.system_prompt):
        return how
    unnamed = [
        _describe_tool(tool) for name, tool in tools.items() if name not in config.system_prompt
    ]
    return f"{how} Your tools:\n{_as_list(unnamed)}" if unnamed else how


def _hinted_routes(
    config: AgentConfig, settings: CrewSettings, routes: Sequence[Route], *, mentions_all: bool
) -> list[Route]:
    """The routes whose signals the runtime adds to the prompt."""
    if settings.route_hints == "never":
        return []
    if settings.route_hints == "always":
        return list(routes)
    if mentions_all:
        return []
    # without a system_prompt the backstory is the prompt
    prompt = normalize(config.system_prompt or config.backstory)
    return [route for route in routes if not route.signal.occurs(prompt)]


def _describe_route(route: Route) -> str:
    description = route.description
    if not description:
        description = f"to {route.target}" if route.target else "to finish"
    return f"{route.signal.text}: {description}"


def _describe_tool(tool: Tool) -> str:
    parameters = ", ".join(tool.parameters.get("properties", ()))
    first_line = tool.description.splitlines()[0] if tool.description else ""
    return f"{tool.name}({parameters}): {first_line}".rstrip(": ")
