"""A request that is longer than the model takes is made again, shorter."""

from pathlib import Path
from typing import Any

import pytest

from crew import HistoryMessage, Query, load_crew
from tests.support.crews import Played, play, write_crew
from tests.support.model_server import completion, http, model_server
from tests.support.shown import tokens_of

SENTENCE = "The disk of the database was nearly full at noon, and nobody noticed anything. "


def refusing_beyond(tokens: int):
    """A model that takes so many tokens and no more."""

    def reply(asked: dict[str, Any]) -> bytes:
        size = sum(tokens_of(message) for message in asked["messages"])
        if size > tokens:
            text = f"This model's maximum context length is {tokens} tokens, not {size}"
            return http(400, {"error": {"message": text, "code": "context_length_exceeded"}})
        return http(200, completion("fits"))

    return reply


async def played(folder: Path, tokens: int, messages: int) -> tuple[Played, list[int]]:
    """A run with so long a history, and the sizes of its requests."""
    async with model_server(refusing_beyond(tokens)) as server:
        providers = {"far": {"base_url": server.url, "max_retries": 0}}
        agent = {"provider": "far", "model": "m", "is_terminal": True}
        crew = load_crew(write_crew(folder, {"a": agent}, providers=providers))
        history = tuple(HistoryMessage("user", SENTENCE) for _ in range(messages))
        run = await play(crew, query=Query("and now?", history))
    sizes = [sum(tokens_of(m) for m in asked["messages"]) for asked in server.asked]
    return run, sizes


@pytest.mark.parametrize("messages", [55, 70, 80])
async def test_no_run_fails_that_can_be_shorter(tmp_path: Path, messages: int):
    """By a quarter each time; the run says so, and its newest words stay."""
    run, sizes = await played(tmp_path, 1000, messages)
    assert run.row.answer == "fits"
    warned = [event["metadata"]["code"] for event in run.of("warning")]
    assert warned == ["context_overflow"] * (len(sizes) - 1)
    assert sizes[-1] <= 1000
    assert sizes == sorted(sizes, reverse=True)


async def test_after_two_it_fails(tmp_path: Path):
    """With the provider's own words; it was asked three times."""
    run, sizes = await played(tmp_path, 100, 80)
    assert (run.row.status, run.events[-1]["metadata"]["code"]) == ("failed", "context_overflow")
    assert "maximum context length is 100" in run.events[-1]["content"]
    assert len(sizes) == 3


async def test_what_cannot_be_shorter_is_asked_once(tmp_path: Path):
    """The prompt and the newest words alone are too long."""
    run, sizes = await played(tmp_path, 10, 0)
    assert run.row.status == "failed"
    assert len(sizes) == 1
    assert not run.of("warning")
