"""Whatever is done with a conversation: each question is one exchange of it, in order."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from crew import Crew, Query, Runs, SqliteStore
from tests.support.crews import crew_of

ROUTING: dict[str, Any] = {
    "agent_behaviors": {"a": {"wait_for_signal": True}},
    "signals": {"a": [{"signal": "[END]", "target": None}]},
}
RULES: list[dict[str, Any]] = [
    {"hears": "pause", "say": "which one?"},
    {"hears": "fail", "fail": "refused"},
    {"say": "done [END]"},
]
DEEDS = ("ask", "pause", "fail", "three", "cancel", "retry", "fork")


class Expected:
    """What a conversation must be after some deeds."""

    def __init__(self) -> None:
        # query and status of each exchange
        self.exchanges: list[tuple[str, str]] = []
        self.asked = 0

    @property
    def is_paused(self) -> bool:
        return bool(self.exchanges) and self.exchanges[-1][1] == "paused"

    def hear(self, word: str) -> str:
        """The next query, which answers a pause or begins an exchange."""
        self.asked += 1
        text = f"{word} {self.asked}"
        status = {"pause": "paused", "fail": "failed"}.get(word, "completed")
        if self.is_paused:
            text_before, _ = self.exchanges.pop()
            self.exchanges.append((text_before, status))
        else:
            self.exchanges.append((text, status))
        return text


async def do(runs: Runs, key: str, deed: str, expected: Expected) -> None:
    """One deed, to its end."""
    newest = (await runs.conversations.get("ann", key)).run_id
    status = expected.exchanges[-1][1] if expected.exchanges else None
    match deed:
        case "ask" | "pause" | "fail" | "three":
            word, count = ("ask", 3) if deed == "three" else (deed, 1)
            started = [
                await runs.start(Query(expected.hear(word), user_id="ann", conversation_id=key))
                for _ in range(count)
            ]
            for run in started:
                # those that waited are claimed, as a server does all the time
                await runs.recover_left()
                await runs.outcome(run.id)
        case "cancel" if newest and status == "paused":
            await runs.cancel(newest)
            query, _ = expected.exchanges.pop()
            expected.exchanges.append((query, "cancelled"))
        case "retry" if newest and status == "failed":
            await runs.outcome((await runs.retry(newest)).id)
        case "fork" if expected.exchanges and not expected.is_paused:
            through = len(expected.exchanges) - 1
            made = await runs.conversations.fork("ann", key, through)
            first = Query("of the copy", user_id="ann", conversation_id=made.conversation_id)
            await runs.outcome((await runs.start(first)).id)
            copied = Expected()
            copied.exchanges = [*expected.exchanges[:through], ("of the copy", "completed")]
            await check(runs, made.conversation_id, copied)
        case _:
            # it has nothing to act on now
            pass


async def check(runs: Runs, key: str, expected: Expected) -> None:
    """The conversation is as expected, and nothing of it is lost or twice."""
    known = await runs.conversations.get("ann", key)
    ended = [one for one in expected.exchanges if one[1] != "paused"]
    found = await runs.conversations.all_exchanges("ann", key)
    assert [(one.query, one.status) for one in found] == expected.exchanges
    assert [one.number for one in found] == list(range(1, len(found) + 1))
    for one in found:
        # a pause and its answer, in turn; what nobody has answered is told once
        agents = [part.agent for part in one.said]
        assert agents == (["A", ""] * len(agents))[: len(agents)]
        assert one.said[-1:] == () or one.said[-1].text != one.answer
    found = found[: len(ended)]
    # one that was cancelled has said something: it had paused
    answered = [one for one in found if one.status != "failed"]
    assert [one.position for one in answered] == list(range(1, len(answered) + 1))
    assert [one for one in found if one not in answered and one.position is not None] == []
    assert known.busy == (known.run_id if expected.is_paused else None)
    assert (known.started, known.exchanges) == (len(expected.exchanges), len(ended))
    assert known.shown == len(answered)
    assert known.status == (expected.exchanges[-1][1] if expected.exchanges else None)


@pytest.fixture(scope="module")
def crew(tmp_path_factory: pytest.TempPathFactory) -> Crew:
    conversations = {"on_busy": "queue", "title_after": 0}
    folder = tmp_path_factory.mktemp("crew")
    return crew_of(folder, {"a": {}}, RULES, routing=ROUTING, conversations=conversations)


@settings(max_examples=40, deadline=None)
@given(deeds=st.lists(st.sampled_from(DEEDS), max_size=10))
@example(deeds=["pause", "three", "fail", "retry", "ask", "fork", "pause", "cancel", "ask"])
def test_each_question_once(tmp_path_factory: pytest.TempPathFactory, crew: Crew, deeds: list[str]):
    """Asked, paused, failed, retried, three at once, cancelled, forked, in any order."""
    file: Path = tmp_path_factory.mktemp("store") / "crew.db"

    async def play() -> None:
        async with Runs(crew, SqliteStore(file)) as runs:
            key = (await runs.conversations.create("ann")).conversation_id
            expected = Expected()
            for deed in deeds:
                await do(runs, key, deed, expected)
                await check(runs, key, expected)

    asyncio.run(play())
