"""A rehearsal for what none checks: the first draft that takes it when it is played."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from crew.config.files.yaml_reader import read
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
from crew.rehearsal.suggesting.cases import expected_of_play
from crew.rehearsal.suggesting.drafts import Drafts
from crew.routing.graph import RoutingGraph
from tools.text.yaml_text import to_yaml

FILE = "tests/suggested.yaml"
# why each fails until a person has looked at it
CHECK = "check me"


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
        for draft in Drafts(self.loaded.checked, self.graph).for_unit(unit):
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
