"""What is said on a task, or as a tool, stays with that part of a run."""

from pathlib import Path
from typing import Any

import pytest

from crew import load_crew
from tests.support.crews import long_winded, play, write_crew
from tests.support.planning import planning, task

HELPER = {"kind": "agent", "agent": "h", "description": "It helps."}
TYPED = {"properties": {"x": {"type": "integer"}}, "required": ["x"]}
ORDERED: list[dict[str, Any]] = [
    {"agent": "a", "after": "helper", "say": "go on"},
    {"agent": "a", "calls": [{"tool": "helper", "arguments": {"ask": "look"}}]},
    {"agent": "p", "turn": 1, "say": {"tasks": [task("t", agent="h", ask="look")]}},
    {"agent": "p", "say": "go on"},
    {"agent": "h", "hears": "look", "say": {"x": 7}},
    {"agent": "h", "seen": "x is 7", "say": {"x": 1}},
    {"agent": "h", "say": {"x": 2}},
]


def ordered(folder: Path, first: dict[str, dict[str, Any]], **settings: Any) -> Path:
    """A crew of one agent and, next in the order, of one that works for it as well."""
    (agent,) = first
    agents: dict[str, dict[str, Any]] = {
        **first,
        "h": {"output": TYPED, "system_prompt": "x is {{output.h.x}}."},
    }
    tools = {"helper": HELPER} if agent == "a" else None
    # a run may begin with it, so that it has a place of its own in the order
    settings["client_start_agents"] = ["h"]
    rules = [one for one in ORDERED if one["agent"] in agents]
    return write_crew(folder, agents, rules, tools, settings=settings)


@pytest.mark.parametrize(
    "first", [{"a": {"tools": ["helper"]}}, {"p": {"plan": {"workers": ["h"]}}}]
)
async def test_who_works_for_another_has_not_had_its_turn(tmp_path: Path, first: Any):
    """The order still leads to it, and its typed answer is the other agent's, not the run's."""
    played = await play(load_crew(ordered(tmp_path, first)), "go")
    (agent,) = first
    (hop,) = [one["metadata"] for one in played.of("handoff")]
    assert (hop["from"], hop["to"], hop["why"]) == (agent, "h", "order")
    assert played.row.answer == '{"x":2}'


async def test_the_answer_of_a_run_is_never_that_of_an_agent_as_a_tool(tmp_path: Path):
    """Where a limit ends it before its own agent has said anything."""
    folder = ordered(tmp_path, {"a": {"tools": ["helper"]}}, max_rounds=1)
    played = await play(load_crew(folder), "go")
    assert (played.row.reason, played.row.answer) == ("max_rounds", "")


async def test_two_plans_of_a_run_share_no_call(tmp_path: Path):
    """The tasks have the same ids, and the model gives the same ids to its calls."""
    rules: list[dict[str, Any]] = [
        {"agent": "p", "turn": 2, "say": "Enough?"},
        {"agent": "p", "turn": 3, "say": {"tasks": [task("a", ask="pay bob")]}},
        {"agent": "p", "turn": 4, "say": "Now?"},
        {"agent": "w", "after": "pay", "say": "{{result.pay}}"},
        {"agent": "w", "calls": [{"tool": "pay", "arguments": {"to": "bob"}}]},
    ]
    tools = {"pay": {"kind": "python", "function": "acts.py:pay", "effect": "once"}}
    folder = planning(
        tmp_path,
        [task("a", ask="pay bob")],
        rules=rules,
        tools=tools,
        then=None,
        routing={"agent_behaviors": {"p": {"wait_for_signal": True}}},
    )
    played = await play(load_crew(folder), "go", "more")
    assert (played.row.status, played.row.answer) == ("paused", "Now?")
    ids = [one["metadata"]["call_id"] for one in played.of("tool_start")]
    results = [one["metadata"]["call_id"] for one in played.of("tool_result")]
    assert ids == results
    assert len(set(ids)) == 2
    assert (folder / "ledger").read_text().split() == ["bob", "bob"]


PARTS: dict[str, tuple[dict[str, Any], list[dict[str, Any]]]] = {
    "task": (
        {"plan": {"workers": ["a"]}},
        [
            {"agent": "p", "turn": 1, "say": {"tasks": [task("t", agent="a", ask="look")]}},
            {"agent": "p", "say": "end"},
        ],
    ),
    "call": (
        {"tools": ["helper"]},
        [
            {"agent": "p", "after": "helper", "say": "end"},
            {"agent": "p", "calls": [{"tool": "helper", "arguments": {"ask": "look"}}]},
        ],
    ),
}


@pytest.mark.parametrize("part", PARTS)
async def test_what_a_part_is_shown_names_the_part(tmp_path: Path, part: str):
    """Its context, and what a helper makes of its messages when they become too long."""
    keys, rules = PARTS[part]
    tools = {"helper": {**HELPER, "agent": "a"}} if part == "call" else None
    folder = long_winded(tmp_path, 9, 900, first={"p": keys}, rules=rules, tools=tools)
    played = await play(load_crew(folder), "go")
    assert played.row.answer == "end"
    for type_ in ("context", "compacted"):
        of = [one["metadata"] for one in played.of(type_) if one["metadata"]["agent_id"] == "a"]
        assert of
        assert {one.get(part) for one in of} == {"t" if part == "task" else "call_1_1"}
