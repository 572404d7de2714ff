"""A process is killed at an event, and another one takes its run over; nothing is lost, nothing is done twice."""

from pathlib import Path
from typing import Any

import pytest

from crew.rehearsal.playing.player import play_case
from tests.support.crews import write_crew
from tests.support.rehearsed import kinds, play_one, played, rehearse, repair_crew

CALL = {"calls": [{"tool": "restart", "arguments": {"service": "web"}}]}
BROKEN: dict[str, Any] = {
    "query": "it is broken",
    "says": {"desk": ["For Fay. [FIX]"], "fixer": [CALL, "Done."]},
    "returns": {"restart": ["up"]},
}
PATH = ["desk", {"fixer": "[FIX]"}]


@pytest.mark.parametrize("how", ["during", "after"])
@pytest.mark.parametrize(
    "event", ["start", "agent_start", "agent_response", "handoff", "pause", "tool_result", "done"]
)
def test_the_run_goes_on_in_another_process(tmp_path: Path, how: str, event: str):
    result = play_one(
        repair_crew(tmp_path),
        **BROKEN,
        answers=[{"approve": True}, *([{"skip": True}] if (event, how) == ("tool_result", "during") else [])],
        faults=[{"kill": how, "event": event}],
        expect={"path": [*PATH, "…", "end"], "end": "terminal"},
    )  # fmt: skip
    assert result.status == "passed", result.mismatches


@pytest.mark.parametrize(
    ("answer", "acts", "says"),
    [({"retry": True}, 2, "up"), ({"skip": True}, 1, "Not made again"), ({"done": "by hand"}, 1, "by hand")],
)  # fmt: skip
def test_a_person_decides_on_a_call_that_may_have_acted(
    tmp_path: Path, answer: dict[str, Any], acts: int, says: str
):
    suite = rehearse(
        repair_crew(tmp_path),
        {
            "name": "one",
            **BROKEN,
            "answers": [{"approve": True}, answer],
            "faults": [{"kill": "during", "event": "tool_start", "tool": "restart"}],
            "expect": {
                "pauses": [{"question": "approval"}, {"question": "unknown_outcome"}],
                "asked": {"fixer": {"words": says, "nth": 2}},
            },
        },
    )
    (result,) = played(suite)
    assert result.status == "passed", result.mismatches
    (case,) = suite.cases
    assert len(play_case(case, suite.crew_of(case)).doubles.world.acts) == acts


def test_processes_are_killed_one_after_the_other(tmp_path: Path):
    kills = [{"kill": "after", "event": "agent_start", "nth": 1}] * 3
    result = play_one(
        repair_crew(tmp_path),
        **BROKEN,
        answers=[{"approve": True}],
        faults=kills,
        expect={"path": [*PATH, "…", "end"], "end": "terminal"},
    )
    assert result.status == "passed", result.mismatches


def test_a_kill_that_does_not_come_fails(tmp_path: Path):
    faults = [{"kill": "after", "event": "agent_start", "nth": 9}]
    expect = {"end": "signal"}
    result = play_one(repair_crew(tmp_path), query="thanks", faults=faults, expect=expect)
    assert kinds(result) == ["unused"]


def group_crew(folder: Path) -> Path:
    routing = {
        "defaults": {"desk": "all"},
        "parallel_groups": {"all": {"agents": ["a", "b", "c"], "next_agent": "last", "timeout_seconds": 9}},
    }  # fmt: skip
    looks = {"tools": ["look"]}
    agents = {"desk": {}, "a": looks, "b": looks, "c": looks, "last": {"is_terminal": True}}
    repair_crew(folder)
    tools = {"look": {"kind": "python", "function": "acts.py:look", "effect": "read"}}
    return write_crew(folder, agents, [], tools, routing=routing)


def says(agent: str) -> list[Any]:
    return [{"calls": [{"tool": "look", "arguments": {"where": agent}}]}, {"say": f"seen by {agent}", "seconds": "1s"}]  # fmt: skip


def test_a_group_survives_a_kill_at_each_of_its_events(tmp_path: Path):
    result = play_one(
        group_crew(tmp_path),
        query="x",
        says={"desk": ["All."], "last": ["Done."], **{name: says(name) for name in "abc"}},
        returns={"look": "something"},
        faults=[{"kill": "each"}],
        expect={
            "path": ["desk", "all", "last", "end"],
            "asked": {"last": {"words": {"contains": ["seen by a", "seen by b", "seen by c"]}}},
        },
    )
    assert result.status == "passed", result.mismatches


def test_a_group_in_which_all_hang_ends(tmp_path: Path):
    result = play_one(
        group_crew(tmp_path),
        query="x",
        says={"desk": ["All."], "last": ["Done."], **{n: [{"say": "late", "seconds": "1h"}] for n in "abc"}},
        expect={"end": {"reason": "timeout"}, "seconds": {"min": 9, "max": 10}, "warnings": ["member_timeout"]},
    )  # fmt: skip
    assert kinds(result) == ["unused"], "last never speaks"


def test_a_conversation_survives_a_kill(tmp_path: Path):
    folder = write_crew(tmp_path, {"desk": {}}, [{"seen": "Anna", "say": "Hello Anna"}, {"say": "Hello"}], conversations={})  # fmt: skip
    turns = [
        {"query": {"text": "I am Anna", "user": "anna"}, "expect": {"end": "no_next_agent"}},
        {"query": "hi", "expect": {"answer": "Hello Anna", "asked": {"desk": {"context": "I am Anna"}}}},
    ]  # fmt: skip
    for number in range(1, 5):
        faults = [{"kill": "after", "event": "agent_start", "nth": number % 2 + 1}]
        assert play_one(folder, turns=turns, faults=faults).status == "passed"


def test_the_store_fails_for_a_while(tmp_path: Path):
    result = play_one(
        repair_crew(tmp_path),
        query="thanks",
        faults=[{"store": "fails", "seconds": "20s"}],
        expect={"end": "signal", "seconds": {"min": 20, "max": 21}},
    )
    assert result.status == "passed", result.mismatches
