"""Whatever happens in a run, its replay on its own files is the same, and so is what is kept of it.

Models, tools, people and processes do what hypothesis chooses: wrong signals, failures, late answers,
kills, decisions of every kind.
"""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from crew.rehearsal.files.bound import Case, read_rehearsals
from crew.rehearsal.keeping.keeping import Keeper
from crew.rehearsal.playing.loaded import CrewLoader, LoadedCrew
from crew.rehearsal.playing.player import play_case
from crew.rehearsal.playing.suite import Suite
from crew.rehearsal.replaying.comparison import compare_trails
from crew.rehearsal.replaying.options import ReplayOptions
from crew.rehearsal.replaying.recording import Recording, read_recording
from crew.rehearsal.replaying.replayer import replay_recording
from crew.rehearsal.replaying.trail import Trail
from tests.support.crews import write_crew
from tests.support.rehearsed import ACTS, LOOK, RESTART
from tools.text.yaml_text import to_yaml

WRONG = {"wrong-arguments"}
FAILURES = st.sampled_from(["rate_limited", "unavailable", "refused", "unreadable", "empty"])
TROUBLE = st.one_of(
    st.builds(lambda code: {"fail": code}, FAILURES),
    st.just({"say": "Late.", "seconds": 1000}),
    st.just({"say": "It took a while.", "seconds": 5}),
)
LOOKS = [{"tool": "look", "arguments": {"where": where}} for where in ("a", "b")]
BAD_CALLS = [{"tool": "look", "arguments": {}}, {"tool": "nothing", "arguments": {}}]
RESTARTS = [
    {"tool": "restart", "arguments": {"service": service}} for service in ("web", "database")
]
CALLS = st.lists(st.sampled_from([*LOOKS, *RESTARTS, *BAD_CALLS]), min_size=1, max_size=2)
CALLING = st.builds(lambda calls: {"calls": calls}, CALLS)
DESK = st.lists(
    st.one_of(
        st.sampled_from(["Hm.", "[FIX]", "[ALL]", "[FIX] [ALL]", "[DONE]", "[done]"]), TROUBLE
    ),
    min_size=1,
    max_size=4,
)
FIXER = st.lists(st.one_of(CALLING, st.just("It is mended."), TROUBLE), min_size=1, max_size=4)


def member(look: dict[str, Any]) -> st.SearchStrategy[list[Any]]:
    """What a member of a group says.

    Each calls with arguments of its own: attempts of equal calls at the same time, some of which
    fail, are kept in an order that no list of results can say.
    """
    said = st.one_of(st.just("All is well."), st.just({"calls": [look]}), TROUBLE)
    return st.lists(said, min_size=1, max_size=2)


RESULTS = st.lists(
    st.sampled_from(
        [
            "seen",
            {"output": {"seen": [1, 2]}, "seconds": 2},
            {"temporary": "busy"},
            {"error": "gone"},
            {"error": "gone", "sent": False},
            {"hang": True},
        ]
    ),
    min_size=1,
    max_size=4,
)
PEOPLE = st.lists(
    st.sampled_from(
        [
            "it is broken",
            {"approve": True, "by": "ann"},
            {"approve": True, "remember": "run", "after": "5m"},
            {"deny": "not now"},
            {"edit": {"service": "mail"}},
            {"nobody": "16m"},
            {"skip": True},
            {"retry": True},
            {"done": "by hand"},
        ]
    ),
    max_size=3,
)
# a kill before anything of an answer is stored leaves no trace: a replay cannot know of it
KILLS = st.lists(
    st.sampled_from(
        [
            {"kill": "during", "event": "tool_start", "tool": "restart"},
            {"kill": "after", "event": "agent_response"},
        ]
    ),
    max_size=1,
)


@st.composite
def cases(draw: st.DrawFn) -> dict[str, Any]:
    says = {
        "desk": draw(DESK),
        "fixer": draw(FIXER),
        "one": draw(member(LOOKS[0])),
        "two": draw(member(LOOKS[1])),
    }
    return {
        "name": "any",
        "query": "it is broken",
        "says": says,
        "returns": {"look": draw(RESULTS), "restart": draw(RESULTS)},
        "answers": draw(PEOPLE),
        "faults": draw(KILLS),
        "expect": {"at_most": {"rounds": 99}},
    }


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A desk, a fixer, and a group of two."""
    folder = tmp_path_factory.mktemp("crew")
    (folder / "acts.py").write_text(ACTS)
    signals = [
        {"signal": "[FIX]", "target": "fixer"},
        {"signal": "[ALL]", "target": "all"},
        {"signal": "[DONE]", "target": None},
    ]
    agents: dict[str, dict[str, Any]] = {
        "desk": {},
        "fixer": {"tools": ["restart", "look"], "is_terminal": True},
        "one": {"tools": ["look"]},
        "two": {"tools": ["look"]},
    }
    routing = {
        "signals": {"desk": signals},
        "agent_behaviors": {"desk": {"wait_for_signal": True}},
        "parallel_groups": {"all": {"agents": ["one", "two"], "next_agent": "desk"}},
    }
    tools = {"restart": RESTART, "look": {**LOOK, "timeout_seconds": 20}}
    write_crew(folder, agents, None, tools, routing=routing, settings={"max_rounds": 8})
    (folder / "tests").mkdir()
    return folder


def written(folder: Path, **case: Any) -> Case:
    text = yaml.safe_dump({"rehearsals": [json.loads(json.dumps(case))]})
    (folder / "tests" / "a.yaml").write_text(text)
    found = read_rehearsals(folder)
    assert found.problems == []
    return found.cases[0]


# a member that calls first is answered last
SLOW_FIRST: dict[str, Any] = {
    "name": "any",
    "query": "it is broken",
    "says": {
        "desk": ["[ALL]"],
        "fixer": ["It is mended."],
        "one": [{"calls": LOOKS[:1]}],
        "two": [{"calls": LOOKS[:1]}],
    },
    "returns": {"look": [{"output": {"seen": [1, 2]}, "seconds": 2}], "restart": ["seen"]},
    "answers": [],
    "faults": [],
    "expect": {"at_most": {"rounds": 99}},
}


# a process that is killed in a call, about which a person has not decided
UNDECIDED = SLOW_FIRST | {
    "says": {
        "desk": ["[FIX]"],
        "fixer": [{"calls": RESTARTS[:1]}],
        "one": ["All is well."],
        "two": ["All is well."],
    },
    "returns": {"look": ["seen"], "restart": ["seen"]},
    "answers": [{"approve": True, "by": "ann"}],
    "faults": [{"kill": "during", "event": "tool_start", "tool": "restart"}],
}


@given(case=cases())
@example(case=SLOW_FIRST)
@example(case=UNDECIDED)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
def test_any_run_is_replayed_and_kept_as_it_was(folder: Path, case: dict[str, Any]):
    loaded = CrewLoader.of(folder).load({}, {})
    found = play_case(written(folder, **case), loaded)
    (turn,) = found.turns
    recording = asyncio.run(read_recording(found.store, turn.row))
    # a digest that differs would end it
    again = replay_recording(recording, loaded, ReplayOptions(match="exact"))
    compared = compare_trails(Trail.of(recording.events), again.trail, again.missing)
    assert (compared.verdict, compared.why) == ("same", "")
    kept_as_it_was(folder, recording, loaded)


def kept_as_it_was(folder: Path, recording: Recording, loaded: LoadedCrew) -> None:
    config = loaded.checked.files.crew
    assert config is not None
    keeper = Keeper.of(config, loaded.recipe.secrets, loaded.checked.tools.by_name.values())
    rehearsal = keeper.keep(recording).rehearsal()
    (folder / "tests" / "a.yaml").write_text(to_yaml({"rehearsals": [rehearsal]}))
    suite = Suite.read(folder)
    if recording.row.status == "paused" and {one.code for one in suite.problems} == WRONG:
        # a wrong call that waits beside one that a person decides on has no result that says so
        return
    assert suite.problems == []
    (result,) = suite.play_all(suite.cases)
    assert [*result.mismatches] == []
