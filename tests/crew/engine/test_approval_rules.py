"""When a person is asked, what the person may change, and what holds afterwards."""

import asyncio
import json
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crew import Answer, MemoryStore, Query, Runs, check, load_crew
from crew.journal.query import CallDecision
from crew.runs.errors import ChangedCall, WrongDecision
from tests.support.crews import Played, write_crew
from tools.approval import ApprovalRule, Condition
from tools.clock import rfc3339
from tools.config.approval import ApprovalConfig
from tools.schemas.yaml_shape import Plain
from tools.virtual_clock import VirtualClock

ACTS = """
from pathlib import Path
LEDGER = Path(__file__).parent / "ledger"

def pay(to: str, amount: int = 10) -> str:
    '''Pay someone.'''
    with LEDGER.open("a") as out:
        out.write(f"{to} {amount}\\n")
    return f"paid {amount} to {to}"
"""


def paying(folder: Path, calls: list[dict[str, Any]], **keys: Any) -> Path:
    """A crew whose agent makes these calls, one an answer, then says what came of the last."""
    folder.mkdir(exist_ok=True)
    (folder / "acts.py").write_text(ACTS)
    rules: list[dict[str, Any]] = [
        {"turn": number, "calls": [{"tool": "pay", "arguments": arguments}]}
        for number, arguments in enumerate(calls, 1)
    ]
    entry = {"kind": "python", "function": "acts.py:pay", "requires_approval": True, **keys}
    return write_crew(
        folder, {"a": {"tools": ["pay"]}}, [*rules, {"say": "{{result.pay}}"}], tools={"pay": entry}
    )


def paid(folder: Path) -> list[str]:
    ledger = folder / "ledger"
    return ledger.read_text().splitlines() if ledger.exists() else []


async def played(folder: Path, *answers: Answer, clock: VirtualClock | None = None) -> Played:
    """A run with these answers to its pauses."""
    crew = load_crew(folder) if clock is None else load_crew(folder, clock=clock)
    store = MemoryStore() if clock is None else MemoryStore(clock)
    async with Runs(crew, store) as runs:
        run = await runs.start(Query("pay"))
        row = await run.outcome()
        for answer in answers:
            assert row.status == "paused"
            row = await (await runs.resume(run.id, answer)).outcome()
        events = [json.loads(event.encoded) async for event in runs.stored(run.id)]
    return Played(row, events)


def each(decision: Any, call: str = "call_1_1", **more: Any) -> Answer:
    return Answer(decisions=(CallDecision(call, decision, **more),), by="ann")


BOB = {"to": "bob"}


@pytest.mark.parametrize(
    ("when", "arguments", "asks"),
    [
        ({"to": "bob"}, BOB, True),
        ({"to": "eve"}, BOB, False),
        ({"to": ["eve", "bob"]}, BOB, True),
        ({"amount": {"above": 100}}, {"to": "bob", "amount": 101}, True),
        ({"amount": {"above": 100}}, {"to": "bob", "amount": "101"}, True),
        ({"amount": {"above": 100}}, {"to": "bob", "amount": 100}, False),
        # its default counts
        ({"amount": {"above": 9}}, BOB, True),
        ({"amount": {"below": 10}}, BOB, False),
        ({"to": {"matches": "^b"}}, BOB, True),
        ({"to": {"matches": "^x"}}, BOB, False),
        ({"to": {"not": "bob"}}, BOB, False),
        ({"to": {"not": ["eve", "joe"]}}, BOB, True),
        ({"to": "bob", "amount": 11}, BOB, False),
        ([{"amount": 11}, {"to": "bob"}], BOB, True),
        ([], BOB, True),
    ],
)
async def test_whom_a_person_is_asked_about(
    tmp_path: Path, when: Any, arguments: dict[str, Any], asks: bool
):
    """The others are made at once."""
    folder = paying(tmp_path, [arguments], requires_approval={"when": when})
    run = await played(folder)
    assert (run.row.status == "paused") == asks
    assert len(paid(folder)) == (not asks)


async def test_a_person_changes_the_arguments(tmp_path: Path):
    """The call goes out so; the agent reads it, the events tell it."""
    folder = paying(tmp_path, [BOB])
    run = await played(folder, each("approve", arguments={"to": "eve", "amount": 5}))
    assert paid(folder) == ["eve 5"]
    note = '[A person changed the arguments to {"to": "eve", "amount": 5}]\npaid 5 to eve'
    assert run.row.answer == note
    begun = run.of("tool_start")[0]["metadata"]
    assert (begun["arguments"], begun["approved_by"], begun["edited"]) == (
        {"to": "eve", "amount": 5},
        "ann",
        True,
    )
    answered = run.of("answered")[0]
    assert answered["agent"] == "ann"
    pause = run.of("pause")[0]["metadata"]["seq"]
    assert answered["metadata"] | {"run_id": "", "seq": 0} == {
        "run_id": "",
        "seq": 0,
        "agent_id": None,
        "pause_seq": pause,
        "by": "ann",
        "decisions": [
            {
                "call_id": "call_1_1",
                "decision": "approve",
                "arguments": {"to": "eve", "amount": 5},
            }
        ],
    }
    at = run.types.index("answered")
    assert run.types[at - 1 : at + 2] == ["start", "answered", "tool_start"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({}, "to: is missing"),
        ({"to": "eve", "amount": "many"}, "amount: "),
        ({"to": "eve", "other": 1}, "other: is unknown"),
        ({"to": "eve", "amount": 500}, "outside what was asked"),
    ],
)
async def test_a_change_must_fit_and_stay_within_what_was_asked(
    tmp_path: Path, arguments: dict[str, Any], said: str
):
    """Or the run stays paused."""
    when = {"amount": {"below": 100}}
    folder = paying(tmp_path, [BOB], requires_approval={"when": when})
    with pytest.raises(WrongDecision, match=said):
        await played(folder, each("approve", arguments=arguments))
    assert paid(folder) == []


@pytest.mark.parametrize(
    ("keys", "answer", "said"),
    [
        ({"edit": False}, each("approve", arguments=BOB), "cannot be changed"),
        ({}, each("deny", arguments=BOB), "cannot be changed"),
        ({}, each("done", result="x"), "approve or deny, not done"),
        ({"answer": True}, each("done"), "done needs a result"),
        ({"remember": []}, each("approve", remember="run"), "cannot be remembered"),
        ({}, each("deny", remember="run"), "cannot be remembered"),
        ({}, each("approve", remember="always"), "cannot be remembered"),
        ({}, each("approve", patterns={"to": "b*"}), "go with remember: always"),
        (
            {"remember": ["always"]},
            each("approve", remember="always", patterns={"too": "b*"}),
            "has no argument 'too'",
        ),
        (
            {"remember": ["always"]},
            each("approve", remember="always", patterns={"to": "e*"}),
            "is itself not as the pattern for 'to' says",
        ),
        ({}, Answer(decision="done", result="x"), "approve or deny, not done"),
    ],
)
async def test_what_a_tool_does_not_allow(
    tmp_path: Path, keys: dict[str, Any], answer: Answer, said: str
):
    """The run stays paused."""
    folder = paying(tmp_path, [BOB], requires_approval=keys)
    with pytest.raises(WrongDecision, match=said):
        await played(folder, answer)


async def test_a_person_gives_the_result(tmp_path: Path):
    """The call is not made."""
    folder = paying(tmp_path, [BOB], requires_approval={"answer": True})
    run = await played(folder, each("done", result="paid by hand"))
    assert run.row.answer == "paid by hand"
    assert paid(folder) == []
    asked = run.of("pause")[0]["metadata"]["calls"][0]
    assert asked["may"] == ["approve", "edit", "deny", "done"]


async def test_an_approval_for_the_rest_of_the_run(tmp_path: Path):
    """The same tool is not asked about again, and the events tell whose word it was."""
    folder = paying(tmp_path, [BOB, {"to": "eve"}, {"to": "joe"}])
    run = await played(folder, each("approve", remember="run"))
    assert paid(folder) == ["bob 10", "eve 10", "joe 10"]
    assert [one["metadata"]["approved_by"] for one in run.of("tool_start")] == ["ann"] * 3
    # in another run it is asked about anew
    assert (await played(folder)).row.status == "paused"


async def test_what_was_refused_twice_is_refused(tmp_path: Path):
    """With the same arguments; another call is asked about."""
    folder = paying(tmp_path, [BOB, BOB, BOB, {"to": "eve"}])
    no = Answer("no", "deny")
    run = await played(folder, no, no, no)
    results = [one["metadata"] for one in run.of("tool_result")]
    assert [one["status"] for one in results] == ["denied"] * 4
    assert "a person has refused this call 2 times" in results[2]["output"]
    asked = [one["metadata"]["calls"][0]["arguments"]["to"] for one in run.of("pause")]
    assert asked == ["bob", "bob", "eve"]


@pytest.mark.parametrize(
    ("on_deadline", "status", "reason"),
    [("refuse", "completed", "terminal"), ("fail", "failed", "timeout")],
)
async def test_nobody_answers_in_time(tmp_path: Path, on_deadline: str, status: str, reason: str):
    """A clock refuses or fails; it never approves."""
    keys = {"deadline_seconds": 3600, "on_deadline": on_deadline}
    folder = paying(tmp_path, [BOB], requires_approval=keys)
    (folder / "agents" / "a.yaml").write_text(
        (folder / "agents" / "a.yaml").read_text() + "is_terminal: true\n"
    )
    clock = VirtualClock()
    async with Runs(load_crew(folder, clock=clock), MemoryStore(clock)) as runs:
        moving = asyncio.create_task(clock.run())
        run = await runs.start(Query("pay"))
        until = rfc3339(clock.now() + timedelta(hours=1))
        assert (await run.outcome()).paused_until == until
        await clock.sleep(3600)
        await runs.expire(await runs.row(run.id))
        row = await runs.outcome(run.id)
        moving.cancel()
        events = [json.loads(event.encoded) async for event in runs.stored(run.id)]
    assert (row.status, row.reason) == (status, reason)
    assert paid(folder) == []
    assert "answered" not in [event["type"] for event in events]
    if on_deadline == "fail":
        assert "nobody has decided on a call in time" in (row.answer or "")
        assert events[-1]["metadata"]["code"] == "no_approval"
    else:
        assert "Denied without an answer" in (row.answer or "")


async def test_a_pause_that_waits_on(tmp_path: Path):
    """Even where its agent's pauses have an end."""
    keys = {"deadline_seconds": 60, "on_deadline": "wait"}
    folder = paying(tmp_path, [BOB], requires_approval=keys)
    run = await played(folder)
    assert run.row.paused_until is None
    assert "answer_until" not in run.of("pause")[0]["metadata"]


async def test_an_approval_of_another_call_is_refused(tmp_path: Path):
    """By its hash: other arguments, another definition."""
    folder = paying(tmp_path, [BOB])
    with pytest.raises(ChangedCall):
        await played(folder, each("approve", hash="0" * 64))
    one = (await played(folder)).of("pause")[0]["metadata"]["calls"][0]["hash"]
    other = paying(tmp_path / "other", [BOB], description="Pay someone else.")
    assert (await played(other)).of("pause")[0]["metadata"]["calls"][0]["hash"] != one
    with pytest.raises(ChangedCall):
        await played(other, each("approve", hash=one))


@pytest.mark.parametrize(
    ("keys", "line", "said"),
    [
        ({"when": {"too": "bob"}}, "when:", "did you mean 'to'?"),
        ({"when": {"to": {"abve": 1}}}, "abve", "did you mean 'above'?"),
        ({"when": {"to": {"matches": "["}}}, "matches", "is no regular expression"),
        ({"when": "bob"}, "when", "expected a mapping (`key: value` lines) or a list"),
        ({"deadline_seconds": 0}, "deadline_seconds", "greater than 0"),
        ({"on_deadline": "approve"}, "on_deadline", "'refuse', 'wait' or 'fail'"),
        ({"remember": ["ever"]}, "ever", "'run' or 'always'"),
        ({"deadline": 1}, "deadline:", "did you mean 'on_deadline'?"),
    ],
)
def test_mistakes_are_told_at_their_lines(
    tmp_path: Path, keys: dict[str, Any], line: str, said: str
):
    """Before anything starts."""
    folder = paying(tmp_path, [BOB], requires_approval=keys)
    problems = [one for one in check(folder).problems if one.severity == "error"]
    assert len(problems) == 1, problems
    text = (folder / "tools.yaml").read_text().splitlines()[problems[0].line - 1]
    assert line in text
    suggestion = f"; did you mean {problems[0].suggestion!r}?" if problems[0].suggestion else ""
    assert said in problems[0].message + suggestion


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
        lambda inner: (
            st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=2), inner, max_size=2)
        ),
        max_leaves=4,
    )
)
def test_any_value_is_compared_and_what_cannot_be_is_asked_about(value: Any):
    """Never an error, and never silently let through."""
    for condition in (Condition(above=1), Condition(below=1), Condition(matches="a")):
        rule = ApprovalRule(({"x": condition},))
        asks = rule.applies([{"x": value}], {})
        is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
        if not is_number and not isinstance(value, str):
            assert asks


def test_conditions_are_read_as_yaml_writes_them():
    """Plain scalars have their types."""
    config = ApprovalConfig.model_validate(
        {"when": {"a": Plain("1"), "b": [Plain("true"), "x"], "c": {"not": Plain("2")}}}
    )
    rule = config.live()
    assert rule.applies([{"a": 1, "b": True, "c": 3}], {})
    assert rule.applies([{"a": "1", "b": "true", "c": "3"}], {})
    assert not rule.applies([{"a": 1, "b": True, "c": 2}], {})
    assert not rule.applies([{"a": True, "b": True, "c": 3}], {})
    assert not rule.applies([{"a": 1, "b": 1, "c": 3}], {})
