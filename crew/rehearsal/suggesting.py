"""A rehearsal for what none checks: its models are scripted along the graph, and it is played."""

import itertools
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import networkx as nx

from crew.config.files.yaml_reader import read
from crew.journal.events import RunFailed
from crew.rehearsal.covering.taken import taken_units
from crew.rehearsal.covering.units import Unit
from crew.rehearsal.files.bound import Case, bind_case
from crew.rehearsal.files.cases import RawCase
from crew.rehearsal.files.nodes import node_of
from crew.rehearsal.judging.story import Story
from crew.rehearsal.judging.verdict import judge
from crew.rehearsal.playing.loaded import LoadedCrew
from crew.rehearsal.playing.player import Played, play_case
from crew.rehearsal.playing.suite import quiet
from crew.rehearsal.playing.updates import written_step
from crew.routing.graph import END, Edge, RoutingGraph
from tools.definition import Tool
from tools.schemas.samples import sample_arguments
from tools.text.yaml_text import to_yaml

FILE = "tests/suggested.yaml"
TEXT, QUERY, RESULT = "Suggested.", "Suggested by crew test", "a suggested result"
# why each fails until a person has looked at it
CHECK = "check me"
# ways that a text alone decides
BY_TEXT = frozenset({"signal", "default", "handoff_target", "order", "group"})


@dataclass(slots=True)
class SuggestedCase:
    """What models, people and tools of a rehearsal do."""

    says: dict[str, list[Any]] = field(default_factory=lambda: defaultdict(list))
    answers: list[Any] = field(default_factory=list)
    returns: dict[str, Any] = field(default_factory=dict)
    faults: list[Any] = field(default_factory=list)

    def case(self, name: str, env: Mapping[str, str], expect: Mapping[str, Any]) -> dict[str, Any]:
        """Return the rehearsal."""
        keys = {
            "env": dict(env),
            "says": dict(self.says),
            "returns": self.returns,
            "answers": self.answers,
            "faults": self.faults,
        }
        given = {key: value for key, value in keys.items() if value}
        return {"name": name, "query": QUERY, **given, "expect": dict(expect)}


@dataclass(frozen=True, slots=True)
class Suggester:
    """Suggests rehearsals for a crew without errors."""

    loaded: LoadedCrew
    units: Sequence[Unit]
    graph: RoutingGraph
    # variables with which the crew loads
    env: Mapping[str, str]

    def suggest(self, unit: Unit) -> dict[str, Any] | None:
        """Return a rehearsal that takes a unit and checks it; None: none was found."""
        for draft in self._drafts(unit):
            name = f"suggested: {unit.text}"
            played = self._play(draft.case(name, self.env, {"end": "terminal"}))
            if played is None:
                continue
            case = draft.case(name, self.env, expected_of_play(played))
            again = self._play(case)
            if again is None or judge(again, (), {}).mismatches:
                continue
            turn = again.turns[0]
            story = Story.of(turn.events, again.crew.agents)
            if taken_units(self.units, story, turn.expect).get(unit.key):
                return {**case, "fails": CHECK}
        return None

    def _play(self, case: Mapping[str, Any]) -> Played | None:
        document = read(FILE, to_yaml({"rehearsals": [case]}).encode())
        raw = RawCase(FILE, str(case["name"]), "", node_of(document, ("rehearsals", 0)))
        made: Case | None
        made, _ = bind_case(raw)
        with quiet():
            return play_case(made, self.loaded) if made is not None else None

    def _drafts(self, unit: Unit) -> Iterator[SuggestedCase]:
        """Yield what may lead to a unit."""
        words = unit.key.split()
        if unit.edge is not None:
            yield from self._along(unit.edge)
        elif words[0] == "pause":
            yield from self._pause(words[1], words[2])
        elif words[0] == "approval":
            yield from self._call(words[1], words[2])
        elif words[0] == "kill":
            yield from self._call(words[1], "killed")

    def _along(self, edge: Edge) -> Iterator[SuggestedCase]:
        before, after = self._ways(edge.from_), self._ways_out(edge.to)
        if before is not None and edge.kind in BY_TEXT:
            yield self._along_ways([*before, edge, *after])

    def _pause(self, agent: str, way: str) -> Iterator[SuggestedCase]:
        before = self._ways(agent)
        if before is None:
            return
        draft = self._along_ways(before)
        draft.says[agent].append(TEXT)
        if way == "nobody":
            seconds = self.graph.routing.wait_seconds[agent]
            draft.answers.append({"nobody": f"{seconds + 1:g}s"})
            yield draft
            return
        draft.answers.append(TEXT)
        self._speak(draft, self._ways_out(agent), agent)
        yield draft

    def _call(self, name: str, way: str) -> Iterator[SuggestedCase]:
        tool = self.loaded.checked.tools.by_name[name]
        for agent_id, agent in self.loaded.checked.files.agents.items():
            before = self._ways(agent_id) if name in agent.tool_names else None
            if before is None:
                continue
            draft = self._along_ways(before)
            arguments = sample_arguments(tool.parameters)
            draft.says[agent_id].append({"calls": [{"tool": name, "arguments": arguments}]})
            draft.answers += _answers(tool, way, arguments)
            if way in ("approved", "edited", "killed"):
                draft.returns[name] = RESULT
            if way == "killed":
                draft.faults.append({"kill": "during", "event": "tool_start", "tool": name})
            self._speak(draft, self._ways_out(agent_id), agent_id)
            yield draft

    def _ways(self, to: str) -> list[Edge] | None:
        """Return the shortest way from the start to an agent or a group; None: there is none."""
        return _shortest(self.graph, self.graph.entry_point, to)

    def _ways_out(self, start: str) -> list[Edge]:
        """Return the shortest way to an end; none where a run ends in a pause."""
        return (_shortest(self.graph, start, END) or []) if start != END else []

    def _along_ways(self, ways: Sequence[Edge]) -> SuggestedCase:
        draft = SuggestedCase()
        self._speak(draft, ways, "")
        return draft

    def _speak(self, draft: SuggestedCase, ways: Sequence[Edge], last: str) -> None:
        """Let models say what leads along a way; where it has none, the last one says something."""
        for edge in ways:
            text = f"{TEXT} {edge.label}" if edge.kind == "signal" else TEXT
            group = self.graph.routing.groups.get(edge.from_)
            speakers = group.agents if group is not None else (edge.from_,)
            for number, speaker in enumerate(speakers):
                draft.says[speaker].append(TEXT if number else text)
        if not ways and last:
            draft.says[last].append(TEXT)


def expected_of_play(played: Played) -> dict[str, Any]:
    """Return what has happened as what is expected: path, end, warnings."""
    story = Story.of(played.turns[0].events, played.crew.agents)
    found: dict[str, Any] = {"path": [written_step(one) for one in story.steps]}
    if story.end is not None:
        code = story.end.code if isinstance(story.end, RunFailed) else ""
        found["end"] = {"reason": story.end.reason, "code": code} if code else story.end.reason
    return found | ({"warnings": story.warnings} if story.warnings else {})


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


def _shortest(graph: RoutingGraph, start: str, to: str) -> list[Edge] | None:
    """Return the shortest way that texts alone lead along."""
    if start == to:
        return []
    ways: nx.DiGraph[str] = nx.DiGraph()
    by_ends: dict[tuple[str, str], Edge] = {}
    for edge in graph.drawn():
        if edge.kind in BY_TEXT and (edge.from_, edge.to) not in by_ends:
            by_ends[edge.from_, edge.to] = edge
            ways.add_edge(edge.from_, edge.to)
    try:
        names = nx.shortest_path(ways, start, to)
    except (nx.NetworkXNoPath, nx.NodeNotFound):
        return None
    return [by_ends[pair] for pair in itertools.pairwise(names)]
