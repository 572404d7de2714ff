"""Decisions on calls in a conversation: kept, and no words of anyone for a later model."""

from pathlib import Path
from typing import Any

import pytest

from crew import Answer, MemoryStore, Query, Runs, load_crew
from crew.journal.query import CallDecision
from tests.support.crews import write_crew
from tests.support.model_server import completion, http, model_server
from tools import tool


@tool(requires_approval=True)
async def book(people: int) -> str:
    """Book a table."""
    return f"booked for {people}"


def replies(words: str) -> list[bytes]:
    call = completion("", calls=[("book", {"people": 4})])
    return [http(200, call), *(http(200, completion(one)) for one in (words, "a second answer"))]


@pytest.mark.parametrize(
    ("answer", "shown"),
    [
        (Answer(decision="approve"), []),
        (Answer(decisions=(CallDecision("c0", "approve"),), heard="yes, please"), []),
        (
            Answer(decisions=(CallDecision("c0", "deny", reason="too many"),)),
            ["approve?", "too many"],
        ),
    ],
)
async def test_a_decision_is_no_words(answer: Answer, shown: list[str], tmp_path: Path):
    """A model is shown what was said in words, and the question only where words answer it."""
    async with model_server(replies("the first answer")) as server:
        providers = {"far": {"base_url": server.url, "max_retries": 0}}
        agents = {"a": {"provider": "far", "model": "m", "is_terminal": True, "tools": ["book"]}}
        made: dict[str, Any] = {"conversations": {"title_after": 0}, "providers": providers}
        crew = load_crew(write_crew(tmp_path, agents, **made), tools=[book])
        async with Runs(crew, MemoryStore()) as runs:
            run = await runs.start(Query("a table", conversation_id="c1"))
            assert (await run.outcome()).status == "paused"
            run = await runs.resume(run.id, answer)
            assert (await run.outcome()).status == "completed"
            run = await runs.start(Query("and now?", conversation_id="c1"))
            await run.outcome()
            (kept, _) = await runs.conversations.exchanges("", "c1")
    history = [str(one["content"]) for one in server.asked[-1]["messages"][1:]]
    assert [history[0], *history[-2:]] == ["a table", "the first answer", "and now?"]
    between = history[1:-2]
    assert len(between) == len(shown)
    assert all(part in text for part, text in zip(shown, between, strict=True))
    assert [one.is_decision for one in kept.said] == [True, not shown]
