"""What a crew's files say without effect, though each key is right by itself.

Nothing is accepted and ignored without a word.
"""

from collections.abc import Iterator, Mapping

from agents.config import FLAT_COST_KEYS, AgentConfig
from agents.prompt import variables
from crew.config.crew_file import CrewConfig
from crew.config.loader import CrewFiles
from crew.config.problems import Problem
from crew.config.yaml_reader import Document, Path
from crew.routing.graph import RoutingGraph, group_origins


def inert(
    files: CrewFiles, crew: CrewConfig, graph: RoutingGraph, tools: Mapping[str, object]
) -> Iterator[Problem]:
    """A warning for each.

    Args:
        files: of a crew without errors.
        crew: its crew.yaml.
        graph: its routing.
        tools: by name; made, or as tools.yaml has them.
    """
    listed = [(files.agents[agent_id], files.agent_files[agent_id]) for agent_id in crew.agents]
    for agent, document in listed:
        yield from _models(agent, document)
        yield from _costs(agent, document)
        yield from _prompts(agent, document, crew)
        if agent.tool_call_mode != "auto" and not agent.tools:
            yield _without_effect(document, ("tool_call_mode",), "it has no tools")
    yield from _unused(files, crew, [agent for agent, _ in listed])
    yield from _Routes(files, crew, graph, tools).problems()


def _without_effect(document: Document, path: Path, why: str, what: str | None = None) -> Problem:
    return document.problem(
        path, "ignored-key", f"{what or path[-1]} has no effect: {why}", key=True
    )


def _models(agent: AgentConfig, document: Document) -> Iterator[Problem]:
    for key in ("model", "provider", "provider_url"):
        if agent.primary is not None and key in document.data:
            yield _without_effect(document, (key,), "primary is given")
    for path, model in (
        ((), None if agent.primary else agent),
        (("primary",), agent.primary),
        (("backup",), agent.backup),
    ):
        if model is not None and model.provider == "scripted" and model.provider_url is not None:
            yield _without_effect(
                document, (*path, "provider_url"), "the scripted provider has no address"
            )


def _costs(agent: AgentConfig, document: Document) -> Iterator[Problem]:
    limits = agent.cost_limits

    nested = document.data.get("cost_limits") or {}
    for flat, key in FLAT_COST_KEYS.items():
        if flat in document.data and key in nested:
            yield _without_effect(document, (flat,), f"cost_limits has {key} too")

    def place(key: str, flat: str) -> Path:
        return (flat,) if flat in document.data and key not in nested else ("cost_limits", key)

    priced = limits.input_token_price_per_million or limits.output_token_price_per_million
    daily = limits.max_tokens_per_day is not None or limits.max_cost_per_day_usd is not None
    if limits.max_cost_per_day_usd is not None and not priced:
        why = "without input_token_price_per_million and output_token_price_per_million every call costs nothing"
        yield _without_effect(document, place("max_cost_per_day_usd", "max_cost_per_day"), why)
    if "alert_threshold" in limits.model_fields_set and not daily:
        yield _without_effect(
            document, place("alert_threshold", "cost_alert_threshold"), "there is no limit of a day"
        )
    if limits.block_on_cost_exceed and not daily and limits.max_tokens_per_call is None:
        key = "enforce" if "enforce" in nested else "block_on_cost_exceed"
        yield _without_effect(document, place(key, "enforce_cost_limits"), "there is no limit")


def _prompts(agent: AgentConfig, document: Document, crew: CrewConfig) -> Iterator[Problem]:
    used = variables(agent.system_prompt)
    if agent.system_prompt.strip() and agent.backstory.strip() and "backstory" not in used:
        yield _without_effect(
            document, ("backstory",), "system_prompt does not have {{backstory}} in it"
        )
    filled = {
        "description": (agent.description, "description is not given"),
        "backstory": (agent.backstory, "backstory is not given"),
        "organization": (
            crew.settings.organization,
            "settings.organization is not given in crew.yaml",
        ),
        "tools": (agent.tools, "it has no tools"),
        "signals": (crew.routing.signals.get(agent.id), "it has no signals"),
    }
    for key, text in (("system_prompt", agent.system_prompt), ("backstory", agent.backstory)):
        for name in dict.fromkeys(variables(text)):
            value, why = filled.get(name, ("given", ""))
            if not value:
                yield document.problem(
                    (key,), "empty-variable", f"{{{{{name}}}}} is filled with nothing: {why}"
                )


def _unused(files: CrewFiles, crew: CrewConfig, agents: list[AgentConfig]) -> Iterator[Problem]:
    tools = {name for agent in agents for name in agent.tools}
    for name in files.tools:
        if name not in tools:
            yield files.tool_files[name].problem(
                ("tools", name), "unused-tool", f"no agent has the tool {name}", key=True
            )
    asked = {
        model.provider
        for agent in agents
        for model in (agent.primary or agent, agent.backup)
        if model is not None
    }
    for name, provider in crew.providers.items():
        path = ("providers", name)
        if name not in asked:
            text = f"no agent asks the provider {name}"
            yield files.crew_document.problem(path, "unused-provider", text, key=True)
        elif name == "scripted":
            for key in sorted(provider.model_fields_set - {"max_retries"}):
                yield _without_effect(
                    files.crew_document, (*path, key), "the scripted provider has no address"
                )


class _Routes:
    """Ways that are configured and never looked at, because something else comes first."""

    def __init__(
        self, files: CrewFiles, crew: CrewConfig, graph: RoutingGraph, tools: Mapping[str, object]
    ) -> None:
        self.made = tools
        self.files, self.crew, self.routing = files, crew, graph.routing
        self.entered, self.unreachable = graph.entered, frozenset(graph.unreachable())
        origins = group_origins(self.routing)
        # who says where a group goes on that nothing else decides
        self.origins = {
            agent
            for name, found in origins.items()
            if self.routing.groups[name].next_agent is None
            for agent in found
        }
        self.groups: dict[str, list[str]] = {}
        for group in self.routing.groups.values():
            for member in group.agents:
                self.groups.setdefault(member, []).append(group.name)

    def problems(self) -> Iterator[Problem]:
        """All of them."""
        for agent_id in self.crew.agents:
            if agent_id not in self.unreachable:
                yield from self._agent(agent_id)
        for group in self.routing.groups.values():
            members = (
                route for member in group.agents for route in self.routing.routes.get(member, ())
            )
            if (
                group.next_agent is None
                and not group.wait_for_all
                and not any(route.target for route in members)
            ):
                why = "none of its members has a signal with a target, and it has no next_agent; so all are waited for"
                path = ("routing", "parallel_groups", group.name, "wait_for_all")
                yield self.files.crew_document.problem(
                    path, "undecided-group", f"no answer can decide where {group.name} goes: {why}"
                )

    def _agent(self, agent_id: str) -> Iterator[Problem]:
        routing = self.routing
        waits, terminal = agent_id in routing.waits, agent_id in routing.terminal
        if agent_id not in self.entered:
            yield from self._member(agent_id)
        elif waits and not routing.routes.get(agent_id) and agent_id not in routing.wait_seconds:
            text = f"{agent_id} waits for a signal and has none: it pauses after every answer, and the run never goes on from it"
            path = ("routing", "agent_behaviors", agent_id, "wait_for_signal")
            yield self.files.crew_document.problem(path, "endless-pause", text)
        yield from self._deadline(agent_id)
        if agent_id in self.entered and waits and terminal:
            yield from self._terminal(agent_id, "wait_for_signal comes first")
        if agent_id in self.origins or (agent_id in self.entered and not waits and not terminal):
            yield from self._shadowed(agent_id)
        else:
            groups = ", ".join(self.groups.get(agent_id, ()))
            why = f"{agent_id} waits for a signal" if waits else f"{agent_id} is terminal"
            yield from self._fallbacks(
                agent_id, why if agent_id in self.entered else f"{agent_id} speaks only in {groups}"
            )

    def _deadline(self, agent_id: str) -> Iterator[Problem]:
        """How long a pause waits, for an agent that never pauses.

        Where it leads, without an end to the waiting.
        """
        behavior = self.crew.routing.agent_behaviors.get(agent_id)
        if behavior is None:
            return
        path: Path = ("routing", "agent_behaviors", agent_id)
        waits, limited = agent_id in self.routing.waits, behavior.wait_timeout_seconds is not None
        if limited and (agent_id not in self.entered or not (waits or self._asks(agent_id))):
            why = f"{agent_id} never pauses: no wait_for_signal, and no tool that requires approval"
            yield _without_effect(self.files.crew_document, (*path, "wait_timeout_seconds"), why)
        if behavior.on_wait_timeout and not (limited and waits):
            why = (
                "wait_timeout_seconds is not given"
                if not limited
                else f"{agent_id} waits for a yes only, which is a no then"
            )
            yield _without_effect(self.files.crew_document, (*path, "on_wait_timeout"), why)

    def _asks(self, agent_id: str) -> bool:
        named = self.files.agents[agent_id].tools
        return any(getattr(self.made.get(name), "requires_approval", None) for name in named)

    def _member(self, agent_id: str) -> Iterator[Problem]:
        """What has no effect on an agent that only speaks in groups."""
        groups = self.groups[agent_id]
        why = f"{agent_id} speaks only in {', '.join(groups)}, whose members neither pause nor end a run"
        if agent_id in self.routing.waits:
            yield _without_effect(
                self.files.crew_document,
                ("routing", "agent_behaviors", agent_id, "wait_for_signal"),
                why,
            )
        if agent_id in self.routing.terminal:
            yield from self._terminal(agent_id, why)
        if self.routing.routes.get(agent_id) and all(
            self.routing.groups[name].next_agent is not None for name in groups
        ):
            why = f"{agent_id} speaks only in {', '.join(groups)}, and next_agent decides there"
            # the agent is told of them all the same
            text = f"the signals of {agent_id} lead nowhere: {why}"
            yield self.files.crew_document.problem(
                ("routing", "signals", agent_id), "ignored-key", text, key=True
            )

    def _shadowed(self, agent_id: str) -> Iterator[Problem]:
        """Of the ways that need no signal, the first that is given is taken."""
        targets = self.routing.handoff_targets.get(agent_id)
        if agent_id in self.routing.defaults:
            yield from self._fallbacks(agent_id, "routing.defaults comes first", default=False)
            return
        if targets is not None:
            yield from self._fallbacks(
                agent_id, "handoff_targets are given", default=False, target=False
            )
        signalled = {route.target for route in self.routing.routes.get(agent_id, ())}
        others = [
            (place, target) for place, target in enumerate(targets or ()) if target != agent_id
        ]
        for place, target in others[1:]:
            if target not in signalled and target != others[0][1]:
                text = f"{target} is never reached from here: only the first of handoff_targets is taken without a signal"
                yield self.files.agent_files[agent_id].problem(
                    ("handoff_targets", place), "ignored-key", text
                )

    def _fallbacks(
        self, agent_id: str, why: str, *, default: bool = True, target: bool = True
    ) -> Iterator[Problem]:
        crew, routing = self.files.crew_document, self.routing
        if default and agent_id in routing.defaults:
            yield _without_effect(
                crew, ("routing", "defaults", agent_id), why, f"the default of {agent_id}"
            )
        if target and routing.handoff_targets.get(agent_id):
            yield _without_effect(self.files.agent_files[agent_id], ("handoff_targets",), why)
        if agent_id in routing.no_auto_route:
            yield _without_effect(crew, ("routing", "agent_behaviors", agent_id, "auto_route"), why)

    def _terminal(self, agent_id: str, why: str) -> Iterator[Problem]:
        agent = self.files.agents[agent_id]
        # it also says where a run starts, if nothing else does, and what a built prompt tells
        if self.crew.entry_point is None or not agent.system_prompt.strip():
            return
        if agent.is_terminal:
            yield _without_effect(self.files.agent_files[agent_id], ("is_terminal",), why)
        else:
            yield _without_effect(
                self.files.crew_document,
                ("routing", "agent_behaviors", agent_id, "is_terminal"),
                why,
            )
