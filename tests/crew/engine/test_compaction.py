"""A run that becomes too long for its window: results, then messages, or what a helper makes of them."""

import json
from pathlib import Path
from typing import Any

import pytest

from crew import MemoryStore, Query, Runs, load_crew
from crew.journal.replay import replay
from crew.journal.state import RunState
from tests.support.crews import Played, long_winded, play
from tests.support.model_server import completion, http, model_server
from tests.support.shown import tokens_of


def codes(run: Played) -> list[str]:
    return [event["metadata"]["code"] for event in run.of("warning")]


async def test_a_helper_shortens_the_oldest_part(tmp_path: Path):
    """Once for each part; the run ends well, and its events say how much shorter it is."""
    run = await play(load_crew(long_winded(tmp_path, 9, 900)), "go")
    assert run.row.answer == "done"
    compacted = [event["metadata"] for event in run.of("compacted")]
    assert compacted
    assert all(one["tokens_after"] < one["tokens_before"] for one in compacted)
    assert codes(run) == []
    shown = [event["metadata"] for event in run.of("context")]
    assert all(one["tokens"] <= one["window_tokens"] for one in shown)


async def test_without_a_helper_the_middle_goes(tmp_path: Path):
    """The run ends as well; nothing is compacted, and what is left out is told."""
    run = await play(load_crew(long_winded(tmp_path, 9, 900, "after")), "go")
    assert run.row.answer == "done"
    assert not run.of("compacted")
    left_out = [event["metadata"]["blocks"][-1]["left_out"] for event in run.of("context")]
    assert left_out == sorted(left_out)
    assert left_out[0] == 0 < left_out[-1]


async def test_what_was_compacted_stays_so(tmp_path: Path):
    """It is an event: who goes on with the run has the same messages, and asks no helper again."""
    crew, store = load_crew(long_winded(tmp_path, 9, 900)), MemoryStore()
    runs = Runs(crew, store)
    run = await runs.start(Query("go"))
    await run.outcome()
    replayed = RunState(run.id, crew.tool_limits)
    await replay(store, replayed)
    assert [type(one).__name__ for one in replayed.main.history[:2]] == [
        "UserMessage",
        "CompactedMessage",
    ]
    assert replayed.main.history == run.executor.state.main.history


@pytest.mark.parametrize("failing", ["not json", '{"summary": 7}'])
async def test_a_helper_that_fails_costs_no_run(tmp_path: Path, failing: str):
    """The middle is left out, with a warning; a wrong answer is sent back once."""
    folder = long_winded(tmp_path, 7, 900)
    script = folder / "script.yaml"
    script.write_text(
        script.read_text().replace(
            json.dumps({"summary": "Much was looked at."}), failing.replace("'", "''")
        )
    )
    run = await play(load_crew(folder), "go")
    assert run.row.answer == "done"
    # once: it is not asked again in this stretch
    assert codes(run) == ["helper_failed"]
    assert not run.of("compacted")


async def test_old_results_go_first(tmp_path: Path):
    """All but the newest stand as a line that says how long they were."""

    def reply(asked: dict[str, Any]) -> bytes:
        turns = sum(message["role"] == "assistant" for message in asked["messages"])
        size = sum(tokens_of(message) for message in asked["messages"])
        usage = {"prompt_tokens": size, "completion_tokens": 5}
        if turns < 12:
            return http(200, completion(None, [("GetSystemInfo", "{}")], usage=usage))
        return http(200, completion("done", usage=usage))

    folder = long_winded(tmp_path, 20, 420, "after")
    agent = folder / "agents" / "a.yaml"
    agent.write_text(agent.read_text().replace("provider: scripted", "provider: far\nmodel: m"))
    async with model_server(reply) as server:
        crew_file = folder / "crew.yaml"
        crew_file.write_text(
            crew_file.read_text().replace("max_rounds: 3", "max_rounds: 9")
            + f"providers: {{far: {{base_url: '{server.url}'}}}}\n"
        )
        run = await play(load_crew(folder), "go")
    assert run.row.answer == "done"
    last = server.asked[-1]["messages"]
    results = [message["content"] for message in last if message["role"] == "tool"]
    assert "left out]" in results[0]
    assert results[0].startswith("[result of GetSystemInfo: ")
    assert "left out]" not in results[-1]
    assert sum(tokens_of(message) for message in last) <= 420
