"""What a quote proves, and what an exchange holds of a run that paused."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crew import Answer, MemoryStore, Query, Runs
from crew.journal.query import CallDecision
from crew.journal.said import proves
from crew.runs.chores.chores import Chores, Counts
from crew.runs.conversations.conversations import as_markdown
from tests.support.crews import crew_of
from tools import tool

SENTENCE = "Hello, I own 12 shares of FPT\n and I have paid by card."
WORDS = st.lists(st.text("abcdef", min_size=1, max_size=6), min_size=3, max_size=12)


@pytest.mark.parametrize(
    ("quote", "texts", "is_proof"),
    [
        ("I own 12 shares", [SENTENCE], True),
        ("i  OWN\n12 shares", [SENTENCE], True),
        ("Ｉ ｏｗｎ １２", [SENTENCE], True),
        ("12 shares of FPT and", [SENTENCE], True),
        # within words, or too short
        ("own 12 share", [SENTENCE], False),
        ("ello, I own", [SENTENCE], False),
        ("of FPT", [SENTENCE], False),
        ("I", [SENTENCE], False),
        (" ", [SENTENCE, " "], False),
        (", .", ["x , . y"], False),
        # never said, or by another one
        ("I own 13 shares", [SENTENCE], False),
        ("I own 12 shares", [], False),
        # a short one is the whole of what was said
        ("yes", ["yes"], True),
        ("YES ", ["no", " Yes"], True),
        ("yes", ["yes, but later"], False),
        # one long word
        ("Kraftfahrzeughaftpflicht", ["die Kraftfahrzeughaftpflicht ist bezahlt"], True),
        ("haftpflichtversicherung", ["die Kraftfahrzeughaftpflichtversicherung"], False),
        # half of a number, or of a word
        ("500 shares of FPT", ["I own 1,500 shares of FPT"], False),
        ("500 shares of FPT", ["I own 1.500 shares of FPT"], False),
        ("I own exactly 1", ["I own exactly 1,500"], False),
        ("5 million dollars", ["I lost 3.5 million dollars"], False),
        ("5 million dollars", ["I lost .5 million dollars"], False),
        ("30 is my time", ["at 10:30 is my time"], False),
        ("2 apples a day", ["1/2 apples a day"], False),
        ("20 of all pages", ["10-20 of all pages"], False),
        ("5 percent a year", ["-5 percent a year"], False),
        ("I own exactly 5", ["I own exactly 5%, no more"], False),
        ("t eat nuts at all", ["I can't eat nuts at all"], False),
        ("happy with it all", ["un\u00adhappy with it all"], False),
        ("happy with it all", ["un\u200bhappy with it all"], False),
        ("خواهم بروم خانه", ["نمی\u200cخواهم بروم خانه"], False),
        ("unhappy with it all", ["un\u00adhappy with it all"], True),
        ("4 or 5 cats", ["I have 3, 4 or 5 cats"], True),
        ("I like tea a lot", ["I am 25. I like tea a lot"], True),
        ("buy it now", ["he said 'buy it now' to me"], True),
        ("19 made me ill", ["covid-19 made me ill"], True),
        # signs and letters of other keyboards
        ("istanbul'da üç evim var", ["İstanbul'da üç evim var"], True),
        ("'my dear old friend'", ["‹my dear old friend›"], True),
        # scripts without spaces between words
        ("我有十二股", ["你好，我有十二股FPT。"], True),
        ("十二股", ["我有十二股。"], False),
        ("ผมชอบ", ["สวัสดีผมชอบแมว"], True),
        # Vietnamese, composed and not
        ("tôi có 12 cổ phiếu", ["Chào, to\u0302i co\u0301 12 cổ phiếu FPT"], True),
    ],
)
def test_quotes(quote: str, texts: list[str], is_proof: bool):
    """From word to word, long enough or all of it; width, case and white space are form."""
    assert proves(quote, texts) is is_proof


@given(WORDS, WORDS, st.sampled_from([" ", "\n", "  "]), st.data())
def test_words_prove_and_parts_of_words_do_not(
    words: list[str], others: list[str], between: str, data: st.DataObject
):
    """Three words in a row, anywhere in what was said; not where a letter is missing."""
    text = " ".join([*others, *words, *others])
    assert proves(between.join(words).upper(), ["x", text])
    cut = data.draw(st.integers(1, len(words[0])))
    part = " ".join(words)[cut:]
    if not part.startswith(" "):
        assert not proves(part, [f"q{' '.join(words)}"])


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
