"""What a crew's files configure without effect, though each key is right by itself."""

from collections.abc import Collection, Iterator, Mapping
from functools import partial

from agents.config import FLAT_COST_KEYS, AgentConfig
from agents.endpoint import dialect_of
from agents.prompt import variables
from crew.config.costs.budgets import other_models
from crew.config.costs.others import models_of_helpers
from crew.config.crew_files import CrewFiles
from crew.config.files.document import Document, YamlPath
from crew.config.files.sources import CREW_FILE
from crew.config.keys.crew_file import CrewConfig
from crew.config.keys.models import (
    Models,
    backup_of,
    choose,
    client_models_of,
    models_of,
    primary_of,
)
from crew.config.memory import embeddings_of
from crew.config.problems import Problem
from tools.config import CommonTool, McpServer, PythonTool, ToolConfig
from tools.config.command import Confined
from tools.toolbox import ToolSet

ISOLATED_KEYS = {"max_memory_mb", "max_cpu_seconds"}
CONFINED_KEYS = {"read", "write", "network"}
# of MCP servers
ADDRESS_KEYS = {"headers", "allow_private"}
PROGRAM_KEYS = {"args", "env", "cwd", "sandbox", "read", "write", "network", "max_line_kb"}
PRIMARY_KEYS = ("model", "provider", "provider_url")
# by which an agent uses what others describe
USING_KEYS = ("tools", "context", "model", "provider", "primary", "backup")


def find_no_effect(
    files: CrewFiles, crew: CrewConfig, sets: Mapping[str, ToolSet]
) -> Iterator[Problem]:
    """Yield a warning for each such key of the agents, and for unused tools and providers."""
    listed = [agent_id for agent_id in crew.agents if agent_id in files.agents]
    for agent_id in listed:
        agent, document = files.agents[agent_id], files.agent_files[agent_id]
        yield from _models(agent, document, crew)
        if files.is_whole(document.file, "cost_limits", *FLAT_COST_KEYS):
            yield from _costs(agent, crew.models, document)
        yield from _prompts(files, agent, document, crew)
        has_tools = agent.tool_names or not files.is_whole(document.file, "tools")
        for key in ("tool_call_mode", "tool_choice"):
            if getattr(agent, key) != "auto" and not has_tools:
                yield _no_effect(document, (key,), "it has no tools")
        yield from _turns(agent, document, crew)
        if agent.model_from_client and not crew.settings.client_models:
            yield _no_effect(document, ("model_from_client",), "settings.client_models is empty")
    for name, tool in files.tools.items():
        yield from _tool_keys(tool, files.tool_files[name], ("tools", name))
    if len(listed) == len(crew.agents) and all(
        files.is_whole(files.agent_files[agent_id].file, *USING_KEYS) for agent_id in listed
    ):
        agents = [files.agents[agent_id] for agent_id in listed]
        yield from _unused_tools(files, agents, sets)
        if files.is_whole(CREW_FILE, "models", "helpers", "conversations"):
            yield from _unused_models(files, crew, agents)


def _no_effect(document: Document, path: YamlPath, why: str) -> Problem:
    return document.problem(path, "ignored-key", f"{path[-1]} has no effect: {why}", key=True)


def _tool_keys(tool: ToolConfig, document: Document, path: YamlPath) -> Iterator[Problem]:
    given = tool.model_fields_set
    if isinstance(tool, PythonTool) and tool.isolate is None:
        for key in ISOLATED_KEYS & given:
            yield _no_effect(document, (*path, key), "isolate: process is not given")
    if isinstance(tool, Confined) and tool.sandbox == "off":
        for key in CONFINED_KEYS & given:
            yield _no_effect(document, (*path, key), "sandbox is off")
    if isinstance(tool, McpServer):
        is_program = tool.url is None
        for key in (ADDRESS_KEYS if is_program else PROGRAM_KEYS) & given:
            why = "the server is a program" if is_program else "the server is an address"
            yield _no_effect(document, (*path, key), why)
    limits = tool.limits if isinstance(tool, CommonTool) else None
    if limits is not None and limits.rate_per_second is None and "burst" in limits.model_fields_set:
        why = "rate_per_second is not given"
        yield _no_effect(document, (*path, "limits", "burst"), why)


def _turns(agent: AgentConfig, document: Document, crew: CrewConfig) -> Iterator[Problem]:
    if agent.tool_call_mode == "text" and agent.tool_choice not in ("auto", "none"):
        yield _no_effect(document, ("tool_choice",), "calls in text cannot be required")
    most = crew.settings.max_rounds
    if agent.max_rounds is not None and agent.max_rounds > most:
        why = f"settings.max_rounds = {most} ends a run before it"
        yield _no_effect(document, ("max_rounds",), why)


def _models(agent: AgentConfig, document: Document, crew: CrewConfig) -> Iterator[Problem]:
    for key in PRIMARY_KEYS:
        if agent.primary is not None and key in document.data:
            yield _no_effect(document, (key,), "primary is given")
    for model in models_of(agent, crew.models):
        if model.config.provider == "scripted" and model.config.provider_url is not None:
            why = "the scripted provider has no address"
            yield _no_effect(document, (*model.path, "provider_url"), why)
    backup = backup_of(agent, crew.models)
    if backup is not None and backup.config == primary_of(agent, crew.models).config:
        yield _no_effect(document, ("backup",), "it is the agent's own model")


def _costs(agent: AgentConfig, models: Models, document: Document) -> Iterator[Problem]:
    limits = agent.cost_limits
    nested = document.data.get("cost_limits")
    nested = nested if isinstance(nested, dict) else {}
    for flat, key in FLAT_COST_KEYS.items():
        if flat in document.data and key in nested:
            yield _no_effect(document, (flat,), f"cost_limits has {key} too")

    def place(key: str, flat: str) -> YamlPath:
        is_flat = flat in document.data and key not in nested
        return (flat,) if is_flat else ("cost_limits", key)

    priced = limits.input_token_price_per_million or limits.output_token_price_per_million
    daily = limits.max_tokens_per_day is not None or limits.max_cost_per_day_usd is not None
    is_priced = priced or any(one.named.prices for one in models_of(agent, models))
    if limits.max_cost_per_day_usd is not None and not is_priced:
        why = "without input_token_price_per_million and output_token_price_per_million"
        why = f"{why} every call costs nothing"
        yield _no_effect(document, place("max_cost_per_day_usd", "max_cost_per_day"), why)
    if "alert_threshold" in limits.model_fields_set and not daily:
        path = place("alert_threshold", "cost_alert_threshold")
        yield _no_effect(document, path, "there is no limit of a day")
    if limits.block_on_cost_exceed and not daily and limits.max_tokens_per_call is None:
        key = "enforce" if "enforce" in nested else "block_on_cost_exceed"
        yield _no_effect(document, place(key, "enforce_cost_limits"), "there is no limit")


def _prompts(
    files: CrewFiles, agent: AgentConfig, document: Document, crew: CrewConfig
) -> Iterator[Problem]:
    used = variables(agent.system_prompt)
    is_whole = partial(files.is_whole, document.file)
    if agent.system_prompt.strip() and agent.backstory.strip() and "backstory" not in used:
        why = "system_prompt does not have {{backstory}} in it"
        yield _no_effect(document, ("backstory",), why)
    empty = {}
    if not agent.description and is_whole("description"):
        empty["description"] = "description is not given"
    if not agent.backstory and is_whole("backstory"):
        empty["backstory"] = "backstory is not given"
    if not agent.tool_names and is_whole("tools"):
        empty["tools"] = "it has no tools"
    if files.is_whole(CREW_FILE, "routing", "settings"):
        if not crew.settings.organization:
            empty["organization"] = "settings.organization is not given in crew.yaml"
        if not crew.routing.signals.get(agent.id):
            empty["signals"] = "it has no signals"
    for key in ("system_prompt", "backstory"):
        for name in dict.fromkeys(variables(getattr(agent, key))):
            if name in empty:
                text = f"{{{{{name}}}}} is filled with nothing: {empty[name]}"
                yield document.problem((key,), "empty-variable", text)


def _unused_tools(
    files: CrewFiles, agents: list[AgentConfig], sets: Mapping[str, ToolSet]
) -> Iterator[Problem]:
    named = {name for agent in agents for name in agent.tools}
    for name in files.tools:
        made = sets[name].tools if name in sets else ()
        if named.isdisjoint((name, *(tool.name for tool in made))):
            text = f"no agent has the tool {name}"
            document = files.tool_files[name]
            yield document.problem(("tools", name), "unused-tool", text, key=True)


def _unused_models(
    files: CrewFiles, crew: CrewConfig, agents: list[AgentConfig]
) -> Iterator[Problem]:
    """Yield entries of `models` and `providers` that are not used, and keys without effect."""
    document, helpers = files.crew_document, models_of_helpers(files, crew)
    named = crew.settings.client_models
    used = [*(one for agent in agents for one in models_of(agent, crew.models)), *helpers]
    clients = [one for agent in agents for one in client_models_of(agent, crew.models, named)]
    used += clients
    others = [
        choose(crew.models, name, None, None)
        for agent in agents
        for name in other_models(crew, agent)
    ]
    used += others
    primaries = {agent.id: primary_of(agent, crew.models).name for agent in agents}
    windows = {
        primaries[agent.id]
        for agent in agents
        if (context := crew.context_of(agent)) is None or context.window_tokens is None
    }
    names = {one.name for one in used}
    # by name, once each: there may be thousands of agents and models
    without_provider = {one.name for one in used if not one.says_provider}
    counted = {*primaries.values(), *(one.name for one in (*helpers, *clients))}
    windows |= {one.name for one in clients}
    if crew.settings.client_models and not any(one.model_from_client for one in agents):
        why = "no agent has model_from_client"
        yield _no_effect(document, ("settings", "client_models"), why)
    for name, model in crew.models.items():
        path, given = ("models", name), model.model_fields_set
        if name not in names:
            near = document.near(name, names)
            hint = f"; one has {near!r}" if near is not None else ""
            text = f"no agent or helper has the model {name!r}{hint}"
            yield document.problem(path, "unused-model", text, key=True)
            continue
        if model.provider is not None and name not in without_provider:
            yield _no_effect(document, (*path, "provider"), "all who have the model say their own")
        if "context_window" in given and name not in windows:
            why = "it is no agent's first model without context.window_tokens"
            yield _no_effect(document, (*path, "context_window"), why)
        if "prompt_cache" in given:
            providers = {one.config.provider for one in used if one.name == name}
            dialects = {dialect_of(one, crew.providers.get(one)) for one in providers}
            if dialects == {"chat"}:
                why = "providers of dialect chat cache by themselves"
                yield _no_effect(document, (*path, "prompt_cache"), why)
            elif model.prompt_cache == "1h" and "anthropic" not in dialects:
                why = "only for dialect anthropic a time can be said"
                yield _no_effect(document, (*path, "prompt_cache"), why)
        if "tokenizer" in given and name not in counted:
            why = "it is no agent's first model"
            yield _no_effect(document, (*path, "tokenizer"), why)
    embedding = {one.provider for one, _ in embeddings_of(crew).values()}
    yield from _unused_providers(document, crew, {one.config.provider for one in used} | embedding)


def _unused_providers(
    document: Document, crew: CrewConfig, used: Collection[str]
) -> Iterator[Problem]:
    for name, provider in crew.providers.items():
        path = ("providers", name)
        if name not in used:
            text = f"no agent uses the provider {name}"
            yield document.problem(path, "unused-provider", text, key=True)
        elif name == "scripted":
            for key in sorted(provider.model_fields_set - {"max_retries"}):
                yield _no_effect(document, (*path, key), "the scripted provider has no address")
