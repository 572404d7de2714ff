"""The system prompts of agents."""

from collections.abc import Mapping, Sequence
from typing import Any

from agents.config import AgentConfig
from agents.prompt import Prompt, parse_output_name, variables
from crew.assembly.given import Given
from crew.config.keys.crew_file import CrewSettings
from crew.routing.rules import Route
from crew.routing.signals import normalize
from tools.definition import Tool


def make_prompt(
    config: AgentConfig,
    settings: CrewSettings,
    tools: Mapping[str, Tool],
    routes: Sequence[Route],
    terminal: bool,
    given: Given,
    texts: Sequence[str] = (),
) -> Prompt:
    """Make an agent's prompt; `texts` stand at its end."""
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
        sections.append(text_call_hint(config, tools))
    hinted = _hinted_routes(config, settings, routes, mentions_all="signals" in used)
    if hinted:
        listed = _as_list(_describe_route(route) for route in hinted)
        sections.append(
            "To hand over, write one of these texts exactly as it stands in your answer:\n" + listed
        )
    sections += texts
    return Prompt(
        mask(config.system_prompt),
        {name: mask(value) for name, value in values.items()},
        terminal,
        given.clock,
        tuple(mask(section) for section in sections),
        _outputs_in(config),
    )


def _outputs_in(config: AgentConfig) -> tuple[str, ...]:
    """Return the values of typed answers that a prompt names."""
    named = [*variables(config.system_prompt), *variables(config.backstory)]
    return tuple(dict.fromkeys(one for one in named if parse_output_name(one) is not None))


def _as_list(lines: Any) -> str:
    return "\n".join(f"- {line}" for line in lines)


def text_call_hint(config: AgentConfig, tools: Mapping[str, Tool]) -> str:
    """Return how to call tools in text, with those tools that the prompt does not name."""
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
    """Return the routes with signals that the runtime adds to the prompt."""
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
