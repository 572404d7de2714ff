"""The routing graph: what cannot be reached or left, loops, and rules that never apply."""

from collections.abc import Iterator, Sequence

from crew.config.crew_files import CrewFiles
from crew.config.files.document import YamlPath
from crew.config.files.sources import CREW_FILE, TOOLS_FILE
from crew.config.keys.crew_file import CrewConfig
from crew.config.outputs import ROUTES
from crew.config.problems import Problem, ProblemCode
from crew.routing.graph import RoutingGraph
from crew.routing.members import member_transitions
from crew.routing.rules import Routing, Rule, RuleKey, rules_in_use

# with one of these the graph is not the one that is meant
HIDING: frozenset[ProblemCode] = frozenset(
    {
        "missing-agent",
        "unknown-agent",
        "agent-twice",
        "agent-listed-twice",
        "empty-group",
        "group-name",
        "member-twice",
        "signal-twice",
        "empty-signal",
        "terminal-disagreement",
        "output-agent",
        "output-field",
        "output-schema",
        "output-signals",
        "output-value",
        "plan-output",
        "plan-worker",
        "when-text",
    }
)
BEHAVIORS: YamlPath = ("routing", "agent_behaviors")


def is_routing_whole(files: CrewFiles, problems: Sequence[Problem]) -> bool:
    """Return whether the graph is the one that is meant: nothing that shapes it is wrong."""
    crew = files.crew
    assert crew is not None, "asked by the caller"
    if not files.is_whole(CREW_FILE, "agents", "entry_point", "routing"):
        return False
    if any(problem.code in HIDING for problem in (*files.problems, *problems)):
        return False
    for agent_id in crew.agents:
        if agent_id not in files.agents:
            return False
        file = files.agent_files[agent_id].file
        if not files.is_whole(
            file, "id", "handoff_targets", "is_terminal", "output", "plan", "on_invalid"
        ):
            return False
    return True


def check_graph(files: CrewFiles, crew: CrewConfig, graph: RoutingGraph) -> Iterator[Problem]:
    """Yield what the graph shows: unreachable agents, traps, loops, limits that are too low."""
    document = files.crew_document
    places: dict[str, YamlPath] = {name: ("agents", n) for n, name in enumerate(crew.agents)}
    for name in graph.unreachable():
        path = places.get(name, ("routing", "parallel_groups", name))
        is_group = name not in places
        text = f"nothing leads to {name}"
        yield document.problem(path, "unreachable", text, key=is_group)
    traps = graph.traps()
    for trap in traps:
        text = f"{', '.join(trap)} can be entered and never left; give one of them a signal without"
        text = f"{text} target, a target outside, or is_terminal"
        yield document.problem(places.get(trap[0], ("routing",)), "trap", text)
    limit = crew.settings.max_handoffs
    for loop in graph.loops():
        if any(set(loop) <= set(trap) for trap in traps):
            continue
        text = f"a loop: {' → '.join(loop)}; settings.max_handoffs = {limit} bounds it"
        yield document.problem(places.get(loop[0], ("routing",)), "loop", text)
    fewest = graph.fewest_handoffs()
    if fewest is not None and fewest > limit:
        text = f"the shortest way to an end takes {fewest} handoffs"
        text = f"{text}; settings.max_handoffs = {limit} ends every run before it"
        path = ("settings", "max_handoffs") if "settings" in document.data else ()
        yield document.problem(path, "few-handoffs", text)


def check_routes(files: CrewFiles, crew: CrewConfig, graph: RoutingGraph) -> Iterator[Problem]:
    """Yield rules that never apply, though each key is right by itself.

    And answers without a rule.
    """
    checks = _Routes(files, crew, graph)
    unreachable = frozenset(graph.unreachable())
    for agent_id in crew.agents:
        if agent_id not in unreachable:
            yield from checks.agent(agent_id)
    yield from checks.groups()


class _Routes:
    """The rules of each agent, as the graph reaches it."""

    def __init__(self, files: CrewFiles, crew: CrewConfig, graph: RoutingGraph) -> None:
        self.files, self.crew, self.graph = files, crew, graph
        self.document = files.crew_document
        self.routing: Routing = graph.routing
        self.entered = graph.entered
        # agents whose rules decide after a group
        self.origins: set[str] = set()
        for name, group in self.routing.groups.items():
            if group.next_agent is None:
                self.origins |= graph.origins.get(name, set())
        # where the order of the list leads first from each agent
        self.next_in_order: dict[str, str] = {}
        for edge in graph.edges:
            if edge.kind == "order":
                self.next_in_order.setdefault(edge.from_, edge.to)
        self.groups_of: dict[str, list[str]] = {}
        for group in self.routing.groups.values():
            for member in group.agents:
                self.groups_of.setdefault(member, []).append(group.name)
        for planner, plan in self.routing.plans.items():
            for worker in plan.workers:
                self.groups_of.setdefault(worker, []).append(planner)
        for agent, others in self.routing.tools.items():
            for other in others:
                self.groups_of.setdefault(other, []).append(agent)

    def agent(self, agent_id: str) -> Iterator[Problem]:
        """Yield what is wrong with one agent's rules."""
        rules = self.routing.rules[agent_id]
        if agent_id in self.entered:
            yield from self._endless_pause(agent_id)
            yield from self._falls_through(agent_id)
            used = rules_in_use(rules)
        else:
            yield from self._signals_of_member(agent_id)
            used = []
        if agent_id in self.origins:
            used += rules_in_use(self.routing.rules_after_group(agent_id))
        for rule in rules:
            if rule.key and rule not in used and rule.key not in ("outputs", "signals"):
                yield from self._never_applies(agent_id, rule.key, self._why(agent_id, rules))
        yield from self._timeouts(agent_id)
        yield from self._further_targets(agent_id, used)

    def groups(self) -> Iterator[Problem]:
        """Yield groups that wait for a decision which no answer can make."""
        for group in self.routing.groups.values():
            routes = [r for m in group.agents for r in member_transitions(self.routing, m)]
            decides = group.next_agent is not None or any(route.target for route in routes)
            if group.wait_for_all or decides:
                continue
            text = f"no answer can decide where {group.name} leads: none of its members has a"
            text = (
                f"{text} signal or rule with a target, nor it a next_agent; so all are waited for"
            )
            path = ("routing", "parallel_groups", group.name, "wait_for_all")
            yield self.document.problem(path, "undecided-group", text)

    def _why(self, agent_id: str, rules: Sequence[Rule]) -> str:
        """Return why later rules of an agent never apply."""
        if agent_id not in self.entered:
            groups = ", ".join(self.groups_of[agent_id])
            return f"{agent_id} speaks only in {groups}, whose members neither pause nor end a run"
        first = next(rule for rule in rules if not rule.conditional)
        words: dict[RuleKey, str] = {
            "plan": f"the plan of {agent_id} leads on (plan.then)",
            "outputs": "a rule of routing.outputs without `when` always fits",
            "wait_for_signal": f"{agent_id} waits for a signal",
            "is_terminal": f"{agent_id} is terminal",
            "defaults": "routing.defaults comes first",
            "handoff_targets": "handoff_targets are given",
        }
        return words[first.key]

    def _never_applies(self, agent_id: str, key: RuleKey, why: str) -> Iterator[Problem]:
        agent, document = self.files.agents[agent_id], self.files.agent_files[agent_id]
        match key:
            case "defaults":
                path: YamlPath = ("routing", "defaults", agent_id)
                yield no_effect(self.files, path, why, f"the default of {agent_id}")
            case "handoff_targets":
                if agent.handoff_targets:
                    text = f"handoff_targets has no effect: {why}"
                    yield document.problem((key,), "ignored-key", text, key=True)
            case "is_terminal":
                # it also says where a run starts, and what a built prompt says
                if self.crew.entry_point is None or not agent.system_prompt.strip():
                    return
                if agent.is_terminal:
                    text = f"is_terminal has no effect: {why}"
                    yield document.problem((key,), "ignored-key", text, key=True)
                else:
                    yield no_effect(self.files, (*BEHAVIORS, agent_id, key), why)
            case _:
                yield no_effect(self.files, (*BEHAVIORS, agent_id, key), why)

    def _endless_pause(self, agent_id: str) -> Iterator[Problem]:
        routing = self.routing
        waits = agent_id in routing.waits and agent_id not in routing.wait_seconds
        if waits and not routing.routes.get(agent_id) and not routing.outputs.get(agent_id):
            text = f"{agent_id} waits for a signal and has none: it pauses after every answer,"
            text = f"{text} and the run never goes on from it"
            path = (*BEHAVIORS, agent_id, "wait_for_signal")
            yield self.document.problem(path, "endless-pause", text)

    def _falls_through(self, agent_id: str) -> Iterator[Problem]:
        """Yield an agent with signals that goes on in the list when it forgets one."""
        following = self.next_in_order.get(agent_id)
        if following is not None and self.routing.routes.get(agent_id):
            text = f"without a signal in its answer {agent_id} hands over to {following}, the"
            text = f"{text} next in the list; give it wait_for_signal, a default or handoff_targets"
            path = ("routing", "signals", agent_id)
            yield self.document.problem(path, "falls-through", text, key=True)

    def _timeouts(self, agent_id: str) -> Iterator[Problem]:
        """Yield a wait timeout of an agent that never pauses.

        Pauses that can go on without an end.
        """
        behavior = self.crew.routing.agent_behaviors.get(agent_id)
        if behavior is None:
            return
        path = (*BEHAVIORS, agent_id)
        entered = agent_id in self.entered
        waits = entered and agent_id in self.routing.pausing
        asks = entered and agent_id in self.routing.asks
        limited = behavior.wait_timeout_seconds is not None
        if limited and not waits and not asks and self._knows_tools(agent_id):
            why = f"{agent_id} never pauses: no wait_for_signal, and no tool that requires approval"
            yield no_effect(self.files, (*path, "wait_timeout_seconds"), why)
        if behavior.on_wait_timeout and not (limited and waits):
            why = "wait_timeout_seconds is not given"
            if limited:
                why = f"{agent_id} waits for approvals only, which are denied then"
            yield no_effect(self.files, (*path, "on_wait_timeout"), why)

    def _knows_tools(self, agent_id: str) -> bool:
        """Return whether nothing that is wrong may be a tool of an agent that requires approval."""
        own = self.files.agent_files[agent_id].file
        return all(self.files.is_whole(file, "tools") for file in (CREW_FILE, TOOLS_FILE, own))

    def _signals_of_member(self, agent_id: str) -> Iterator[Problem]:
        groups = self.groups_of[agent_id]
        known = [self.routing.groups[name] for name in groups if name in self.routing.groups]
        # what is said on a task decides nothing
        decided = all(group.next_agent is not None for group in known)
        document, agent = self.files.agent_files[agent_id], self.files.agents[agent_id]
        member = f"{agent_id} speaks only in {', '.join(groups)}"
        if agent.on_invalid:
            text = (
                f"on_invalid has no effect: {member}, where a member without an answer has failed"
            )
            yield document.problem(("on_invalid",), "ignored-key", text, key=True)
        for place, route in enumerate(self.routing.outputs.get(agent_id, ())):
            if route.pauses:
                path = (*ROUTES, agent_id, place, "pause")
                yield no_effect(self.files, path, f"{member}, where no member pauses")
        why = f"{member}, and next_agent decides there"
        for key, routes in (("signals", self.routing.routes), ("outputs", self.routing.outputs)):
            if decided and routes.get(agent_id):
                # its prompt mentions signals all the same
                text = f"the {key} of {agent_id} lead nowhere: {why}"
                path = ("routing", key, agent_id)
                yield self.document.problem(path, "ignored-key", text, key=True)

    def _further_targets(self, agent_id: str, used: Sequence[Rule]) -> Iterator[Problem]:
        """Yield agents with several handoff_targets: only the first is taken without a signal."""
        if not any(rule.key == "handoff_targets" for rule in used):
            return
        targets = self.routing.handoff_targets.get(agent_id) or ()
        signalled = {route.target for route in self.routing.routes.get(agent_id, ())}
        signalled |= {route.target for route in self.routing.outputs.get(agent_id, ())}
        others = [(place, one) for place, one in enumerate(targets) if one != agent_id]
        for place, target in others[1:]:
            if target not in signalled and target != others[0][1]:
                text = f"{target} is never reached from here:"
                text = f"{text} only the first of handoff_targets is taken without a signal"
                document = self.files.agent_files[agent_id]
                yield document.problem(("handoff_targets", place), "ignored-key", text)


def no_effect(files: CrewFiles, path: YamlPath, why: str, what: str | None = None) -> Problem:
    """Return a key of crew.yaml that has no effect.

    `what`: how it is called, unless by its own name.
    """
    text = f"{what or path[-1]} has no effect: {why}"
    return files.crew_document.problem(path, "ignored-key", text, key=True)
