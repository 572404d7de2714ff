"""What helpers make of conversations: summaries that invent nothing, titles, chores that fail."""

import asyncio
import json
from pathlib import Path
from typing import Any

from crew import MemoryStore, Query, Runs, load_crew
from crew.assembly.recipe import Recipe
from crew.config.files.sources import read_sources
from crew.crew import load_from
from crew.runs.chores.chores import Chores, Counts
from tests.crew.engine.test_conversations import NOTED, ask, runs_of
from tests.support.crews import write_crew
from tests.support.model_server import completion, http, model_server
from tools import VirtualClock
from tools.clock import rfc3339


def summary(*facts: tuple[str, str, int]) -> str:
    listed = [{"text": text, "quote": quote, "exchange": n} for text, quote, n in facts]
    return json.dumps({"summary": "So far.", "facts": listed}, ensure_ascii=False)


async def test_a_summary_keeps_what_was_said(tmp_path: Path):
    """And drops what no exchange says; case, form and white space aside. It is shown as data."""
    said = summary(("owns FPT", "i  OWN\nfpt", 1), ("owns gold", "I own gold", 1), ("x", "", 1))
    rules = [{"helper": "summary", "say": said}, {"seen": "owns FPT", "say": "FPT"}, *NOTED]
    blocks = [{"kind": "summary", "every": 1, "keep": 1}, {"kind": "history", "exchanges": 1}]
    counted: dict[str, int] = {}

    def count(outcome: str, number: int) -> None:
        counted[outcome] = counted.get(outcome, 0) + number

    async with runs_of(tmp_path, rules, context={"blocks": blocks}) as runs:
        for text in ("I own FPT", "hello", "so?"):
            run = await runs.start(Query(text, user_id="ann", conversation_id="c1"))
            row = await run.outcome()
            await Chores(runs, Counts(facts=count)).drain()
        assert row.answer == "FPT"
        known = await runs.conversations.summary("ann", "c1")
        assert known is not None
        assert [(one.text, one.exchange) for one in known.facts] == [("owns FPT", 1)]
        assert counted == {"kept": 1, "dropped": 4}
        (event,) = [one async for one in runs.stored(run.id) if one.type == "context"]
        assert [block["kind"] for block in event.metadata["blocks"]] == ["summary", "history"]
        assert event.metadata["blocks"][0]["versions"] == [1]
        assert "owns" not in event.encoded


async def test_planted_facts_are_kept_and_invented_ones_are_not(tmp_path: Path):
    """Twenty said in 200 exchanges, ten that nobody said: whoever answers for the helper."""

    def reply(asked: dict[str, Any]) -> bytes:
        text = asked["messages"][-1]["content"]
        if "JSON alone" not in asked["messages"][0]["content"]:
            return http(200, completion("ok"))
        facts = []
        for number in range(1, 201):
            if number % 10 == 0 and f"Exchange {number}\n" in text:
                facts.append((f"fact {number}", f"fact number {number}.", number))
                if number % 20 == 0:
                    facts.append((f"invented {number}", f"nobody said {number}", number))
        return http(200, completion(summary(*facts)))

    blocks = [{"kind": "summary", "every": 10, "keep": 5, "max_tokens": 2000}, "history"]
    async with model_server(reply) as server:
        providers = {"far": {"base_url": server.url, "max_retries": 0}}
        agents = {"a": {"provider": "far", "model": "m", "is_terminal": True}}
        folder = write_crew(
            tmp_path,
            agents,
            conversations={"title_after": 0},
            context={"blocks": blocks},
            providers=providers,
        )
        counted: dict[str, int] = {}

        def count(outcome: str, number: int) -> None:
            counted[outcome] = counted.get(outcome, 0) + number

        async with Runs(load_crew(folder), MemoryStore()) as runs:
            for number in range(1, 206):
                text = f"This is fact number {number}." if number % 10 == 0 else f"q{number}"
                run = await runs.start(Query(text, conversation_id="c1"))
                await run.outcome()
                await Chores(runs, Counts(facts=count)).drain()
            known = await runs.conversations.summary("", "c1")
    assert known is not None
    assert [one.exchange for one in known.facts] == [10 * n for n in range(1, 21)]
    assert counted == {"kept": 20, "dropped": 10}
    told = [asked["messages"] for asked in server.asked]
    shown = [one for one in told if "JSON alone" not in one[0]["content"]][-1][1]["content"]
    assert shown.startswith("<context>")
    assert "fact 190 (exchange 190" in shown


async def test_a_title_of_a_person_stays(tmp_path: Path):
    """A helper names those that nobody has named, once; long ones are cut."""
    rules = [{"helper": "title", "say": json.dumps({"title": "Long\n" + "x" * 99})}, {"say": "ok"}]
    async with runs_of(tmp_path, rules, conversations={"title_after": 2}) as runs:
        await ask(runs, "first words", "b")
        named = await runs.conversations.get("ann", "c1")
        assert (named.title, named.titled_by) == (("Long " + "x" * 99)[:60], "helper")
        await ask(runs, "mine", of="c2")
        await runs.conversations.change("ann", "c2", "My own", None)
        await ask(runs, "b", "c", of="c2")
        mine = await runs.conversations.get("ann", "c2")
        assert (mine.title, mine.titled_by) == ("My own", "person")


async def test_a_chore_is_given_up_after_three_attempts(tmp_path: Path, caplog: Any):
    """With a wait after each; the log says so, and no run waits for it."""
    rules = [{"helper": "title", "fail": "refused"}, {"say": "ok"}]
    folder = write_crew(
        tmp_path, {"a": {"is_terminal": True}}, rules, conversations={"title_after": 1}
    )
    clock, outcomes = VirtualClock(), list[str]()
    crew = load_from(Recipe(clock=clock), read_sources(folder))
    async with Runs(crew, MemoryStore(clock)) as runs:
        moving = asyncio.create_task(clock.run())
        run = await runs.start(Query("x", conversation_id="c1"))
        await run.outcome()
        chores = Chores(runs, Counts(lambda kind, outcome, seconds: outcomes.append(outcome)))
        waits = []
        for wait in (0.0, 9.0, 2.0, 30.0, 12.0, 1000.0):
            await clock.sleep(wait)
            await chores.drain()
            waits.append(len(outcomes))
        moving.cancel()
        # after 10 s, and after 40 s more
        assert waits == [1, 1, 2, 2, 3, 3]
        assert outcomes == ["retried", "retried", "failed"]
        assert await runs.store.chores.counts() == {}
    assert "was given up after 3 attempts" in caplog.text


async def test_a_slow_chore_leaves_its_other_places_to_others(tmp_path: Path):
    """Two are done at a time; what becomes due after a slow one has begun does not wait for it."""
    title = json.dumps({"title": "A title"})
    rules = [
        {"helper": "title", "hears": "slow words", "say": title, "delay_seconds": 20},
        {"helper": "title", "say": title},
        {"say": "ok"},
    ]
    folder = write_crew(
        tmp_path, {"a": {"is_terminal": True}}, rules, conversations={"title_after": 1}
    )
    clock, seconds = VirtualClock(), list[float]()
    crew = load_from(Recipe(clock=clock), read_sources(folder))
    async with Runs(crew, MemoryStore(clock)) as runs:
        moving = asyncio.create_task(clock.run())
        chores = Chores(runs, Counts(lambda kind, outcome, took: seconds.append(took)))
        doing = asyncio.create_task(chores.run())
        for number, text in enumerate(["slow words", "x", "y", "z"]):
            run = await runs.start(Query(text, conversation_id=f"c{number}"))
            await run.outcome()
            await clock.sleep(2)
        await clock.sleep(30)
        doing.cancel()
        moving.cancel()
        assert await runs.store.chores.counts() == {}
    assert [round(one) for one in seconds] == [0, 0, 0, 20]


async def test_a_process_that_drains_begins_no_more_chores(tmp_path: Path):
    """Those at work are finished; the others wait for the next process, without an attempt."""
    title = json.dumps({"title": "A title"})
    rules = [{"helper": "title", "say": title, "delay_seconds": 20}, {"say": "ok"}]
    folder = write_crew(
        tmp_path, {"a": {"is_terminal": True}}, rules, conversations={"title_after": 1}
    )
    clock, outcomes = VirtualClock(), list[str]()
    crew = load_from(Recipe(clock=clock), read_sources(folder))
    async with Runs(crew, MemoryStore(clock)) as runs:
        moving = asyncio.create_task(clock.run())
        for number in range(5):
            run = await runs.start(Query("x", conversation_id=f"c{number}"))
            await run.outcome()
        chores = Chores(runs, Counts(lambda kind, outcome, took: outcomes.append(outcome)))
        doing = asyncio.create_task(chores.run())
        await clock.sleep(5)
        await runs.drain(0)
        await doing
        now = rfc3339(runs.store.now())
        left = await runs.store.chores.take(now, now, 5, ["title"])
        moving.cancel()
    assert outcomes == ["done", "done"]
    assert [one.attempts for one in left] == [1, 1, 1]
