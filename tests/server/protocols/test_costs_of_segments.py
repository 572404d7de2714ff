"""What each language says that a run has used: for every segment what that alone has."""

from pathlib import Path
from typing import Any

import pytest

from server.protocols.a2a.fold import TaskFold
from server.protocols.folds import speech_of
from server.protocols.mcp.results import ResultFold
from tests.server.protocols.test_folds import FOLDS, frames_of, log_named
from tests.support.logs_of_runs import failing_crew, group_crew, log_of, mixed_crew


def tokens_in(document: Any) -> list[int]:
    """The tokens that a frame says were used; a response says them in its last frame alone."""
    match document:
        case {"type": "RUN_FINISHED", "usage": [usage]}:
            return [usage["totalTokens"]]
        case {"type": "response.completed" | "response.incomplete" | "response.failed"}:
            return [document["response"]["usage"]["total_tokens"]]
        case {"type": "finish", "messageMetadata": {"crew": crew}}:
            return [crew["usage"]["total_tokens"]]
        case {"choices": [], "usage": usage}:
            return [usage["total_tokens"]]
        case _:
            return []


@pytest.mark.parametrize("language", ["agui", "chat", "responses", "open", "ai"])
@pytest.mark.parametrize("name", ["pausing", "on-call", "hello"])
async def test_no_token_is_counted_in_two_segments(name: str, language: str, tmp_path: Path):
    """Clients add up what each response, or run, has used."""
    log = await log_named(name, tmp_path)
    frames = frames_of(FOLDS[language](log), log)
    told = [tokens for frame in frames for tokens in tokens_in(frame.document)]
    assert len(told) == sum(event.ends_segment for event in log.events)
    assert sum(told) == log.row.usage.total_tokens > 0


async def test_what_a_failed_run_has_used(tmp_path: Path):
    """Each language that has a place for it says what the answers before have cost."""
    log = await log_named("(failing)", tmp_path)
    used, end = log.row.usage, log.events[-1]
    assert end.metadata["usage"] == used.document()
    assert end.metadata["cost"] == used.cost_document()
    response = frames_of(FOLDS["responses"](log), log)[-1].document
    assert tokens_in(response) == [used.total_tokens]
    assert used.total_tokens > 0
    assert '"unpriced":' in response["response"]["metadata"]["cost"]
    fold = TaskFold(log.row.run_id, "c1", "hi", speech_of(log.crew))
    frames_of(fold, log)
    assert fold.task()["metadata"]["crew"]["usage"] == used.document()
    error = frames_of(FOLDS["agui"](log), log)[-1].document
    assert error["metadata"]["crew"]["cost"] == used.cost_document()


@pytest.mark.parametrize("language", ["agui", "chat", "responses", "open", "ai"])
async def test_a_fork_counts_its_own_calls(language: str, tmp_path: Path):
    """What it has copied was counted by the other run: a client adds up nothing twice."""
    log = await log_of(mixed_crew(tmp_path), is_forked=True)
    used = log.row.usage.total_tokens
    *before, own = [
        tokens
        for frame in frames_of(FOLDS[language](log), log)
        for tokens in tokens_in(frame.document)
    ]
    assert own == used > 0
    assert before
    assert all(tokens > 0 for tokens in before)


async def test_costs_as_parts_and_in_results(tmp_path: Path):
    """The AI SDK gets them as a part of the message, MCP in the result, also of what failed."""
    for made, kind in ((group_crew, "done"), (failing_crew, "error")):
        (folder := tmp_path / kind).mkdir()
        log = await log_of(made(folder))
        frames = [frame.document for frame in frames_of(FOLDS["ai"](log), log) if frame.document]
        (part,) = [one for one in frames if one["type"] == f"data-crew-{kind}"]
        spent = {"usage": log.row.usage.document(), "cost": log.row.usage.cost_document()}
        assert {key: part["data"][key] for key in spent} == spent
        fold = ResultFold(log.row.run_id, speech_of(log.crew), "", "reply")
        frames_of(fold, log)
        result = fold.result().structured_content
        assert result is not None
        assert {key: result[key] for key in spent} == spent
