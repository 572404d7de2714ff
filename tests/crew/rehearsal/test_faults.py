"""Faults beside models and tools: MCP servers that end, change or have a form, clients that leave, reloads."""

from pathlib import Path
from typing import Any

import pytest

from tests.support.crews import write_crew
from tests.support.mcp_servers import sdk_server
from tests.support.rehearsed import kinds, play_one, played, rehearse, repair_crew

ADD = {"calls": [{"tool": "add", "arguments": {"a": 1, "b": 2}}]}
SUM = {
    "query": "1 and 2?",
    "says": {"a": [ADD, "{{result.add}}"]},
    "returns": {"add": "three"},
}


def sums(folder: Path, **entry: Any) -> Path:
    """A crew with the tools of an MCP server."""
    tools = {"sums": sdk_server(folder, allow=["add"], prefix="", **entry)}
    return write_crew(folder, {"a": {"tools": ["add"]}}, [], tools)


@pytest.mark.parametrize(
    ("fault", "effect", "attempts", "says"),
    [
        # nothing went out, so it is tried again
        ({"dies": "before"}, "once", 2, "three"),
        # no one knows whether it has acted
        ({"dies": "during"}, "read", 2, "three"),
        ({"dies": "during"}, "once", 1, "has ended during the call"),
        ({"dies": "after"}, "once", 1, "three"),
        ({"changes": "add"}, "once", 1, "is described otherwise"),
    ],
)
def test_a_server_fails(
    tmp_path: Path, fault: dict[str, Any], effect: str, attempts: int, says: str
):
    if says != "three":
        # it is never returned
        given = {**SUM, "returns": {}}
    else:
        given = SUM
    warnings = ["tool_changed"] if "changes" in fault else []
    result = play_one(
        sums(tmp_path, effect=effect),
        **given,
        faults=[{"server": "sums", **fault}],
        expect={
            "answer": says,
            "calls": [{"tool": "add", "attempts": attempts, "times": 1}]
            if says == "three"
            else [{"tool": "add", "status": "error"}],
            "warnings": warnings,
        },
    )
    assert result.status == "passed", result.mismatches


def test_a_server_has_a_form(tmp_path: Path):
    result = play_one(
        sums(tmp_path),
        **SUM,
        faults=[{"server": "sums", "asks": "form"}],
        answers=[{"form": {"answer": "yes"}}],
        expect={"answer": "three", "pauses": [{"question": "form"}]},
    )
    assert result.status == "passed", result.mismatches


def test_what_is_not_there(tmp_path: Path):
    suite = rehearse(
        sums(tmp_path),
        {
            "name": "one",
            **SUM,
            "faults": [{"server": "sum", "dies": "before"}],
            "expect": {"end": "x"},
        },
    )
    (problem,) = suite.problems
    assert (problem.code, problem.suggestion) == ("bad-value", "sums")
    for fault, text in (
        ({"server": "sums"}, "one of dies, changes, asks"),
        ({"server": "sums", "dies": "before", "asks": "form"}, "one of dies, changes, asks"),
        ({"client": "leaves"}, "client needs `at`"),
        ({"reload": {"settings.max_rounds": 3}}, "reload needs `at`"),
        ({"at": "start"}, "a fault has one of"),
    ):
        wrong = rehearse(
            tmp_path, {"name": "one", **SUM, "faults": [fault], "expect": {"end": "x"}}
        )
        assert any(text in one.message for one in wrong.problems), fault


SLOW = {
    "query": "it is broken",
    "says": {"desk": [{"say": "For Fay. [FIX]", "seconds": 60}], "fixer": ["Done."]},
}


@pytest.mark.parametrize(
    ("grace", "end"), [(-1, {"reason": "terminal"}), (5, {"reason": "abandoned"})]
)
@pytest.mark.parametrize("at", ["start", "agent_start"])
def test_the_client_leaves(tmp_path: Path, grace: int, end: dict[str, Any], at: str):
    """Its run goes on, unless the settings say that it needs a listener."""
    says = SLOW["says"] if grace < 0 else {"desk": SLOW["says"]["desk"]}  # type: ignore[index]
    result = play_one(
        repair_crew(tmp_path, settings={"disconnect_grace_seconds": grace}),
        **{**SLOW, "says": says},
        faults=[{"client": "leaves", "at": at}],
        expect={"end": end, "seconds": {"max": 6 if grace > 0 else 61}},
    )
    assert result.status == "passed", result.mismatches


def test_a_reload_in_the_middle(tmp_path: Path):
    """A run keeps its own files, also when it is resumed; the next has the others."""
    folder = repair_crew(tmp_path, conversations={})
    case = {
        "name": "one",
        "says": {"desk": ["For Fay. [FIX]", "For Fay. [FIX]"], "fixer": ["Done."]},
        "faults": [{"reload": {"routing.signals.desk.0.target": None}, "at": "agent_response"}],
        "turns": [
            {"query": "it is broken", "expect": {"path": ["desk", {"fixer": "[FIX]"}, "end"]}},
            {"query": "still broken", "expect": {"path": ["desk", "end"], "end": "signal"}},
        ],
    }
    (result,) = played(rehearse(folder, case))
    assert result.status == "passed", result.mismatches
    case["faults"] = [{"reload": {"settings.max_rounds": "many"}, "at": "agent_response"}]
    (wrong,) = played(rehearse(folder, case))
    assert "config" in kinds(wrong)
    never = {**case, "faults": [{"reload": {"settings.max_rounds": 9}, "at": "plan"}]}
    (unused,) = played(rehearse(folder, never))
    assert "unused" in kinds(unused)
