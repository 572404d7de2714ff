"""What must hold between the files of a crew; every problem at once."""

import re
from collections.abc import Iterator, Mapping, Sequence

from agents.config import AgentConfig
from agents.prompt import VARIABLES, variables
from agents.providers.catalog import BUILTIN_PROVIDERS
from agents.providers.scripted import SCRIPT_FILE
from crew.config.checks.no_effect import inert
from crew.config.crew_file import CrewConfig
from crew.config.loader import CrewFiles, unknown
from crew.config.problems import Problem, failed
from crew.config.routing_plan import entry_point, routing_of
from crew.config.sources import TOOLS_FILE
from crew.config.yaml_reader import Path
from crew.routing.graph import RoutingGraph
from crew.routing.signals import Signal, normal
from tools.tool import Tool

# A bracketed word in capitals, as signals are written.
BRACKETED = re.compile(r"\[[^\[\]\n]{1,60}\]")
# an agent's signals are compared with each other up to so many: more than anybody writes, and no
# square of a hostile file
MAX_COMPARED = 500
SHELL_TOOLS = frozenset({"ExecuteCommand", "RunCommand", "Shell", "Bash"})


def validate(files: CrewFiles, tools: Mapping[str, Tool]) -> list[Problem]:
    """The problems between the files, on top of those in each (`files.problems`).

    Args:
        files: what was read.
        tools: every tool that agents may name; built-in ones too.
    """
    crew = files.crew
    if crew is None:
        return []
    declared = {**tools, **files.tools, **dict.fromkeys(_declared(files))}
    problems = [
        *_script(files, crew, declared),
        *_names(files, crew),
        *_agents(files, crew, tools, declared),
        *_groups(files, crew, tools),
        *_signals(files, crew),
    ]
    if not failed((*files.problems, *problems)):
        graph = RoutingGraph.of(routing_of(files), entry_point(files))
        problems += [
            *_graph(files, crew, graph),
            *inert(files, crew, graph, {**files.tools, **tools}),
        ]
    return problems


def _names(files: CrewFiles, crew: CrewConfig) -> Iterator[Problem]:
    """Names in crew.yaml that nothing has."""
    document, routing = files.crew_document, crew.routing
    agents = frozenset(crew.agents)
    targets = agents | frozenset(routing.parallel_groups)
    seen: set[str] = set()
    for place, name in enumerate(crew.agents):
        if name not in files.agent_files:
            known = frozenset(files.agent_files)
            problem = unknown(document, ("agents", place), "agent", name, known)
            text = f"agent {name} has no file agents/{name}.yaml"
            yield document.problem(
                ("agents", place), "missing-agent", text, suggestion=problem.suggestion
            )
        if name in seen:
            yield document.problem(
                ("agents", place), "agent-listed-twice", f"agent {name} is listed twice"
            )
        seen.add(name)
    named: list[tuple[Path, str | None, bool]] = [(("entry_point",), crew.entry_point, False)]
    named += [(("routing", "signals", name), name, True) for name in routing.signals]
    named += [(("routing", "defaults", name), name, True) for name in routing.defaults]
    named += [
        (("routing", "agent_behaviors", name), name, True) for name in routing.agent_behaviors
    ]
    for group, config in routing.parallel_groups.items():
        named += [
            (("routing", "parallel_groups", group, "agents", place), name, False)
            for place, name in enumerate(config.agents)
        ]
    for path, said, key in named:
        if said is not None and said not in agents:
            yield unknown(document, path, "agent", said, agents, key=key)
    aimed: list[tuple[Path, str | None]] = [
        (("routing", "defaults", name), target) for name, target in routing.defaults.items()
    ]
    for agent, signals in routing.signals.items():
        aimed += [
            (("routing", "signals", agent, place, "target"), signal.target)
            for place, signal in enumerate(signals)
        ]
    for group, config in routing.parallel_groups.items():
        aimed.append((("routing", "parallel_groups", group, "next_agent"), config.next_agent))
    for agent, behavior in routing.agent_behaviors.items():
        aimed.append(
            (("routing", "agent_behaviors", agent, "on_wait_timeout"), behavior.on_wait_timeout)
        )
    for aim, target in aimed:
        if target and target not in targets:
            yield unknown(document, aim, "agent or group", target, targets)


def _declared(files: CrewFiles) -> Iterator[str]:
    """Tools that the files name, also those whose entries are wrong.

    What is wrong with them is told once, there.
    """
    for document in (files.crew_document, files.documents.get(TOOLS_FILE)):
        said = (
            document.data.get("tools")
            if document is not None and isinstance(document.data, dict)
            else None
        )
        yield from said if isinstance(said, dict) else ()


def _script(files: CrewFiles, crew: CrewConfig, tools: Mapping[str, object]) -> Iterator[Problem]:
    """Names in script.yaml that nothing has, and a script that is missing."""
    document = files.documents.get(SCRIPT_FILE)
    for agent_id, agent in files.agents.items():
        if (agent.primary or agent).provider == "scripted" and document is None:
            text = f"provider scripted needs a {SCRIPT_FILE} beside crew.yaml"
            yield files.agent_files[agent_id].problem(("provider",), "no-script", text)
            break
    for place, rule in enumerate(
        files.script.rules if files.script is not None and document is not None else ()
    ):
        assert document is not None, "it was read"
        for name in rule.agent or ():
            if name not in crew.agents:
                yield unknown(
                    document, ("rules", place, "agent"), "agent", name, frozenset(crew.agents)
                )
        for number, call in enumerate(rule.calls):
            if call.tool not in tools:
                # a script may call what is not there, to see what a crew makes of it
                text = f"the script calls {call.tool}, a tool that is not there"
                near = document.near(call.tool, tools)
                yield document.problem(
                    ("rules", place, "calls", number), "script-tool", text, suggestion=near
                )


def _agents(
    files: CrewFiles, crew: CrewConfig, tools: Mapping[str, Tool], declared: Mapping[str, object]
) -> Iterator[Problem]:
    targets = frozenset(crew.agents) | frozenset(crew.routing.parallel_groups)
    providers = frozenset(BUILTIN_PROVIDERS) | frozenset(crew.providers)
    signals = frozenset(
        normal(signal.signal) for routes in crew.routing.signals.values() for signal in routes
    )
    listed = frozenset(crew.agents)
    for agent_id, agent in files.agents.items():
        document = files.agent_files[agent_id]
        if agent_id not in listed:
            yield document.problem(
                ("id",), "unused-agent", f"crew.yaml does not list agent {agent_id}"
            )
            continue
        for place, name in enumerate(agent.tools):
            if name in SHELL_TOOLS and name not in tools:
                text = f"unknown tool {name!r}: running a shell command is never built in; define what it may do in tools.yaml"
                yield document.problem(("tools", place), "unknown-tool", text)
            elif name not in declared:
                yield unknown(document, ("tools", place), "tool", name, declared)
        for place in _repeated(agent.tools):
            yield document.problem(
                ("tools", place), "tool-listed-twice", f"tool {agent.tools[place]} is listed twice"
            )
        for place, target in enumerate(agent.handoff_targets or ()):
            if target not in targets:
                yield unknown(
                    document, ("handoff_targets", place), "agent or group", target, targets
                )
        for at, model in (
            (("provider",), agent),
            (("primary", "provider"), agent.primary),
            (("backup", "provider"), agent.backup),
        ):
            if model is None:
                continue
            provider = model.provider
            if provider not in providers:
                yield unknown(document, at, "provider", provider, providers)
            elif provider not in BUILTIN_PROVIDERS and not (
                crew.providers[provider].base_url or model.provider_url
            ):
                text = f"provider {provider} has no address: give it a base_url in crew.yaml, or a provider_url here"
                yield document.problem(at, "provider", text)
        behavior = crew.routing.agent_behaviors.get(agent_id)
        if (
            behavior is not None
            and None not in (behavior.is_terminal, agent.is_terminal)
            and behavior.is_terminal != agent.is_terminal
        ):
            said_at = ("routing", "agent_behaviors", agent_id, "is_terminal")
            here, there = (
                "terminal" if said else "not terminal"
                for said in (behavior.is_terminal, agent.is_terminal)
            )
            text = f"{agent_id} is {here} here, and {there} in {document.file}"
            yield files.crew_document.problem(said_at, "terminal-disagreement", text)
        yield from _prompt(files, crew, agent, signals)


def _prompt(
    files: CrewFiles, crew: CrewConfig, agent: AgentConfig, known: frozenset[str]
) -> Iterator[Problem]:
    document = files.agent_files[agent.id]
    if not agent.system_prompt.strip() and not agent.backstory.strip():
        yield document.problem(
            (), "no-prompt", f"{agent.id} has neither system_prompt nor backstory"
        )
    for key, text in (("system_prompt", agent.system_prompt), ("backstory", agent.backstory)):
        for name in variables(text):
            if name not in VARIABLES:
                yield document.problem(
                    (key,),
                    "unknown-variable",
                    f"{{{{{name}}}}} stays as written; known: {', '.join(VARIABLES)}",
                )
    signals = crew.routing.signals.get(agent.id, ())
    words = dict.fromkeys(
        word
        for word in BRACKETED.findall(agent.system_prompt)
        if word.upper() == word and any(c.isalpha() for c in word)
    )
    for word in words:
        if normal(word) not in known:
            yield document.problem(
                ("system_prompt",),
                "unknown-signal",
                f"the prompt speaks of {word}, which no route knows",
            )
    if crew.settings.route_hints == "never" and "signals" not in variables(agent.system_prompt):
        prompt = normal(agent.system_prompt)
        for place, signal in enumerate(signals):
            if not Signal.of(signal.signal).occurs(prompt):
                path = ("routing", "signals", agent.id, place, "signal")
                text = f"the prompt of {agent.id} never mentions {signal.signal}, and route_hints is never"
                yield files.crew_document.problem(path, "unmentioned-signal", text)


def _groups(files: CrewFiles, crew: CrewConfig, tools: Mapping[str, Tool]) -> Iterator[Problem]:
    document = files.crew_document
    for name, group in crew.routing.parallel_groups.items():
        path: Path = ("routing", "parallel_groups", name)
        if name in crew.agents:
            yield document.problem(path, "group-name", f"{name} is an agent's name too", key=True)
        if not group.agents:
            yield document.problem((*path, "agents"), "empty-group", f"group {name} has no agents")
        for place in _repeated(group.agents):
            yield document.problem(
                (*path, "agents", place),
                "member-twice",
                f"{group.agents[place]} is in group {name} twice",
            )
        for place, member in enumerate(group.agents):
            for tool in files.agents[member].tools if member in files.agents else ():
                made, written = tools.get(tool), files.tools.get(tool)
                if (made is not None and made.requires_approval) or (
                    written is not None and written.requires_approval
                ):
                    text = f"{member} has the tool {tool}, which requires approval; a member of a group cannot wait for a person"
                    yield document.problem((*path, "agents", place), "approval-in-group", text)


def _repeated(names: Sequence[str]) -> Iterator[int]:
    """The places of names that stand further up already."""
    seen: set[str] = set()
    for place, name in enumerate(names):
        if name in seen:
            yield place
        seen.add(name)


def _signals(files: CrewFiles, crew: CrewConfig) -> Iterator[Problem]:
    document = files.crew_document
    for agent, routes in crew.routing.signals.items():
        signals = [Signal.of(route.signal) for route in routes]
        first: dict[str, Signal] = {}
        for place, signal in enumerate(signals):
            path = ("routing", "signals", agent, place, "signal")
            if not signal.normal:
                yield document.problem(path, "empty-signal", "a signal needs a text")
                continue
            if (same := first.setdefault(signal.normal, signal)) is not signal:
                text = f"{agent} has the signal {same.text!r} already, with the same text but for case and spaces"
                yield document.problem(path, "signal-twice", text)
                continue
            for other in signals[:place] if len(signals) <= MAX_COMPARED else ():
                if other.occurs(signal.normal) or signal.occurs(other.normal):
                    text = f"where one of {other.text!r} and {signal.text!r} is written, both are found; the first in this list wins"
                    yield document.problem(path, "signal-in-signal", text)


def _graph(files: CrewFiles, crew: CrewConfig, graph: RoutingGraph) -> Iterator[Problem]:
    document = files.crew_document
    place = {name: ("agents", number) for number, name in enumerate(crew.agents)}
    for name in graph.unreachable():
        path: Path = place.get(name, ("routing", "parallel_groups", name))
        yield document.problem(
            path, "unreachable", f"nothing leads to {name}", key=name not in place
        )
    traps = graph.traps()
    for trap in traps:
        remedy = "give one of them a signal without target, a target outside, or is_terminal"
        text = f"{', '.join(trap)} can be entered and never left; {remedy}"
        yield document.problem(place.get(trap[0], ("routing",)), "trap", text)
    for loop in graph.loops():
        if any(set(loop) <= set(trap) for trap in traps):
            continue
        bound = f"settings.max_handoffs = {crew.settings.max_handoffs} bounds it"
        yield document.problem(
            place.get(loop[0], ("routing",)), "loop", f"a loop: {' → '.join(loop)}; {bound}"
        )
