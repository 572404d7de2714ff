"""What is learned after exchanges, and what proves it."""

from pathlib import Path
from typing import Any

import pytest

from crew import MemoryStore, Query, Runs, SqliteStore, load_crew
from tests.support.crews import write_crew
from tests.support.learning import Learned, learning, lesson, taught


@pytest.mark.parametrize("stored", [False, True])
async def test_what_a_person_says_is_learned_once(tmp_path: Path, stored: bool):
    """With where it was said; in the next exchange it is shown."""
    store = SqliteStore(tmp_path / "runs.db") if stored else MemoryStore()
    answer = lesson(
        taught("owns FPT", "i OWN\u00a0fpt", key="holds FPT", topics=["shares"], importance=0.8),
        core=[
            {
                "block": "profile",
                "edits": [{"old": "risk: null", "new": "risk: high"}],
                "quote": "I like high risks",
                "exchange": 2,
            }
        ],
        outcome="bought  shares",
    )
    rules = [{"seen": "owns FPT", "say": "you own FPT"}, {"say": "what?"}]
    one = learning(tmp_path / "crew", answer, store=store, rules=rules)
    async with one.runs:
        await one.say("I own FPT", "I like high risks")
        await one.learn()
        (item,) = await one.items()
        assert (item.text, item.quote, item.key) == ("owns FPT", "i OWN\u00a0fpt", "holds FPT")
        assert (item.topics, item.importance, item.outcome) == (("shares",), 0.8, "bought shares")
        assert (item.conversation_id, item.exchange, item.by) == ("c1", 1, "learn")
        (block,) = await store.core.newest(["user:ann"])
        assert (block.value, block.by, block.quote) == (
            {"risk": "high"},
            "learn",
            "I like high risks",
        )
        known = await store.conversations.get("user:ann", "c1")
        assert known is not None
        assert known.learned == 2
        assert one.changes == {"added": 1, "edited": 1}
        assert one.outcomes == ["learn done"]
        # the next lesson is of the next exchange alone: the quotes stand in none of it
        await one.say("what do I own?")
        await one.learn()
        assert one.refused == {"quote": 2}
        query = Query("and?", user_id="ann", conversation_id="c2")
        assert (await (await one.runs.start(query)).outcome()).answer == "what?"
        query = Query("which shares are FPT?", user_id="ann", conversation_id="c2")
        assert (await (await one.runs.start(query)).outcome()).answer == "you own FPT"


REFUSED: dict[str, tuple[Any, str]] = {
    "one letter": (taught("x", "I"), "quote"),
    "stop words": (taught("x", "of it and some"), "quote"),
    "white space": (taught("x", "  "), "quote"),
    "nothing": (taught("x", ""), "quote"),
    "10,000 characters": (taught("x", "I own FPT " * 1000), "quote"),
    "words of the agent": (taught("owns VNM", "I own VNM"), "quote"),
    "half a word": (taught("owns shar", "own FPT and some sha"), "quote"),
    "across two messages": (taught("x", "some shares and more"), "quote"),
    "in another exchange": (taught("owns FPT", "I own FPT and some shares", 2), "quote"),
    "in no exchange": (taught("owns FPT", "I own FPT and some shares", 7), "quote"),
    "another name": (taught("owns VNM", "I own FPT and some"), "name"),
    "too long": (taught("x" * 501, "I own FPT and some"), "value"),
    "only marks": (taught("—!?", "I own FPT and some"), "value"),
    "an importance in words": (taught("x", "I own FPT and", importance="high"), "value"),
    "less than none": (taught("x", "I own FPT and", importance=-1), "value"),
    "no object": ("x", "value"),
    "no quote at all": ({"text": "x", "exchange": 1}, "value"),
}


@pytest.mark.parametrize(("item", "reason"), REFUSED.values(), ids=REFUSED.keys())
async def test_what_is_not_proven_is_not_learned(tmp_path: Path, item: Any, reason: str):
    """Another item of the same answer is."""
    good = taught("is a person", "and a person, too", 2)
    one = learning(tmp_path, lesson(item, good))
    async with one.runs:
        await one.say("I own FPT and some shares of it and some others", "and a person, too")
        await one.learn()
        assert await one.texts() == ["is a person"]
        assert one.refused == {reason: 1}


@pytest.mark.parametrize(
    "number", [float("nan"), float("inf")], ids=["not a number", "without an end"]
)
async def test_a_number_that_is_none(tmp_path: Path, number: float):
    one = learning(tmp_path, lesson(taught("x", "I own FPT", importance=number)))
    async with one.runs:
        await one.say("I own FPT")
        await one.learn()
        assert await one.texts() == []


PROVEN = {
    "other case": ("I OWN fpt", "I own FPT"),
    "another form": ("tôi thích ba\u0301n", "Tôi thích bán"),
    "the whole message": ("FPT!", "FPT!"),
    "twelve letters": ("diversification", "only diversification helps"),
    "four characters": ("我住河内", "我住河内了吗"),
    "plain signs for typographic ones": ('I don\'t own - "any" FPT', "I don’t own – “any” FPT."),
    "typographic signs for plain ones": ("I don’t own any FPT", "I don't own any FPT."),
}


@pytest.mark.parametrize(("quote", "text"), PROVEN.values(), ids=PROVEN.keys())
async def test_what_proves(tmp_path: Path, quote: str, text: str):
    one = learning(tmp_path, lesson(taught("so it is", quote)))
    async with one.runs:
        await one.say(text)
        await one.learn()
        assert await one.texts() == ["so it is"]


@pytest.mark.parametrize("learned", [False, True])
async def test_words_of_agents_prove_where_the_crew_says_so(tmp_path: Path, learned: bool):
    more = {"from": ["person", "agents"]} if learned else {}
    one = learning(tmp_path, lesson(taught("owns VNM", "I own VNM")), learn=more)
    async with one.runs:
        await one.say("hello")
        await one.learn()
        assert await one.texts() == (["owns VNM"] if learned else [])


NOTE = "The rule of the house is that nobody may sell below cost. " * 5
PASTES: dict[str, tuple[str, str, bool]] = {
    "pasted alone": ("nobody may sell below cost", f"See: {NOTE}", False),
    "said beside it": ("nobody may sell below", f"Sure, nobody may sell below cost. {NOTE}", True),
    # the document goes on with the same letter
    "words behind it": ("They own twelve shares", f"{NOTE}They own twelve shares", True),
    "words before it": ("we own some", f"we own some. {NOTE}", True),
}


@pytest.mark.parametrize(("quote", "text", "proven"), PASTES.values(), ids=PASTES.keys())
@pytest.mark.parametrize("later", ["at once", "in the same lesson", "after a lesson"])
async def test_a_pasted_passage_teaches_nothing(
    tmp_path: Path, later: str, quote: str, text: str, proven: bool
):
    """What a tool gave in the exchange, or in one before it, is not the person's word."""
    (tmp_path / "notes.py").write_text(f"def look_up() -> str:\n    return {NOTE + 'The end'!r}\n")
    rules = [
        {"after": "look_up", "say": "so it is"},
        {"hears": "look", "calls": [{"tool": "look_up"}]},
        {"say": "well"},
    ]
    tools = {"look_up": {"kind": "python", "function": "notes.py:look_up", "effect": "read"}}
    given = {"recall": {"learn": {"idle_seconds": 0}}}
    agents = {"a": {"is_terminal": True, "tools": ["look_up"]}}
    item = taught("so it is", quote, 1 if later == "at once" else 2)
    path = write_crew(
        tmp_path,
        agents,
        [{"helper": "learn", "say": lesson(item)}, *rules],
        memory=given,
        conversations={},
        tools=tools,
    )
    one = Learned(Runs(load_crew(path), MemoryStore()))
    async with one.runs:
        await one.say(f"look {text}" if later == "at once" else "please look")
        if later == "after a lesson":
            await one.learn()
        if later != "at once":
            await one.say(text)
        await one.learn()
        assert await one.texts() == (["so it is"] if proven else [])


async def test_an_agent_that_repeats_a_passage_teaches_nothing(tmp_path: Path):
    """Even where the words of agents prove something."""
    (tmp_path / "notes.py").write_text(f"def look_up() -> str:\n    return {NOTE!r}\n")
    rules = [{"after": "look_up", "say": f"It says: {NOTE}"}, {"calls": [{"tool": "look_up"}]}]
    tools = {"look_up": {"kind": "python", "function": "notes.py:look_up", "effect": "read"}}
    given = {"recall": {"learn": {"idle_seconds": 0, "from": ["person", "agents"]}}}
    item = taught("may not sell", "nobody may sell below cost")
    path = write_crew(
        tmp_path,
        {"a": {"is_terminal": True, "tools": ["look_up"]}},
        [{"helper": "learn", "say": lesson(item)}, *rules],
        memory=given,
        conversations={},
        tools=tools,
    )
    one = Learned(Runs(load_crew(path), MemoryStore()))
    async with one.runs:
        await one.say("hello")
        await one.learn()
        assert await one.texts() == []
        assert one.refused == {"quote": 1}


async def test_an_answer_to_a_pause_teaches(tmp_path: Path):
    rules = [{"hears": "FPT", "say": "noted [DONE]"}, {"say": "what do you own?"}]
    routing = {
        "signals": {"a": [{"signal": "[DONE]", "target": ""}]},
        "agent_behaviors": {"a": {"wait_for_signal": True}},
    }
    path = write_crew(
        tmp_path,
        {"a": {}},
        [{"helper": "learn", "say": lesson(taught("owns FPT", "some of FPT"))}, *rules],
        memory={"recall": {"learn": {"idle_seconds": 0}}},
        conversations={},
        routing=routing,
    )
    one = Learned(Runs(load_crew(path), MemoryStore()))
    async with one.runs:
        await one.say("hello")
        await one.learn()
        assert one.outcomes == []
        await one.say("I have some of FPT")
        await one.learn()
        assert await one.texts() == ["owns FPT"]
