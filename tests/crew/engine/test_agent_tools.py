"""An agent as a tool of another: it works on what it is given, and its answer is the result."""

import json
from pathlib import Path
from typing import Any

import pytest

from crew import Answer, MemoryStore, Query, Runs, load_crew
from crew.crew import check
from crew.journal.query import CallDecision
from tests.support.crews import play, write_crew
from tests.support.planning import ACTS

HELPER = {"kind": "agent", "agent": "h", "description": "It helps."}
PAY = {"kind": "python", "function": "acts.py:pay", "effect": "once", "requires_approval": True}
ASKS = [{"tool": "helper", "arguments": {"ask": "pay bob"}}]
RULES: list[dict[str, Any]] = [
    {"agent": "a", "after": "helper", "say": "it says: {{result.helper}}"},
    {"agent": "a", "calls": ASKS},
    {"agent": "h", "after": "pay", "say": "{{result.pay}}"},
    {"agent": "h", "hears": "pay", "calls": [{"tool": "pay", "arguments": {"to": "bob"}}]},
    {"agent": "h", "say": "nothing to do"},
]


def helping(
    folder: Path,
    rules: list[dict[str, Any]] = RULES,
    helper: dict[str, Any] | None = None,
    tools: dict[str, Any] | None = None,
    agents: dict[str, Any] | None = None,
    **crew: Any,
) -> Path:
    made: dict[str, Any] = {
        "a": {"tools": ["helper"], "is_terminal": True},
        "h": {"tools": ["pay"], **(helper or {})},
        **(agents or {}),
    }
    known = {"helper": HELPER, "pay": PAY, **(tools or {})}
    written = write_crew(folder, made, rules, known, **crew)
    (written / "acts.py").write_text(ACTS)
    return written


def without_approval() -> dict[str, Any]:
    return {"pay": {key: one for key, one in PAY.items() if key != "requires_approval"}}


def paid(folder: Path) -> list[str]:
    path = folder / "ledger"
    return path.read_text().split() if path.exists() else []


async def test_its_calls_are_its_own(tmp_path: Path):
    """Each is asked about; the run goes on where it stood, and no step is made again."""
    async with Runs(load_crew(helping(tmp_path)), MemoryStore()) as runs:
        run = await runs.start(Query("go"))
        assert (await run.outcome()).status == "paused"
        events = [json.loads(one.encoded) async for one in runs.stored(run.id)]
        (asked,) = next(one["metadata"]["calls"] for one in events if one["type"] == "pause")
        assert (asked["tool"], asked["agent_id"]) == ("pay", "h")
        decided = (CallDecision(asked["call_id"], "approve", "h"),)
        row = await (await runs.resume(run.id, Answer("", decisions=decided))).outcome()
        assert row.answer == "it says: paid bob"
        events = [json.loads(one.encoded) async for one in runs.stored(run.id)]
    assert paid(tmp_path) == ["bob"]
    starts = [one["metadata"]["tool"] for one in events if one["type"] == "tool_start"]
    assert starts == ["helper", "pay"]


async def test_it_is_never_made_again(tmp_path: Path):
    """Whatever event the process ends behind: it goes on from its own last step."""
    folder = helping(tmp_path, tools=without_approval())
    async with Runs(load_crew(folder), MemoryStore()) as runs:
        run = await runs.start(Query("go"))
        answer = (await run.outcome()).answer
        events = [json.loads(one.encoded) async for one in runs.stored(run.id)]
        for event in events[:-1]:
            other = (await runs.fork(run.id, event["metadata"]["seq"])).id
            row = await runs.outcome(other)
            if row.status == "paused":
                # whether the act within it was made is not known
                row = await (await runs.resume(other, Answer("", decision="retry"))).outcome()
            assert row.answer == answer
            after = [json.loads(one.encoded) async for one in runs.stored(other)]
            spoken = [
                one["metadata"]["round"]
                for one in after
                if one["type"] == "agent_response" and one["metadata"]["agent_id"] == "h"
            ]
            assert spoken == [1, 2]


async def test_two_at_once(tmp_path: Path):
    """Two calls of one answer, and the same ids within: results do not meet."""
    calls = [{"tool": "helper", "arguments": {"ask": f"pay {who}"}} for who in ("bob", "eve")]
    rules: list[dict[str, Any]] = [
        {"agent": "a", "after": "helper", "say": "done"},
        {"agent": "a", "calls": calls},
        {"agent": "h", "after": "pay", "say": "{{result.pay}}"},
        {"agent": "h", "hears": "bob", "calls": [{"tool": "pay", "arguments": {"to": "bob"}}]},
        {"agent": "h", "hears": "eve", "calls": [{"tool": "pay", "arguments": {"to": "eve"}}]},
    ]
    played = await play(load_crew(helping(tmp_path, rules, tools=without_approval())), "go")
    outputs = {
        one["metadata"]["call_id"]: one["metadata"]["output"]
        for one in played.of("tool_result")
        if one["metadata"]["tool"] == "helper"
    }
    assert sorted(outputs.values()) == ["paid bob", "paid eve"]
    inner = [one["metadata"]["call_id"] for one in played.of("tool_start")]
    assert len(set(inner)) == 4


async def test_it_works_in_a_group(tmp_path: Path):
    """Of two members with the same ids, each has its own."""
    agents = {"b": {"tools": ["helper"]}, "end": {"is_terminal": True}}
    rules: list[dict[str, Any]] = [
        {"agent": ["a", "b"], "after": "helper", "say": "{{result.helper}}"},
        {"agent": "a", "calls": [{"tool": "helper", "arguments": {"ask": "for a"}}]},
        {"agent": "b", "calls": [{"tool": "helper", "arguments": {"ask": "for b"}}]},
        {"agent": "h", "say": "did {{heard}}"},
        {"agent": "end", "say": "end"},
        {"agent": "start", "say": "[G]"},
    ]
    routing = {
        "signals": {"start": [{"signal": "[G]", "target": "g"}]},
        "parallel_groups": {"g": {"agents": ["a", "b"], "next_agent": "end"}},
    }
    folder = helping(
        tmp_path,
        rules,
        agents={"start": {}, "a": {"tools": ["helper"]}, **agents},
        routing=routing,
        entry_point="start",
    )
    played = await play(load_crew(folder), "go")
    (ended,) = played.of("parallel_end")
    results = [one["metadata"]["output"] for one in played.of("tool_result")]
    assert sorted(results) == ["did for a", "did for b"]
    assert played.row.answer == "end"
    assert ended["metadata"]["failed"] == []


OUTPUT = {"properties": {"x": {"type": "integer"}}, "required": ["x"]}


@pytest.mark.parametrize(
    ("helper", "rule", "status", "output"),
    [
        ({}, {"fail": "unavailable"}, "error", "H has no answer"),
        ({"output": OUTPUT, "output_retries": 0}, {"say": "no"}, "error", "H has no answer"),
        ({"output": OUTPUT}, {"say": {"x": 1}}, "success", '{"x":1}'),
        (
            {"max_rounds": 1},
            {"calls": [{"tool": "pay", "arguments": {"to": "x"}}]},
            "error",
            "H has",
        ),
    ],
)
async def test_what_it_gives(
    tmp_path: Path, helper: Any, rule: dict[str, Any], status: str, output: str
):
    rules = [RULES[0], RULES[1], {"agent": "h", **rule}]
    folder = helping(tmp_path, rules, helper, without_approval())
    played = await play(load_crew(folder), "go")
    result = [
        one["metadata"] for one in played.of("tool_result") if one["metadata"]["tool"] == "helper"
    ]
    assert [one["status"] for one in result] == [status]
    assert result[0]["output"].startswith(output)
    assert played.row.status == "completed"


async def test_its_time_is_its_own(tmp_path: Path):
    """Not that of a sequence of calls."""
    rules = [RULES[0], RULES[1], {"agent": "h", "say": "slow", "delay_seconds": 0.6}]
    quick = {"tool_result_timeout_seconds": 0.2, "tool_execution_timeout_seconds": 0.1}
    folder = helping(tmp_path, rules, settings=quick)
    played = await play(load_crew(folder), "go")
    assert played.row.answer == "it says: slow"
    short = {"helper": {**HELPER, "timeout_seconds": 0.1}}
    rules[2] = {"agent": "h", "say": "slow", "delay_seconds": 60}
    played = await play(load_crew(helping(tmp_path / "2", rules, tools=short)), "go")
    assert "member_timeout" in [one["metadata"]["code"] for one in played.of("warning")]
    assert "H has no answer" in str(played.row.answer)


SLOW = {"kind": "python", "function": "acts.py:wait", "effect": "once"}
WAITING: list[dict[str, Any]] = [
    {"agent": "a", "after": "helper", "say": "done"},
    {"agent": "a", "calls": ASKS},
    {"agent": "h", "calls": ["wait"]},
]
AROUND: list[dict[str, Any]] = [
    {"agent": "start", "say": "[G]"},
    {"agent": "b", "say": "[Q]", "delay_seconds": 0.3},
    {"agent": "end", "say": "end"},
]


def waiting(folder: Path, *, in_group: bool = False, **more: Any) -> Path:
    """The helper's call acts once, and has no end of its own."""
    tools, agents = {"wait": SLOW, **more.pop("tools", {})}, {}
    if in_group:
        more = {"routing": GROUP, "entry_point": "start", **more}
        agents = {"start": {}, "b": {}, "end": {"is_terminal": True}}
    rules = [*WAITING, *(AROUND if in_group else [])]
    return helping(folder, rules, {"tools": ["wait"]}, tools, agents, **more)


GROUP: dict[str, Any] = {
    "signals": {
        "start": [{"signal": "[G]", "target": "g"}],
        "b": [{"signal": "[Q]", "target": "end"}],
    },
    "parallel_groups": {"g": {"agents": ["a", "b"], "next_agent": "end"}},
}


async def until_called(runs: Runs, run_id: str, tool: str) -> None:
    async for event in runs.follow(run_id):
        if event is not None and event.type == "tool_start" and event.metadata["tool"] == tool:
            return


def results(events: list[dict[str, Any]]) -> list[tuple[str, str]]:
    """What is known of each call, in order; each that has started has one result."""
    starts = [one["metadata"]["call_id"] for one in events if one["type"] == "tool_start"]
    found = [one["metadata"] for one in events if one["type"] == "tool_result"]
    assert sorted(starts) == sorted(one["call_id"] for one in found)
    return [(one["tool"], one["output"]) for one in found]


CANCELLED = "cut off: the run was cancelled; whether it has acted is not known"


@pytest.mark.parametrize("in_group", [False, True])
async def test_it_is_cut_off_by_the_end_of_a_run(tmp_path: Path, in_group: bool):
    """Its own calls first: a copy of the run can be made of what is stored."""
    async with Runs(load_crew(waiting(tmp_path, in_group=in_group)), MemoryStore()) as runs:
        run = await runs.start(Query("go"))
        await until_called(runs, run.id, "wait")
        await runs.cancel(run.id)
        assert (await run.outcome()).reason == "cancelled"
        events = [json.loads(one.encoded) async for one in runs.stored(run.id)]
        assert results(events) == [("wait", CANCELLED), ("helper", CANCELLED)]
        other = (await runs.fork(run.id, events[-2]["metadata"]["seq"])).id
        assert (await runs.outcome(other)).status == "completed"


async def test_it_is_cut_off_by_its_time(tmp_path: Path):
    short = {"helper": {**HELPER, "timeout_seconds": 0.2}}
    played = await play(load_crew(waiting(tmp_path, tools=short)), "go")
    (own, said), (call, output) = results(played.events)
    assert (own, call, output) == ("wait", "helper", "H has no answer")
    assert said == "cut off: H has no answer; whether it has acted is not known"
    assert played.row.answer == "done"


async def test_it_is_cut_off_by_the_end_of_a_group(tmp_path: Path):
    """Another member has led on, or its own time is over."""
    group = GROUP["parallel_groups"]["g"]
    for n, keys in enumerate(({"wait_for_all": False}, {"timeout_seconds": 1})):
        routing = GROUP | {"parallel_groups": {"g": group | keys}}
        folder = waiting(tmp_path / str(n), in_group=True, routing=routing)
        played = await play(load_crew(folder), "go")
        ended = "cut off: the group g has ended without it; whether it has acted is not known"
        assert results(played.events) == [("wait", ended), ("helper", ended)]
        assert played.row.answer == "end"


async def test_wrong_arguments_are_an_error(tmp_path: Path):
    rules = [RULES[0], {"agent": "a", "calls": [{"tool": "helper", "arguments": {}}]}]
    played = await play(load_crew(helping(tmp_path, [*rules, *RULES[2:]])), "go")
    (result,) = played.of("tool_result")
    assert "ask" in result["metadata"]["output"]
    assert [one["metadata"]["agent_id"] for one in played.of("agent_response")] == ["a", "a"]


async def test_it_is_shown_its_ask_alone(tmp_path: Path):
    """No history, no routing: a signal in its answer leads nowhere."""
    rules = [RULES[0], RULES[1], {"agent": "h", "seen": "a secret of the run", "say": "seen"}]
    rules.append({"agent": "h", "say": "[GO] not seen"})
    routing = {"signals": {"h": [{"signal": "[GO]", "target": "a"}]}}
    played = await play(load_crew(helping(tmp_path, rules, routing=routing)), "a secret of the run")
    assert played.row.answer == "it says: [GO] not seen"
    assert played.of("handoff") == []


@pytest.mark.parametrize(
    ("tools", "agents", "code"),
    [
        ({"helper": {**HELPER, "agent": "z"}}, {}, "unknown-agent"),
        ({"helper": {**HELPER, "agent": "a"}}, {}, "agent-tool-nested"),
        ({}, {"h": {"plan": {"workers": ["a"]}}}, "agent-tool-nested"),
        ({}, {"p": {"plan": {"workers": ["a"]}}}, "agent-tool-nested"),
        ({"helper": {**HELPER, "retries": 1}}, {}, "unknown-key"),
    ],
)
def test_what_is_wrong_with_the_files(tmp_path: Path, tools: Any, agents: Any, code: str):
    problems = check(helping(tmp_path, tools=tools, agents=agents)).problems
    assert code in [one.code for one in problems]


def test_it_has_no_place_in_the_order(tmp_path: Path):
    crew = load_crew(helping(tmp_path))
    assert crew.warnings == ()
    kinds = {(edge.from_, edge.to): edge.kind for edge in crew.graph.drawn()}
    assert kinds[("a", "h")] == "tool"
    assert all(from_ != "h" for from_, _ in kinds)
