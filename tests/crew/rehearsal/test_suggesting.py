"""Rehearsals that are suggested: for each unit of a crew one that takes it."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agents.outputs.answers import check_answer
from agents.outputs.schema import parse_schema
from crew.config.routing_plan import entry_point, routing_of
from crew.rehearsal.covering.units import units_of
from crew.rehearsal.playing.suite import Suite
from crew.rehearsal.suggesting.outputs import find_output
from crew.rehearsal.suggesting.suggester import Suggester
from crew.routing.graph import RoutingGraph
from crew.routing.outputs import OutputCondition, OutputRoute
from tests.support.crews import write_crew

ROOT = Path(__file__).parents[3]
SEEDS = ROOT.parent / "shared" / "crews" / "seeds"
EXAMPLES = sorted(one.parent for one in (ROOT / "examples").glob("*/crew.yaml"))
SEED_CREWS = sorted(one.parent for one in SEEDS.glob("*/crew.yaml"))


def unsuggested(folder: Path) -> set[str]:
    """The units for which no rehearsal is found."""
    loaded = Suite.read(folder).loader.load({}, {})
    files, units = loaded.checked.files, units_of(loaded.checked)
    graph = RoutingGraph.of(routing_of(files, loaded.checked.tools.names), entry_point(files))
    suggester = Suggester(loaded, units, graph, {})
    assert units
    return {one.key for one in units if suggester.suggest(one) is None}


@pytest.mark.parametrize("folder", EXAMPLES, ids=lambda one: one.name)
def test_every_unit_of_an_example(folder: Path):
    """Routes by words and fields, plans, pauses, approvals, limits, backups, kills."""
    assert unsuggested(folder) == set()


@pytest.mark.skipif(not SEED_CREWS, reason="the crews of others are not here")
@pytest.mark.parametrize("folder", SEED_CREWS, ids=lambda one: one.name)
def test_every_unit_of_a_crew_of_others(folder: Path):
    assert unsuggested(folder) == set()


def test_limits_groups_and_backups(tmp_path: Path):
    """A loop that is left too late, tools that are called too often, members that are late or fail."""
    agents: dict[str, Any] = {
        "desk": {"tools": ["GetSystemInfo"], "backup": {"provider": "scripted", "model": "other"}},
        "fixer": {},
        "b": {},
        "c": {},
        "end": {"is_terminal": True},
    }
    signals = {
        "desk": [{"signal": "[FIX]", "target": "fixer"}, {"signal": "[ALL]", "target": "g"}],
        "fixer": [{"signal": "[BACK]", "target": "desk"}, {"signal": "[END]", "target": None}],
    }
    groups = {"g": {"agents": ["b", "c"], "next_agent": "end", "timeout_seconds": 5}}
    settings = {"max_handoffs": 7, "max_rounds": 12, "max_same_calls": 2}
    write_crew(
        tmp_path,
        agents,
        routing={"signals": signals, "parallel_groups": groups},
        settings=settings,
    )
    assert unsuggested(tmp_path) == set()


def test_a_limit_that_cannot_be_reached_is_none(tmp_path: Path):
    """Where each call waits for a person, or the last round is for the answer."""
    tool = {"kind": "python", "function": "a.py:act", "requires_approval": True}
    (tmp_path / "a.py").write_text('def act() -> str:\n    """Act."""\n    return ""\n')
    for agent in ({"tools": ["act"]}, {"tools": ["GetSystemInfo"], "on_limit": "answer"}):
        write_crew(tmp_path, {"a": {**agent, "is_terminal": True}}, (), {"act": tool})
        keys = {one.key for one in Suite.read(tmp_path).units}
        assert not [one for one in keys if one.startswith("limit")]


FIELDS = {
    "kind": {"enum": ["stock", "talk", "other"]},
    "clear": {"type": "boolean"},
    "count": {"type": "integer", "minimum": 0, "maximum": 9},
    "names": {"type": "array", "items": {"enum": ["tea", "coffee"]}, "maxItems": 3},
    "note": {"type": "string", "maxLength": 20},
}
CONDITIONS = {
    "kind": st.builds(
        OutputCondition, values=st.lists(st.sampled_from(["stock", "talk"]), min_size=1).map(tuple)
    ),
    "clear": st.builds(OutputCondition, values=st.booleans().map(lambda one: (one,))),
    "count": st.builds(OutputCondition, low=st.integers(0, 9)),
    "names": st.builds(OutputCondition, fewest=st.integers(0, 3)),
    "note": st.builds(OutputCondition, absent=st.booleans()),
}


@given(st.data())
def test_an_answer_that_is_found_leads_there(data: st.DataObject):
    """By the first route that fits; and where one value of each field would do, one is found."""
    required = data.draw(st.sets(st.sampled_from(sorted(FIELDS))))
    schema = parse_schema({"properties": FIELDS, "required": sorted(required)})
    routes = []
    for number in range(data.draw(st.integers(1, 4))):
        names = data.draw(st.sets(st.sampled_from(sorted(CONDITIONS)), max_size=3))
        when = {name: data.draw(CONDITIONS[name]) for name in names}
        routes.append(OutputRoute(when, "x", False, "", f"crew.yaml:{number}"))
    label = data.draw(st.sampled_from([*(one.label for one in routes), None]))
    found = find_output(schema, {}, routes, label)
    if found is None:
        # the first route fits whatever it names, if its field may be so
        impossible = "note" in required and any(
            one == OutputCondition(absent=True) for one in routes[0].when.values()
        )
        assert label != routes[0].label or impossible
        return
    assert check_answer(json.dumps(found), schema, {}).output == found
    first = next((one for one in routes if one.fits(found)), None)
    assert (first.label if first is not None else None) == label


def test_what_decides_is_tried_before_what_does_not():
    """Among many fields, of which the first decides, and of many words, of which the last fits none."""
    words = [f"w{number}" for number in range(30)]
    fields = {"kind": {"enum": words}} | {f"f{n}": {"enum": ["a", "b", "c"]} for n in range(12)}
    schema = parse_schema({"properties": fields, "required": ["kind"]})
    routes = [
        OutputRoute({"kind": OutputCondition(values=(one,))}, "x", False, "", "crew.yaml:1")
        for one in words[:-1]
    ]
    for label, kind in ((routes[-1].label, "w28"), (None, "w29")):
        found = find_output(schema, {}, routes, label)
        assert found is not None
        assert (found["kind"], [*found]) == (kind, [*fields])
