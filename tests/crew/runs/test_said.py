"""What an exchange holds of a run that paused."""

import json
from pathlib import Path
from typing import Any

from crew import Answer, MemoryStore, Query, Runs
from crew.journal.query import CallDecision
from crew.runs.chores.chores import Chores, Counts
from crew.runs.conversations.conversations import as_markdown
from tests.support.crews import crew_of
from tools import tool


def crew(folder: Path, rules: list[dict[str, Any]], **more: Any) -> Any:
    routing = {
        "agent_behaviors": {"a": {"wait_for_signal": True}},
        "signals": {"a": [{"signal": "[END]"}]},
    }
    return crew_of(folder, {"a": {}}, rules, routing=routing, **{"conversations": {}, **more})


async def test_a_pause_is_a_part_of_its_exchange(tmp_path: Path):
    """The open one is listed with what was said so far; later runs are shown all of it."""
    rules = [
        {"seen": "yes please refund", "hears": "again", "say": "You wanted a refund. [END]"},
        {"hears": "refund", "say": "Refunded. [END]"},
        {"hears": "status", "say": "By card? [END]"},
        {"say": "Shall I refund it?"},
    ]
    async with Runs(crew(tmp_path, rules), MemoryStore()) as runs:
        run = await runs.start(Query("Where is my order?", user_id="ann", conversation_id="c1"))
        await run.outcome()
        (still_open,) = await runs.conversations.exchanges("ann", "c1")
        assert (still_open.number, still_open.status, still_open.answer) == (1, "paused", "")
        assert (still_open.query, still_open.ended_at) == ("Where is my order?", "")
        assert [(one.agent, one.text) for one in still_open.said] == [("A", "Shall I refund it?")]
        assert await runs.conversations.exchanges("ann", "c1", after=1) == []
        query = Query("yes please refund", user_id="ann", conversation_id="c1")
        await (await runs.start(query)).outcome()
        (ended,) = await runs.conversations.exchanges("ann", "c1")
        assert (ended.status, ended.answer) == ("completed", "Refunded. [END]")
        said = [("A", "Shall I refund it?"), ("", "yes please refund")]
        assert [(one.agent, one.text) for one in ended.said] == said
        again = await runs.start(Query("again", user_id="ann", conversation_id="c1"))
        assert (await again.outcome()).answer == "You wanted a refund. [END]"
        text = as_markdown(await runs.conversations.get("ann", "c1"), [ended])
        assert "> Where is my order?\n\n**A:** Shall I refund it?\n\n> yes please refund" in text


async def test_what_a_person_says_to_a_call(tmp_path: Path):
    """A question about calls is a part too, and the reason or the decision that answers it."""

    @tool(requires_approval=True)
    def pay(to: str) -> str:
        """Pay."""
        return "paid"

    rules = [
        {"after": "pay", "say": "Done. [END]"},
        {"say": "", "calls": [{"tool": "pay", "arguments": {"to": "shop"}}]},
    ]
    agents = {"a": {"tools": ["pay"], "is_terminal": True}}
    async with Runs(crew_of(tmp_path, agents, rules, pay, conversations={}), MemoryStore()) as runs:
        for reason in ("", "far too much"):
            run = await runs.start(Query("pay it", conversation_id="c1"))
            await run.outcome()
            (event,) = [one async for one in runs.stored(run.id) if one.type == "pause"]
            call = event.metadata["calls"][0]["call_id"]
            denied = (CallDecision(call, "deny", reason=reason),) if reason else ()
            answer = Answer(decision=None if reason else "approve", decisions=denied)
            await (await runs.resume(run.id, answer)).outcome()
        found = await runs.conversations.exchanges("", "c1")
    said = [[(one.agent, one.text) for one in exchange.said] for exchange in found]
    asked = ("A", 'approve?\npay {"to":"shop"}')
    assert said == [[asked, ("", "approve")], [asked, ("", "far too much")]]


async def test_facts_are_of_the_person(tmp_path: Path):
    """What an agent said is no fact; what the person said to a pause is one."""
    facts = [
        {"text": "wants blue", "quote": "blue for the wall", "exchange": 1},
        {"text": "likes red", "quote": "Is red what you like?", "exchange": 1},
        {"text": "is a person", "quote": "wall", "exchange": 1},
        {"text": "paints", "quote": "paint it", "exchange": 1},
    ]
    summary = json.dumps({"summary": "Paint.", "facts": facts})
    heard: list[str] = []
    rules = [
        {"helper": "summary", "hears": "user: blue for the wall", "say": summary},
        {"helper": "summary", "say": "no JSON"},
        {"hears": "wall", "say": "Blue. [END]"},
        {"hears": "paint it", "say": "Is red what you like?"},
        {"say": "Yes. [END]"},
    ]
    blocks = [{"kind": "summary", "every": 1, "keep": 1}, {"kind": "history", "exchanges": 1}]
    async with Runs(crew(tmp_path, rules, context={"blocks": blocks}), MemoryStore()) as runs:
        for text in ("paint it", "blue for the wall", "so?"):
            await (await runs.start(Query(text, conversation_id="c1"))).outcome()
        await Chores(
            runs, Counts(facts=lambda outcome, count: heard.append(f"{count} {outcome}"))
        ).drain()
        known = await runs.conversations.summary("", "c1")
    assert known is not None
    assert [one.text for one in known.facts] == ["wants blue", "paints"]
    assert heard == ["2 kept", "2 dropped"]
