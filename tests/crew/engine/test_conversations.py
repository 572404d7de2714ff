"""Conversations: what the next run knows, what is left out, what helpers make of it."""

import asyncio
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from crew import Answer, Crew, MemoryStore, Query, Runs, load_crew
from crew.journal.query import IdempotencyKey
from crew.runs.chores.chores import Chores
from crew.runs.errors import (
    AlreadyStarted,
    ConversationAsks,
    ConversationBusy,
    ConversationFull,
    NoConversations,
    NotRetryable,
)
from tests.support.crews import crew_of, write_crew
from tests.support.model_server import ModelServer, completion, http, model_server
from tools import tool

NOTED = [{"hears": "I own", "say": "Noted."}, {"say": "Yes?"}]


def runs_of(folder: Path, rules: list[dict[str, Any]], **crew: Any) -> Runs:
    agents = {"a": {"is_terminal": True}}
    return Runs(crew_of(folder, agents, rules, **{"conversations": {}, **crew}), MemoryStore())


async def ask(runs: Runs, *texts: str, user: str = "ann", of: str = "c1") -> list[str]:
    """The answers to some queries, one after the other, with the chores after each."""
    answers = []
    for text in texts:
        run = await runs.start(Query(text, user_id=user, conversation_id=of))
        answers.append((await run.outcome()).answer or "")
        await Chores(runs).drain()
    return answers


async def shown_to(crew_folder: Path, server: ModelServer, *texts: str, **crew: Any) -> list[Any]:
    """The messages of each request, of a crew whose model is this server."""
    providers = {"far": {"base_url": server.url, "max_retries": 0}}
    agents = {"a": {"provider": "far", "model": "m", "is_terminal": True}}
    made = {"conversations": {"title_after": 0}, "providers": providers, **crew}
    async with Runs(load_crew(write_crew(crew_folder, agents, **made)), MemoryStore()) as runs:
        for text in texts:
            run = await runs.start(Query(text, conversation_id="c1"))
            assert (await run.outcome()).status == "completed"
    return [asked["messages"] for asked in server.asked]


def echo(asked: dict[str, Any]) -> bytes:
    return http(200, completion(f"I heard: {asked['messages'][-1]['content']}"))


async def test_the_next_run_knows_the_last(tmp_path: Path):
    """By its query and its answer; another user's conversation of the same id is another one."""
    rules = [{"seen": "I own FPT", "hears": "what", "say": "FPT"}, *NOTED]
    async with runs_of(tmp_path, rules) as runs:
        assert await ask(runs, "I own FPT", "what do I own?") == ["Noted.", "FPT"]
        assert await ask(runs, "what do I own?", user="eve") == ["Noted."]
        assert await ask(runs, "what is it?", of="c2") == ["Yes?"]
        found = await runs.conversations.listed("ann")
        assert [(one.conversation_id, one.exchanges) for one in found] == [("c2", 1), ("c1", 2)]
        assert [one.title for one in found] == ["what is it?", "I own FPT"]
        (first, _) = await runs.conversations.exchanges("ann", "c1")
        assert (first.number, first.query, first.answer, first.agent) == (
            1,
            "I own FPT",
            "Noted.",
            "A",
        )
        events = [one async for one in runs.stored(found[1].run_id or "")]
        for event in (events[0], events[-1]):
            assert event.metadata["conversation_id"] == "c1"
            assert event.metadata["exchange"] == 2


async def test_consecutive_requests_share_their_bytes(tmp_path: Path):
    """Up to the previous exchange: what a provider has cached holds."""
    texts = [f"question {number}" for number in range(30)]
    blocks = [{"kind": "history", "exchanges": 8}]
    async with model_server(echo) as server:
        asked = await shown_to(tmp_path, server, *texts, context={"blocks": blocks})
    moved = 0
    for before, after in pairwise(asked):
        # all but the newest query; or the history has moved on by a quarter
        if after[: len(before) - 1] != before[:-1]:
            moved += 1
            queries = [one["content"] for one in after if one["role"] == "user"]
            assert len(queries) == 9
    assert moved == (30 - 8) // 2 - 1
    assert max(len(messages) for messages in asked) <= 2 + 2 * (8 + 1)


async def test_a_long_conversation_stays_in_its_window(tmp_path: Path):
    """Whole exchanges go, oldest first, by quarters; a note says how many."""
    texts = [f"question {number} {'word ' * 60}" for number in range(20)]
    blocks = [{"kind": "history", "exchanges": 40, "min_tokens": 100}]
    context = {"window_tokens": 1500, "answer_tokens": 100, "blocks": blocks}

    def short(asked: dict[str, Any]) -> bytes:
        return http(200, completion("ok", usage={}))

    async with model_server(short) as server:
        asked = await shown_to(tmp_path, server, *texts, context=context)
    notes = [one["content"] for one in asked[-1] if "left out" in one["content"]]
    assert notes == ["[10 earlier exchanges left out to fit the context window]"]
    assert asked[-1][-1]["content"].startswith("question 19")
    assert asked[-1][2]["content"].startswith("question 10")


async def test_failed_runs_are_listed_and_not_shown(tmp_path: Path):
    """And retried as the same exchange, if no other one came since."""
    rules = [{"hears": "bad", "fail": "refused"}, {"seen": "bad", "say": "I saw it"}, {"say": "ok"}]
    async with runs_of(tmp_path, rules) as runs:
        await ask(runs, "bad one")
        assert await ask(runs, "and now?") == ["ok"]
        found = await runs.conversations.exchanges("ann", "c1")
        assert [(one.number, one.status, one.answer) for one in found] == [
            (1, "failed", ""),
            (2, "completed", "ok"),
        ]
        with pytest.raises(NotRetryable, match="not the newest of its conversation"):
            await runs.retry(found[0].run_id)
        await ask(runs, "bad again")
        (*_, newest) = await runs.conversations.exchanges("ann", "c1")
        run = await runs.retry(newest.run_id)
        assert (await run.outcome()).status == "failed"
        known = await runs.conversations.get("ann", "c1")
        assert (known.exchanges, known.busy) == (3, None)


async def test_a_query_answers_a_pause_on_words(tmp_path: Path):
    """Not one on calls: the conversation says what is asked."""
    routing = {"agent_behaviors": {"a": {"wait_for_signal": True}}}
    routing["signals"] = {"a": [{"signal": "[END]", "target": None}]}  # type: ignore[dict-item]
    rules = [{"hears": "blue", "say": "Blue it is. [END]"}, {"say": "Which colour?"}]
    crew = crew_of(tmp_path, {"a": {}}, rules, routing=routing, conversations={})
    async with Runs(crew, MemoryStore()) as runs:
        asked = await runs.start(Query("paint it", conversation_id="c1"))
        assert (await asked.outcome()).status == "paused"
        with pytest.raises(ConversationAsks, match="scope 'answer'"):
            await runs.start(Query("blue", conversation_id="c1"), may_answer=False)
        answered = await runs.start(Query("blue", conversation_id="c1"), by="bo")
        assert answered.id == asked.id
        assert (await answered.outcome()).answer == "Blue it is. [END]"
        (one,) = await runs.conversations.exchanges("", "c1")
        assert (one.query, one.answer) == ("paint it", "Blue it is. [END]")


async def test_a_pause_on_calls_is_not_answered_by_words(tmp_path: Path):
    """The error has the run and the question."""
    (tmp_path / "pay.py").write_text('def pay() -> str:\n    """Pay."""\n    return "paid"\n')
    tools = {"pay": {"kind": "python", "function": "pay.py:pay", "requires_approval": True}}
    folder = write_crew(
        tmp_path, {"a": {"tools": ["pay"]}}, [{"calls": ["pay"]}], tools, conversations={}
    )
    async with Runs(load_crew(folder), MemoryStore()) as runs:
        run = await runs.start(Query("pay", conversation_id="c1"))
        await run.outcome()
        with pytest.raises(ConversationAsks) as raised:
            await runs.start(Query("yes", conversation_id="c1"))
        assert raised.value.run_id == run.id
        assert "pay" in raised.value.asks


async def test_one_run_at_a_time(tmp_path: Path):
    """The others are refused; and so is one more than the conversation may have."""
    rules = [{"say": "late", "delay_seconds": 0.05}]
    async with runs_of(tmp_path, rules, conversations={"max_exchanges": 2}) as runs:
        first = await runs.start(Query("x", conversation_id="c1"))
        with pytest.raises(ConversationBusy) as raised:
            await runs.start(Query("y", conversation_id="c1"))
        assert raised.value.run_id == first.id
        await first.outcome()
        await ask(runs, "z", user="")
        with pytest.raises(ConversationFull):
            await ask(runs, "one too many", user="")


async def test_a_crew_without_conversations_says_so(tmp_path: Path):
    """With what to write."""
    async with Runs(crew_of(tmp_path, {"a": {}}, NOTED), MemoryStore()) as runs:
        with pytest.raises(NoConversations, match=r"conversations: \{\}"):
            await ask(runs, "x")


async def test_a_quotation_from_the_past_is_no_call(tmp_path: Path):
    """Words of an earlier exchange that look like a call are not made, as those of this run."""
    rules = [{"hears": "repeat", "say": "Now()"}, {"say": "ok"}]
    agents = {"a": {"tools": ["GetSystemInfo"], "is_terminal": True, "tool_call_mode": "text"}}
    rules[0]["say"] = "GetSystemInfo()"
    crew = crew_of(tmp_path, agents, rules, conversations={})
    async with Runs(crew, MemoryStore()) as runs:
        await ask(runs, "GetSystemInfo()")
        run = await runs.start(Query("repeat", user_id="ann", conversation_id="c1"))
        await run.outcome()
        events = [one async for one in runs.stored(run.id)]
    codes = [one.metadata.get("code") for one in events if one.type == "warning"]
    assert codes == ["quoted_call"]
    assert not [one for one in events if one.type == "tool_start"]


async def test_forks_and_exports(tmp_path: Path):
    """To ask an exchange again: up to the one before it."""
    async with runs_of(tmp_path, NOTED) as runs:
        await ask(runs, "I own FPT", "b", "c")
        made = await runs.conversations.fork("ann", "c1", 1)
        await ask(runs, "b2", of=made.conversation_id)
        exchanges = await runs.conversations.all_exchanges("ann", made.conversation_id)
        assert [one.query for one in exchanges] == ["I own FPT", "b2"]
        assert [one.number for one in exchanges] == [1, 2]


async def test_transcripts_show_all_that_was_said(tmp_path: Path):
    """Where a history wants them: calls and results too."""
    call = ("GetSystemInfo", "{}")
    calls: Any = iter([call, None, call, None, call])

    def reply(asked: dict[str, Any]) -> bytes:
        call = next(calls, None)
        return http(200, completion(None, [call]) if call else completion("done"))

    blocks = [{"kind": "history", "transcripts": True}]
    async with model_server(reply) as server:
        providers = {"far": {"base_url": server.url, "max_retries": 0}}
        agent = {"provider": "far", "model": "m", "is_terminal": True, "tools": ["GetSystemInfo"]}
        folder = write_crew(
            tmp_path,
            {"a": agent},
            conversations={"title_after": 0},
            context={"blocks": blocks},
            providers=providers,
        )
        async with Runs(load_crew(folder), MemoryStore()) as runs:
            for text in ("look", "and?", "again"):
                await (await runs.start(Query(text, conversation_id="c1"))).outcome()
    messages = server.asked[-1]["messages"]
    roles = [message["role"] for message in messages]
    made = ["user", "assistant", "tool", "assistant"]
    assert roles == ["system", *made, *made, *made[:3]]
    # this server begins its ids anew with each answer
    results = [one["tool_call_id"] for one in messages if one["role"] == "tool"]
    assert len(set(results)) == 3


def crew_with(folder: Path, **crew: Any) -> Crew:
    return crew_of(folder, {"a": {}}, NOTED, **crew)


async def test_texts_stand_at_the_end_of_the_prompt(tmp_path: Path):
    """From the file or the YAML; a long one is cut at the end of a paragraph."""
    (tmp_path / "policy.md").write_text("Be kind.\n\n" + "Long words here. " * 300)
    blocks = [
        {"kind": "text", "file": "policy.md", "max_tokens": 60},
        {"kind": "text", "text": "Second."},
        "history",
    ]
    crew = crew_with(tmp_path, context={"blocks": blocks})
    prompt = crew.agents["a"].prompt.text()
    assert prompt.startswith("You are a.\n\nBe kind.")
    assert "[the rest is left out]\n\nSecond." in prompt
    async with Runs(crew, MemoryStore()) as runs:
        run = await runs.start(Query("x"))
        await run.outcome()
        (event,) = [one async for one in runs.stored(run.id) if one.type == "context"]
    names = [(one["kind"], one["name"]) for one in event.metadata["blocks"]]
    assert names == [("text", "policy.md"), ("text", None), ("history", None)]


async def test_a_resumed_answer_is_kept_with_its_exchange(tmp_path: Path):
    """A run that pauses twice is one exchange."""
    routing: dict[str, Any] = {
        "agent_behaviors": {"a": {"wait_for_signal": True}},
        "signals": {"a": [{"signal": "[END]", "target": None}]},
    }
    rules = [{"hears": "c", "say": "[END]"}, {"say": "more?"}]
    crew = crew_of(tmp_path, {"a": {}}, rules, routing=routing, conversations={})
    async with Runs(crew, MemoryStore()) as runs:
        run = await runs.start(Query("a", conversation_id="c1"))
        await run.outcome()
        run = await runs.resume(run.id, Answer("b"))
        await run.outcome()
        run = await runs.start(Query("c", conversation_id="c1"))
        await run.outcome()
        known = await runs.conversations.get("", "c1")
        assert (known.started, known.exchanges, known.busy) == (1, 1, None)


async def test_a_cancelled_run_leaves_no_call_without_its_result(tmp_path: Path):
    """In the transcript that later runs are shown: providers refuse such a request."""
    begun = asyncio.Event()

    @tool(timeout_seconds=60)
    async def wait() -> str:
        begun.set()
        await asyncio.sleep(60)
        return "late"

    answers: Any = iter([("Let me look.", [("wait", "{}")]), ("done", None)])

    def reply(asked: dict[str, Any]) -> bytes:
        return http(200, completion(*next(answers)))

    blocks = [{"kind": "history", "transcripts": True}]
    async with model_server(reply) as server:
        providers = {"far": {"base_url": server.url, "max_retries": 0}}
        agent = {"provider": "far", "model": "m", "is_terminal": True, "tools": ["wait"]}
        made = {"title_after": 0}
        context = {"blocks": blocks}
        folder = write_crew(
            tmp_path, {"a": agent}, conversations=made, context=context, providers=providers
        )
        async with Runs(load_crew(folder, tools=[wait]), MemoryStore()) as runs:
            run = await runs.start(Query("look", conversation_id="c1"))
            await begun.wait()
            await runs.cancel(run.id)
            assert (await run.outcome()).status == "cancelled"
            await (await runs.start(Query("and?", conversation_id="c1"))).outcome()
    shown = server.asked[-1]["messages"]
    assert [one["role"] for one in shown] == ["system", "user", "assistant", "tool", "user"]
    assert shown[2]["content"] == "Let me look."
    assert "cut off: the run was cancelled" in shown[3]["content"]
    assert shown[3]["tool_call_id"] == shown[2]["tool_calls"][0]["id"]


async def test_the_same_request_again_finds_its_run(tmp_path: Path):
    """Also when that waits for a decision by now."""
    (tmp_path / "pay.py").write_text('def pay() -> str:\n    """Pay."""\n    return "paid"\n')
    tools = {"pay": {"kind": "python", "function": "pay.py:pay", "requires_approval": True}}
    folder = write_crew(
        tmp_path, {"a": {"tools": ["pay"]}}, [{"calls": ["pay"]}], tools, conversations={}
    )
    key = IdempotencyKey("k", "f")
    async with Runs(load_crew(folder), MemoryStore()) as runs:
        run = await runs.start(Query("pay", conversation_id="c1"), key=key)
        await run.outcome()
        with pytest.raises(AlreadyStarted) as raised:
            await runs.start(Query("pay", conversation_id="c1"), key=key)
        assert raised.value.record.run_id == run.id
