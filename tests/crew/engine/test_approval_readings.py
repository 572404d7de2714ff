"""A condition of `when` holds for what a model writes, and for what the tool gets of it."""

import json
from pathlib import Path
from typing import Any

import pytest

from crew import Answer, MemoryStore, Query, Runs, load_crew
from crew.journal.query import CallDecision
from crew.runs.errors import WrongDecision
from tests.support.crews import write_crew

ACTS = """
from enum import Enum
from pathlib import Path

class Place(Enum):
    PROD = "prod"
    TEST = "test"

def wipe(force: bool = False, account: str = "", place: Place = Place.TEST) -> str:
    '''Wipe something.'''
    (Path(__file__).parent / "wiped").touch()
    return "wiped"
"""
PYTHON = {"kind": "python", "function": "acts.py:wipe"}
COMMAND = {
    "kind": "command",
    "argv": ["printf", "%s", "{account}", "{env}"],
    "parameters": {
        "properties": {
            "account": {"type": "string", "default": "x"},
            "env": {"type": "string", "default": "prod"},
        }
    },
}


def wiping(folder: Path, entry: dict[str, Any], when: Any, arguments: dict[str, Any]) -> Path:
    """A crew whose agent makes this one call."""
    folder.mkdir(exist_ok=True)
    (folder / "acts.py").write_text(ACTS)
    script = [{"turn": 1, "calls": [{"tool": "wipe", "arguments": arguments}]}, {"say": "ok"}]
    tools = {"wipe": {**entry, "requires_approval": {"when": when}}}
    return write_crew(folder, {"a": {"tools": ["wipe"]}}, script, tools=tools)


async def is_asked(folder: Path) -> bool:
    """Whether a person was asked first; else the call was made."""
    async with Runs(load_crew(folder), MemoryStore()) as runs:
        run = await runs.start(Query("go"))
        row = await run.outcome()
        events = [json.loads(event.encoded) async for event in runs.stored(run.id)]
    if row.status == "paused":
        assert not (folder / "wiped").exists()
        return True
    assert [e["metadata"]["status"] for e in events if e["type"] == "tool_result"] == ["success"]
    return False


@pytest.mark.parametrize("how", [{}, {"isolate": "process"}], ids=["here", "in a process"])
@pytest.mark.parametrize(
    ("when", "arguments", "asks"),
    [
        ({"force": True}, {"force": True}, True),
        ({"force": True}, {"force": "yes"}, True),
        ({"force": True}, {"force": "t"}, True),
        ({"force": True}, {"force": 1}, True),
        ({"force": True}, {"force": "no"}, False),
        ({"force": False}, {"force": "off"}, True),
        ({"force": False}, {"force": 0}, True),
        ({"force": False}, {}, True),
        ({"force": {"not": False}}, {"force": "on"}, True),
        ({"account": "123"}, {"account": 123}, True),
        ({"account": ["123", "9"]}, {"account": 9}, True),
        ({"account": "123"}, {"account": 124}, False),
        ({"place": "prod"}, {"place": "prod"}, True),
        ({"place": "prod"}, {"place": "test"}, False),
    ],
)
async def test_a_function_gets_values_and_is_asked_about_by_them(
    tmp_path: Path, how: dict[str, Any], when: Any, arguments: dict[str, Any], asks: bool
):
    """A model that writes them otherwise does not get past a person."""
    assert await is_asked(wiping(tmp_path, {**PYTHON, **how}, when, arguments)) == asks


@pytest.mark.parametrize(
    ("when", "arguments", "asks"),
    [
        ({"account": "123"}, {"account": 123}, True),
        ({"env": "prod"}, {"env": None}, True),
        ({"env": "prod"}, {}, True),
        ({"env": "prod"}, {"env": "test"}, False),
    ],
)
async def test_a_program_gets_texts(
    tmp_path: Path, when: Any, arguments: dict[str, Any], asks: bool
):
    """A null is left out, and so the default is meant."""
    assert await is_asked(wiping(tmp_path, COMMAND, when, arguments)) == asks


async def test_a_person_may_change_only_what_the_condition_holds_for(tmp_path: Path):
    """In whatever way the new arguments are written."""
    folder = wiping(tmp_path, PYTHON, {"force": True}, {"force": "yes"})
    async with Runs(load_crew(folder), MemoryStore()) as runs:
        run = await runs.start(Query("go"))
        assert (await run.outcome()).status == "paused"
        for arguments in ({"force": "no"}, {"force": 0}, {}):
            wrong = Answer(decisions=(CallDecision("call_1_1", "approve", arguments=arguments),))
            with pytest.raises(WrongDecision, match="outside what was asked"):
                await runs.resume(run.id, wrong)
        right = CallDecision("call_1_1", "approve", arguments={"force": "on"})
        row = await (await runs.resume(run.id, Answer(decisions=(right,)))).outcome()
    assert row.status == "completed"
    assert (folder / "wiped").exists()
