"""What may take a unit: models are scripted along the graph."""

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from crew.assembly.checked import Checked
from crew.rehearsal.covering.units import Unit
from crew.rehearsal.suggesting.cases import SuggestedCase
from crew.rehearsal.suggesting.words import BY_WORDS, TEXT, NoWords, PathWords
from crew.routing.graph import Edge, RoutingGraph
from crew.routing.steps import Group
from tools.definition import Tool
from tools.schemas.samples import sample_arguments

RESULT = "a suggested result"
# what a primary model fails by: other codes are retried first
FAILURE = "refused"


@dataclass(frozen=True, slots=True)
class Drafts:
    """Makes drafts for a crew without errors."""

    checked: Checked
    graph: RoutingGraph

    @property
    def _words(self) -> PathWords:
        return PathWords(self.checked.files, self.graph)

    def for_unit(self, unit: Unit) -> Iterator[SuggestedCase]:
        """Yield what may lead to a unit; whether it does shows when it is played."""
        try:
            yield from self._drafts(unit)
        except NoWords:
            return

    def _drafts(self, unit: Unit) -> Iterator[SuggestedCase]:
        match unit.key.split():
            case ["route", *_] if unit.edge is not None:
                yield from self._along(unit.edge)
            case ["pause", agent, way]:
                yield from self._pause(agent, way)
            case ["approval", tool, way]:
                yield from self._call(tool, way)
            case ["kill", tool]:
                yield from self._call(tool, "killed")
            case ["limit", "max_handoffs"]:
                yield from self._loop()
            case ["limit", "max_rounds"]:
                yield from self._rounds()
            case ["limit", group, "timeout"]:
                yield from self._late(self.graph.routing.groups[group])
            case ["limit", group, "failed"]:
                yield from self._failed(self.graph.routing.groups[group])
            case ["backup", agent]:
                yield from self._backup(agent)

    def _along(self, edge: Edge) -> Iterator[SuggestedCase]:
        before = self._words.path(self.graph.entry_point, edge.from_)
        if before is None or edge.kind not in BY_WORDS:
            return
        after = self._words.path_out(edge.to)
        yield self._speaking([*before, edge, *after])
        if edge.kind == "order":
            # it leads only to agents that were not visited: others may have to be first
            for round_ in self._loops(edge.from_):
                yield self._speaking([*before, *round_, edge, *after])

    def _speaking(self, path: list[Edge]) -> SuggestedCase:
        case = SuggestedCase()
        self._words.speak_along(case, path)
        return case

    def _pause(self, agent: str, way: str) -> Iterator[SuggestedCase]:
        before = self._words.path(self.graph.entry_point, agent)
        if before is None:
            return
        case = self._speaking(before)
        self._words.speak_or_pause(case, agent)
        if way == "nobody":
            seconds = self.graph.routing.wait_seconds[agent]
            case.answers.append({"nobody": f"{seconds + 1:g}s"})
            yield case
            return
        case.answers.append(TEXT)
        self._leave(case, agent)
        yield case

    def _leave(self, case: SuggestedCase, start: str) -> None:
        """Move a run from an agent or a group to an end; where it has none, say something."""
        path = self._words.path_out(start)
        self._words.speak_along(case, path)
        if not path and start not in self.graph.routing.groups:
            self._words.speak(case, start)

    def _reaching(self, agent: str) -> tuple[SuggestedCase, str] | None:
        """Return what leads to an agent, and where the run is then: at it, or at its group."""
        before = self._words.path_to(agent)
        if before is None:
            return None
        return self._speaking(before), before[-1].to if before else self.graph.entry_point

    def _call(self, name: str, way: str) -> Iterator[SuggestedCase]:
        tool = self.checked.tools.by_name[name]
        for agent_id, agent in self.checked.files.agents.items():
            if name not in agent.tool_names or (found := self._reaching(agent_id)) is None:
                continue
            case, place = found
            arguments = sample_arguments(tool.parameters)
            case.say(agent_id, {"calls": [{"tool": name, "arguments": arguments}]})
            case.answers += _answers(tool, way, arguments)
            if way in ("approved", "edited", "killed"):
                case.returns[name] = RESULT
            if way == "killed":
                case.faults.append({"kill": "during", "event": "tool_start", "tool": name})
            self._leave(case, place)
            yield case

    def _loop(self) -> Iterator[SuggestedCase]:
        """Move a run round a loop until it has made one handoff too many."""
        crew = self.checked.files.crew
        assert crew is not None, "only of a crew without errors"
        most = crew.settings.max_handoffs
        for first in {loop[0] for loop in self.graph.loops()}:
            before = self._words.path(self.graph.entry_point, first)
            for round_ in self._loops(first) if before is not None else ():
                path = itertools.chain(before or (), itertools.cycle(round_))
                yield self._speaking(list(itertools.islice(path, most + 1)))

    def _loops(self, start: str) -> Iterator[list[Edge]]:
        """Yield the paths of the loops through an agent or a group that words lead along."""
        for loop in self.graph.loops():
            if start not in loop:
                continue
            place = loop.index(start)
            names = [*loop[place:-1], *loop[: place + 1]]
            steps = [self._words.path(*pair) for pair in itertools.pairwise(names)]
            if all(steps):
                yield [edge for one in steps for edge in one or ()]

    def _rounds(self) -> Iterator[SuggestedCase]:
        """Let an agent call a tool until it may no more."""
        crew = self.checked.files.crew
        assert crew is not None, "only of a crew without errors"
        settings = crew.settings
        for agent_id in crew.agents:
            agent = self.checked.files.agents[agent_id]
            before = self._words.path(self.graph.entry_point, agent_id)
            tools = self.checked.tools.named(agent.tool_names)
            plain = [one for one in tools.values() if not one.agent_id]
            # rather one that needs no approval
            plain.sort(key=lambda one: one.approval is not None)
            if before is None or agent.on_limit == "answer":
                continue
            most = agent.max_rounds or settings.max_rounds
            varies = settings.max_same_calls is not None and settings.max_same_calls < most
            # the crew's limit counts the agents before it, too
            for tool, before_it in itertools.product(plain, dict.fromkeys((len(before), 0))):
                case = self._speaking(before)
                for number in range(most - before_it):
                    arguments = sample_arguments(tool.parameters)
                    given = _varied(arguments, number) if varies else arguments
                    case.say(agent_id, {"calls": [{"tool": tool.name, "arguments": given}]})
                    case.answers += _answers(tool, "approved", given)
                case.returns[tool.name] = RESULT
                yield case

    def _late(self, group: Group) -> Iterator[SuggestedCase]:
        """Let a member of a group answer when its time is over."""
        before = self._words.path(self.graph.entry_point, group.name)
        if before is None:
            return
        late, *others = group.agents
        for speaks in (True, False):
            case = self._speaking(before)
            case.say(late, {"say": TEXT, "seconds": f"{group.timeout_seconds + 1:g}s"})
            for one in others:
                self._words.speak(case, one)
            self._go_on(case, group, speaks=speaks)
            yield case

    def _failed(self, group: Group) -> Iterator[SuggestedCase]:
        """Let the models of all members of a group fail."""
        before = self._words.path(self.graph.entry_point, group.name)
        if before is None:
            return
        for speaks in (True, False):
            case = self._speaking(before)
            for one in group.agents:
                has_backup = self.checked.files.agents[one].backup is not None
                case.say(one, {"fail": FAILURE}, 1 + has_backup)
            self._go_on(case, group, speaks=speaks)
            yield case

    def _go_on(self, case: SuggestedCase, group: Group, *, speaks: bool) -> None:
        """Move a run from a group that has ended to an end, if an agent speaks after it."""
        path = self._words.path_out(group.name)
        if speaks and path:
            self._words.speak_along(case, path[1:])

    def _backup(self, agent: str) -> Iterator[SuggestedCase]:
        if (found := self._reaching(agent)) is None:
            return
        case, place = found
        case.faults.append({"model": agent, "fail": FAILURE})
        self._leave(case, place)
        yield case


def _varied(arguments: Mapping[str, Any], number: int) -> dict[str, Any]:
    """Return arguments that no other call has: the first text or number is another one."""
    for name, value in arguments.items():
        if isinstance(value, str):
            return {**arguments, name: f"{value} {number}"}
        if isinstance(value, int | float) and not isinstance(value, bool):
            return {**arguments, name: value + number}
    return dict(arguments)


def _answers(tool: Tool, way: str, arguments: Mapping[str, Any]) -> list[Any]:
    """Return what people say about a call."""
    seconds = tool.approval.deadline_seconds if tool.approval is not None else None
    approve = [{"approve": True}] if tool.approval is not None else []
    by_way: dict[str, list[Any]] = {
        "approved": approve,
        "denied": [{"deny": "not now"}],
        "edited": [{"edit": dict(arguments)}],
        "deadline": [{"nobody": f"{(seconds or 0) + 1:g}s"}],
        "killed": [*approve, {"skip": True}],
    }
    return by_way[way]
