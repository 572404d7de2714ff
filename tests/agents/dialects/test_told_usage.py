"""What providers say of tokens: impossible counts, failures that tell theirs, streams that are cut."""

import json
from pathlib import Path
from typing import Any

import pytest

from agents.endpoint import DialectName
from crew import MemoryStore, Query, Runs, load_crew
from crew.journal.records.spent.costs import CallRow
from tests.agents.dialects.test_hostile import reader_of
from tests.crew.costs.test_costs_of_runs import crew_at
from tests.support.model_server import chunks, completion, http, model_server

IMPOSSIBLE: list[Any] = [-10, 10**12, "abc", None, 10.5, True, [1], float("nan")]
OWN: dict[str, tuple[str, str, dict[str, Any]]] = {
    "chat": ("prompt_tokens", "completion_tokens", completion("hi")),
    "anthropic": (
        "input_tokens",
        "output_tokens",
        {"content": [{"type": "text", "text": "hi"}], "stop_reason": "end_turn"},
    ),
    "responses": (
        "input_tokens",
        "output_tokens",
        {
            "status": "completed",
            "output": [
                {"type": "message", "content": [{"type": "output_text", "text": "hi"}]},
            ],
        },
    ),
}


def usage_of(dialect: DialectName, come_in: Any, go_out: Any) -> tuple[int, int]:
    """The tokens of an answer, in and out, by what the provider says."""
    first, second, answer = OWN[dialect]
    usage = {name: one for name, one in ((first, come_in), (second, go_out)) if one != "left out"}
    reader = reader_of(dialect)
    reader.read_whole(json.dumps({**answer, "usage": usage}).encode())
    found = reader.reply().usage
    return found.prompt_tokens, found.completion_tokens


@pytest.mark.parametrize("dialect", ["chat", "anthropic", "responses"])
def test_an_impossible_count_is_none(dialect: DialectName):
    """Then the answer is counted by us; what is possible in other forms counts."""
    assert usage_of(dialect, 12, 5) == (12, 5)
    assert usage_of(dialect, "12", 5.0) == (12, 5)
    for wrong in (*IMPOSSIBLE, "left out"):
        assert usage_of(dialect, wrong, 5) == (0, 0), wrong
        assert usage_of(dialect, 12, wrong) == (0, 0), wrong


async def calls_of(folder: Path) -> list[CallRow]:
    """What the requests of a run are counted as."""
    async with Runs(load_crew(folder), MemoryStore()) as runs:
        run = await runs.start(Query("go", deltas=True))
        await run.outcome()
        return await runs.store.costs.calls_of(run.id)


USAGE = {"prompt_tokens": 1000, "completion_tokens": 500, "total_tokens": 1500}
FAILED = {"error": {"message": "it broke"}, "usage": USAGE}
STREAMED = (
    b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n"
    + f"data: {json.dumps(FAILED)}\n\n".encode()
)


@pytest.mark.parametrize(
    "failure", [http(500, FAILED), http(200, FAILED), STREAMED], ids=["500", "200", "stream"]
)
async def test_a_failure_that_tells_its_usage_is_paid(tmp_path: Path, failure: bytes):
    async with model_server([failure, chunks({"content": "done"})]) as server:
        found = await calls_of(crew_at(tmp_path, server.url))
    assert [(one.input, one.output, one.estimated) for one in found] == [
        (1000, 500, 0),
        (10, 5, 0),
    ]


async def test_a_cut_stream_is_paid_for_what_has_come(tmp_path: Path):
    """Its first chunk says what went in, and nothing of what came out."""
    pieces = [{"content": f"word{number} "} for number in range(20)]
    whole = chunks(*pieces, finish=None, end=False)
    head, _, body = whole.partition(b"\r\n\r\n")
    first = json.dumps({"choices": [], "usage": {"prompt_tokens": 77, "completion_tokens": 0}})
    cut = head + b"\r\n\r\n" + f"data: {first}\n\n".encode() + body
    async with model_server([cut, chunks({"content": "done"})]) as server:
        one, *_ = await calls_of(crew_at(tmp_path, server.url))
    assert (one.input, one.estimated) == (77, 1)
    assert one.output >= 20
