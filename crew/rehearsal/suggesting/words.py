"""What agents say so that a run goes along a path of the graph."""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import networkx as nx

from agents.config import PlanConfig
from crew.config.crew_files import CrewFiles
from crew.rehearsal.suggesting.cases import SuggestedCase
from crew.rehearsal.suggesting.outputs import find_output
from crew.routing.graph import END, Edge, RoutingGraph

TEXT = "Suggested."
TASK = "one"
# edges that what an agent says decides
BY_WORDS = frozenset(
    {"signal", "output", "invalid", "plan", "default", "handoff_target", "order", "group"}
)


class NoWords(Exception):
    """No answer was found that leads along an edge."""


@dataclass(frozen=True, slots=True)
class PathWords:
    """Lets the agents of a crew speak."""

    files: CrewFiles
    graph: RoutingGraph

    def path(self, start: str, to: str) -> list[Edge] | None:
        """Return the shortest path that words alone lead along; None: there is none."""
        if start == to:
            return []
        edges: nx.DiGraph[str] = nx.DiGraph()
        by_ends: dict[tuple[str, str], Edge] = {}
        for edge in self.graph.drawn():
            if edge.kind in BY_WORDS and (edge.from_, edge.to) not in by_ends:
                by_ends[edge.from_, edge.to] = edge
                edges.add_edge(edge.from_, edge.to)
        try:
            names = nx.shortest_path(edges, start, to)
        except (nx.NetworkXNoPath, nx.NodeNotFound):
            return None
        return [by_ends[pair] for pair in itertools.pairwise(names)]

    def path_to(self, agent: str) -> list[Edge] | None:
        """Return the shortest path from the start to an agent, or to a group that it is in."""
        groups = (one.name for one in self.graph.routing.groups.values() if agent in one.agents)
        paths = (self.path(self.graph.entry_point, one) for one in (agent, *groups))
        return next((one for one in paths if one is not None), None)

    def path_out(self, start: str) -> list[Edge]:
        """Return the shortest path to an end; none where a run ends in a pause."""
        return (self.path(start, END) or []) if start != END else []

    def speak_along(self, case: SuggestedCase, path: Sequence[Edge]) -> None:
        """Let agents say what leads along a path; members of a group speak together.

        Raises:
            NoWords: one has no such answer.
        """
        for edge in path:
            group = self.graph.routing.groups.get(edge.from_)
            speakers = group.agents if group is not None else (edge.from_,)
            giver = next((one for one in speakers if self._gives(one, edge)), speakers[0])
            for speaker in speakers:
                self.speak(case, speaker, edge if speaker == giver else None)

    def _gives(self, agent: str, edge: Edge) -> bool:
        routing = self.graph.routing
        signals = (one.signal.text for one in routing.routes.get(agent, ()))
        outputs = (one.label for one in routing.outputs.get(agent, ()))
        return edge.label in (signals if edge.kind == "signal" else outputs)

    def speak(self, case: SuggestedCase, agent: str, edge: Edge | None = None) -> None:
        """Let an agent say what leads along an edge, or something else.

        Raises:
            NoWords: it has no such answer.
        """
        config = self.files.agents[agent]
        text = f"{TEXT} {edge.label}" if edge is not None and edge.kind == "signal" else TEXT
        if config.plan is not None:
            self._plan(case, agent, config.plan)
            if config.plan.then is None:
                case.say(agent, text)
        elif agent not in self.files.outputs:
            case.say(agent, text)
        elif edge is not None and edge.kind == "invalid":
            case.say(agent, TEXT, config.output_retries + 1)
        else:
            self._output(case, agent, agent, edge, text)

    def speak_or_pause(self, case: SuggestedCase, agent: str) -> None:
        """Let an agent say what makes it wait for a person, if it may; see `speak`."""
        routes = self.graph.routing.outputs.get(agent, ())
        pausing = next((one for one in routes if one.pauses), None)
        edge = Edge(agent, agent, "output", pausing.label) if pausing is not None else None
        self.speak(case, agent, edge)

    def _output(
        self, case: SuggestedCase, speaker: str, agent: str, edge: Edge | None, text: str
    ) -> None:
        label = edge.label if edge is not None and edge.kind == "output" else None
        routes = self.graph.routing.outputs.get(agent, ())
        schema = self.files.outputs[agent]
        output = find_output(schema, self.files.vocabularies, routes, label)
        if output is None and edge is None and routes:
            # it need not lead anywhere
            labels = (one.label for one in routes)
            every = (find_output(schema, self.files.vocabularies, routes, one) for one in labels)
            output = next((one for one in every if one is not None), None)
        if output is None:
            raise NoWords
        field = self.files.agents[agent].output_text
        if edge is not None and edge.kind == "signal" and field is not None:
            output[field] = text
        case.say(speaker, {"output": output})

    def _plan(self, case: SuggestedCase, agent: str, plan: PlanConfig) -> None:
        worker = plan.workers[0]
        task = {"id": TASK, "agent": worker, "ask": TEXT}
        case.say(agent, {"output": {"tasks": [task]}})
        if plan.approve:
            case.answers.append({"approve": True})
        speaker = f"{worker}/{TASK}"
        if worker in self.files.outputs:
            self._output(case, speaker, worker, None, TEXT)
        else:
            case.say(speaker, TEXT)
