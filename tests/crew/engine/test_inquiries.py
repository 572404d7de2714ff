"""Tools that ask a person before they go on: the run pauses, and the tool gets what is said."""

import asyncio
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crew import Answer, MemoryStore, Query, Runs, load_crew
from crew.journal.query import CallDecision
from crew.journal.records.rows import Write
from crew.journal.store import RunStore
from crew.runs.errors import ChangedCall, WrongDecision
from tests.support.crews import Played, write_crew
from tools import Tool, ToolContext, VirtualClock, tool
from tools.definition import Effect
from tools.forms import Filled, Form, FormReply, FormsNeeded

DAY = {"type": "object", "properties": {"day": {"type": "string"}}, "required": ["day"]}
SEATS = {"type": "object", "properties": {"seats": {"type": "integer"}}, "required": ["seats"]}
Q = Form("q", "Which day?", DAY)
BOOK: dict[str, Any] = {"tool": "book", "arguments": {"city": "Hue"}}


class Desk:
    """What asks, and what it was told."""

    def __init__(self, *rounds: tuple[Form, ...]) -> None:
        self.rounds = rounds
        # of each call with a reply
        self.replies: list[FormReply] = []
        self.calls = 0

    def tool(self, effect: Effect = "once", **settings: Any) -> Tool:
        """Asks one round after the other, and each again where it is called without a reply."""

        @tool(name="book", effect=effect, **settings)
        async def book(city: str, context: ToolContext) -> str:
            """Book a seat."""
            self.calls += 1
            done = 0
            if context.reply is not None:
                self.replies.append(context.reply)
                done = int(context.reply.state or 0)
            if done < len(self.rounds):
                raise FormsNeeded(self.rounds[done], str(done + 1))
            return f"booked {city}"

        return book


def folder_of(folder: Path, **crew: Any) -> Path:
    rules = [{"after": "book", "say": "{{result.book}}"}, {"say": "", "calls": [BOOK]}]
    return write_crew(folder, {"a": {"tools": ["book"]}}, rules, **crew)


async def run(folder: Path, desk: Tool, *answers: Answer, store: RunStore | None = None) -> Played:
    """A run with these answers to its pauses, each in a process of its own."""
    store = store or MemoryStore()
    begun = await Runs(load_crew(folder, tools=[desk]), store).start(Query("book"))
    row = await begun.outcome()
    for answer in answers:
        assert row.status == "paused"
        runs = Runs(load_crew(folder, tools=[desk]), store)
        row = await (await runs.resume(begun.id, answer)).outcome()
    runs = Runs(load_crew(folder, tools=[desk]), store)
    return Played(row, [json.loads(one.encoded) async for one in runs.stored(begun.id)])


def fill(agent: str = "a", **content: Any) -> Answer:
    decision = CallDecision("call_1_1", "approve", agent, arguments=content)
    return Answer(decisions=(decision,), by="ann")


NO = Answer(decision="deny")


async def test_a_form_is_filled_in(tmp_path: Path):
    """The pause shows it; the call is made again with what was said, and has one result."""
    desk = Desk((Q,))
    told = await run(folder_of(tmp_path), desk.tool(), fill(day="Monday"))
    pause = told.of("pause")[0]["metadata"]
    assert pause["question"] == "form"
    assert pause["form"] == {"call_id": "call_1_1", "message": "Which day?", "schema": DAY}
    (asked,) = pause["calls"]
    assert (asked["tool"], asked["arguments"], asked["may"]) == (
        "book",
        {"city": "Hue"},
        ["approve", "deny"],
    )
    assert told.row.answer == "booked Hue"
    assert desk.replies == [FormReply((Filled(Q, {"day": "Monday"}),), "1")]
    assert len(told.of("tool_result")) == 1
    # what the tool wants back is nobody else's
    assert '"state"' not in json.dumps(told.events)
    assert told.of("answered")[0]["metadata"]["decisions"][0]["arguments"] == {"day": "Monday"}


@pytest.mark.parametrize("effect", ["read", "idempotent", "once"])
async def test_several_forms(tmp_path: Path, effect: Effect):
    """One after the other; a tool may ask again when it has its answers."""
    desk = Desk(
        (Form("day", "Which day?", DAY), Form("seats", "How many?", SEATS)),
        (Form("page", "Log in", DAY, "https://example.com/login"),),
    )
    answers = (fill(day="Monday"), fill(seats="2"), Answer(decision="approve"))
    told = await run(folder_of(tmp_path), desk.tool(effect), *answers)
    forms = [one["metadata"]["form"] for one in told.of("pause")]
    assert [one["message"] for one in forms] == ["Which day?", "How many?", "Log in"]
    assert forms[2]["url"] == "https://example.com/login"
    assert [[one.content for one in reply.filled] for reply in desk.replies] == [
        [{"day": "Monday"}, {"seats": 2}],
        [{}],
    ]
    assert told.row.answer == "booked Hue"


async def test_a_person_says_no(tmp_path: Path):
    """The tool says what follows from it."""
    desk = Desk((Q,))
    told = await run(folder_of(tmp_path), desk.tool(), replace(NO, text="no"))
    assert desk.replies == [FormReply((Filled(Q, None),), "1")]
    assert told.row.status == "completed"


@pytest.mark.parametrize("effect", ["read", "once"])
async def test_nobody_answers_in_time(tmp_path: Path, effect: Effect):
    """That is a no."""
    desk = Desk((Q,))
    settings = {"wait_timeout_seconds": 60}
    folder = folder_of(tmp_path, routing={"agent_behaviors": {"a": settings}})
    store = MemoryStore()
    told = await run(folder, desk.tool(effect), store=store)
    assert told.of("pause")[0]["metadata"]["answer_until"]
    runs = Runs(load_crew(folder, tools=[desk.tool(effect)]), store)
    await runs.expire(told.row)
    # the agent reads what the tool makes of it
    assert (await runs.outcome(told.row.run_id)).answer == "booked Hue"
    assert desk.replies == [FormReply((Filled(Q, None),), "1")]


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (fill(), '"day" is a required'),
        (fill(day="Monday", hour=1), "hour"),
        (Answer(decision="approve"), '"day" is a required'),
        (Answer(decision="done", result="x"), "approve or deny, not done"),
        (Answer(decision="retry"), "approve or deny, not retry"),
        (
            Answer(decisions=(CallDecision("call_1_1", "deny", arguments={"day": "x"}),)),
            "go with approve",
        ),
        (
            Answer(decisions=(CallDecision("call_1_1", "approve", remember="run"),)),
            "cannot be remembered",
        ),
    ],
)
async def test_an_answer_that_does_not_fit(tmp_path: Path, answer: Answer, said: str):
    """The run waits on."""
    desk = Desk((Q,))
    with pytest.raises(WrongDecision, match=said):
        await run(folder_of(tmp_path), desk.tool(), answer)
    assert desk.calls == 1


async def test_a_page_has_nothing_to_fill_in(tmp_path: Path):
    desk = Desk((Form("q", "Log in", DAY, "https://example.com"),))
    with pytest.raises(WrongDecision, match="nothing to fill in: it is done at https"):
        await run(folder_of(tmp_path), desk.tool(), fill(day="Monday"))
    answer = Answer(decisions=(CallDecision("call_1_1", "approve", hash="0" * 64),))
    with pytest.raises(ChangedCall):
        await run(folder_of(tmp_path), desk.tool(), answer)


async def test_a_call_that_is_approved_and_then_asks(tmp_path: Path):
    """The approval is not asked for again."""
    desk = Desk((Q,))
    book = desk.tool(requires_approval=True)
    yes = Answer(decision="approve", by="ann")
    told = await run(folder_of(tmp_path), book, yes, fill(day="Monday"))
    assert [one["metadata"]["question"] for one in told.of("pause")] == ["approval", "form"]
    assert told.row.answer == "booked Hue"


async def test_a_process_that_ends_with_an_answer(tmp_path: Path):
    """The next one makes the call with it: what was said is in the log."""
    folder, desk, before = folder_of(tmp_path), Desk((Q,)), MemoryStore()
    whole = await run(folder, desk.tool(), fill(day="Monday"), store=before)
    records = await before.records(whole.row.run_id)
    resumed = next(n for n, one in enumerate(records, 1) if "RunResumed" in one.event)
    for last in (resumed, resumed + 1):
        store = MemoryStore()
        left = replace(whole.row, status="running", ended_at=None)
        await store.append(Write(left.run_id, records[:last], left))
        async with Runs(load_crew(folder, tools=[desk.tool()]), store) as runs:
            (again,) = await runs.recover()
            assert (await again.outcome()).answer == "booked Hue"
    assert desk.replies == [FormReply((Filled(Q, {"day": "Monday"}),), "1")] * 3


async def test_members_of_a_group(tmp_path: Path):
    """Are asked one after the other, and their calls made when all forms are filled in."""
    rules = [
        {"agent": "z", "say": "the end"},
        {"after": "book", "say": "{{result.book}}"},
        {"agent": ["b", "c"], "say": "", "calls": [BOOK]},
        {"say": "all"},
    ]
    group = {"agents": ["b", "c"], "wait_for_all": True, "next_agent": "z"}
    routing = {"parallel_groups": {"g": group}, "defaults": {"a": "g", "z": None}}
    agents = {"a": {}, "b": {"tools": ["book"]}, "c": {"tools": ["book"]}, "z": {}}
    folder = write_crew(tmp_path, agents, rules, routing=routing)
    desk = Desk((Q,))
    told = await run(folder, desk.tool(), fill("b", day="Monday"), fill("c", day="Tuesday"))
    assert [one["metadata"]["calls"][0]["agent_id"] for one in told.of("pause")] == ["b", "c"]
    assert {
        reply.filled[0].content["day"] for reply in desk.replies if reply.filled[0].content
    } == {
        "Monday",
        "Tuesday",
    }
    assert (told.row.answer, desk.calls) == ("the end", 4)


async def test_a_member_that_fails_with_its_form(tmp_path: Path):
    """Holds up nobody: another member is asked about its own call."""

    @tool(name="book", effect="read", timeout_seconds=600)
    async def book(city: str, context: ToolContext) -> str:
        """Book, if it ever answers."""
        if context.reply is None:
            raise FormsNeeded((Q,), None)
        await asyncio.Event().wait()
        return city

    @tool(name="pay", requires_approval=True)
    async def pay() -> str:
        """Pay."""
        return "paid"

    rules = [
        {"agent": "b", "say": "", "calls": [BOOK]},
        {"agent": "c", "after": "pay", "say": "{{result.pay}}"},
        {"agent": "c", "say": "", "calls": ["pay"]},
        {"say": "all"},
    ]
    group = {"agents": ["b", "c"], "wait_for_all": True, "timeout_seconds": 10, "next_agent": "z"}
    routing = {"parallel_groups": {"g": group}, "defaults": {"a": "g", "z": None}}
    agents = {"a": {}, "b": {"tools": ["book"]}, "c": {"tools": ["pay"]}, "z": {}}
    folder = write_crew(tmp_path, agents, rules, routing=routing)
    clock = VirtualClock()
    crew = load_crew(folder, tools=[book, pay], clock=clock)
    async with Runs(crew, MemoryStore(clock)) as runs:
        moving = asyncio.create_task(clock.run())
        run = await runs.start(Query("go"))
        for answer in (fill("b", day="Monday"), Answer(decision="approve")):
            assert (await run.outcome()).status == "paused"
            run = await runs.resume(run.id, answer)
        assert (await run.outcome()).status == "completed"
        moving.cancel()
        told = [json.loads(one.encoded) async for one in runs.stored(run.id)]
    asked = [one["metadata"]["question"] for one in told if one["type"] == "pause"]
    assert asked == ["form", "approval"]
    (ended,) = [one["metadata"] for one in told if one["type"] == "parallel_end"]
    assert (ended["agents"], ended["failed"]) == (["c"], ["b"])


# of each round, of each of its forms: whether it is filled in
words = st.lists(st.lists(st.booleans(), min_size=1, max_size=3), min_size=1, max_size=3)


@given(words)
async def test_whatever_is_asked_and_said(
    tmp_path_factory: pytest.TempPathFactory, wanted: list[list[bool]]
):
    """Each form is asked once, in order; the tool gets all answers of a round together."""
    desk = Desk(*(tuple(Form(f"f{n}", f"{n}?", DAY) for n in range(len(each))) for each in wanted))
    said = [
        [{"day": f"{n} {m}"} if yes else None for m, yes in enumerate(each)]
        for n, each in enumerate(wanted)
    ]
    answers = [NO if one is None else fill(**one) for each in said for one in each]
    told = await run(folder_of(tmp_path_factory.mktemp("crew")), desk.tool(), *answers)
    assert told.row.answer == "booked Hue"
    assert [[one.content for one in reply.filled] for reply in desk.replies] == said
    asked = [one["metadata"]["form"]["message"] for one in told.of("pause")]
    assert asked == [f"{n}?" for each in wanted for n in range(len(each))]
