"""A crew at a server of OpenAI's responses API, which checks requests as the real one does."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.support.endpoints import both, crew_at, error, played, warnings
from tests.support.model_server import http, model_server
from tests.support.strict import responses
from tests.support.strict.responses import call, document, message, reasoning
from tests.support.strict.served import PLACE, openai, streamed

MODEL = "gpt-1"


def at(folder: Path, url: str, agent: dict[str, Any] | None = None, **crew: Any) -> Path:
    provider = {"base_url": url, "dialect": "responses", "api_key": "k-1", "max_retries": 1}
    given = {"model": MODEL, **(agent or {})}
    return crew_at(folder, url, given, providers={"gw": provider}, **crew)


def has_results(body: dict[str, Any]) -> bool:
    return bool(body["input"][-1].get("type") == "function_call_output")


def thinking_then_done(body: dict[str, Any]) -> Any:
    """Think, say something, call twice at once; then answer."""
    if has_results(body):
        return [reasoning(PLACE, MODEL, 2), message("done", 2, is_paired=True)]
    return [
        reasoning(PLACE, MODEL, 1),
        message("Let me see.", 1, is_paired=True),
        call("call_1", "add", {"a": 40}, 1, is_paired=True),
        call("call_2", "note", {"text": "x"}, 1, is_paired=True),
    ]


@both
async def test_items_go_back_as_they_came(tmp_path: Path, deltas: bool):
    async with model_server(openai(thinking_then_done)) as server:
        run = await played(at(tmp_path, server.url, {"thinking": "max"}), deltas=deltas)
    assert (run.row.answer, warnings(run)) == ("done", [])
    first, second = server.asked
    assert second["input"][2:6] == thinking_then_done(first)
    results = [one["output"] for one in second["input"][6:]]
    assert results == ["sum 42", "noted x"]
    assert first["reasoning"] == {"effort": "xhigh"}
    assert first["include"] == ["reasoning.encrypted_content"]
    assert first["prompt_cache_key"].endswith("-a")
    assert "max_output_tokens" not in first
    assert "Let me see." in run.of("agent_response")[0]["content"]


@both
async def test_usage_has_five_kinds(tmp_path: Path, deltas: bool):
    async with model_server(openai(thinking_then_done)) as server:
        run = await played(at(tmp_path, server.url), deltas=deltas)
    usage = run.of("agent_response")[0]["metadata"]["usage"]
    counted = [usage[key] for key in ("input", "output", "thinking", "cache_read", "cache_write")]
    assert counted == [60, 40, 15, 20, 30]


async def test_what_comes_without_its_thoughts_goes_without_ids(tmp_path: Path):
    """A server that does not give them encrypted: nothing there is found by an id."""

    def say(body: dict[str, Any]) -> Any:
        if has_results(body):
            return [message("done", 2)]
        thought = {"type": "reasoning", "id": "rs_0001", "summary": []}
        return [thought, call("call_1", "add", {"a": 40}, 1, is_paired=True)]

    async with model_server(openai(say)) as server:
        run = await played(at(tmp_path, server.url))
    assert (run.row.answer, warnings(run)) == ("done", [])
    assert not any("id" in item for item in server.asked[1]["input"])


async def test_a_model_that_gives_no_thoughts_is_asked_for_none(tmp_path: Path):
    def reply(body: dict[str, Any]) -> bytes:
        if "include" in body:
            return http(400, error("Encrypted content is not supported with this model."))
        return openai(thinking_then_done)(body)

    async with model_server(reply) as server:
        run = await played(at(tmp_path, server.url))
    assert (run.row.answer, warnings(run)) == ("done", ["endpoint_learned"])


async def test_a_typed_answer_by_a_schema(tmp_path: Path):
    output = {"properties": {"kind": {"enum": ["a", "b"]}}, "required": ["kind"]}
    async with model_server(openai(lambda body: [message('{"kind": "b"}', 1)])) as server:
        run = await played(at(tmp_path, server.url, {"tools": [], "output": output}))
    assert run.row.answer == '{"kind":"b"}'
    form = server.asked[0]["text"]["format"]
    assert (form["type"], form["strict"], form["name"]) == ("json_schema", True, "a")


@pytest.mark.parametrize(
    ("choice", "sent"),
    [
        ("required", "required"),
        ({"tool": "add"}, {"type": "function", "name": "add"}),
        ("none", "none"),
        ("auto", None),
    ],
)
async def test_what_it_may_do_with_tools(tmp_path: Path, choice: Any, sent: Any):
    async with model_server(openai(lambda body: [message("done", 1)])) as server:
        await played(at(tmp_path, server.url, {"tool_choice": choice}))
    assert server.asked[0].get("tool_choice") == sent


@both
async def test_a_refusal_is_an_answer_in_words(tmp_path: Path, deltas: bool):
    said = message("", 1)
    said["content"] = [{"type": "refusal", "refusal": "I cannot help with that."}]
    async with model_server(openai(lambda body: [said])) as server:
        run = await played(at(tmp_path, server.url), deltas=deltas)
    assert run.row.answer == "I cannot help with that."


@both
async def test_an_answer_that_is_cut(tmp_path: Path, deltas: bool):
    details = {"incomplete_details": {"reason": "max_output_tokens"}, "status": "incomplete"}

    def say(body: dict[str, Any]) -> Any:
        return document(MODEL, [message("so far", 1)], **details)

    async with model_server(openai(say)) as server:
        run = await played(at(tmp_path, server.url, {"max_tokens": 50}), deltas=deltas)
    assert (run.row.answer, warnings(run)) == ("so far", ["answer_cut"])
    assert server.asked[0]["max_output_tokens"] == 50


@both
async def test_a_failure_is_asked_again(tmp_path: Path, deltas: bool):
    """One of the answer itself, or an event of the stream."""
    failed = document(MODEL, [], status="failed", error={"code": "server_error", "message": "x"})
    whole = document(MODEL, [message("done", 1)])
    as_event = {"type": "error", "code": "server_error", "message": "x", "sequence_number": 1}
    answers = [http(200, failed), http(200, whole)]
    if deltas:
        started = responses.events(whole)[:3]
        answers = [streamed([*started, as_event]), streamed(responses.events(whole))]
    async with model_server(answers) as server:
        run = await played(at(tmp_path, server.url), deltas=deltas)
    assert (run.row.answer, warnings(run)) == ("done", ["model_retry"])


async def test_a_stream_that_is_cut_is_asked_again(tmp_path: Path):
    events = responses.events(document(MODEL, [reasoning(PLACE, MODEL, 1), message("done", 1)]))
    for cut in range(1, len(events)):
        async with model_server([streamed(events[:cut]), streamed(events)]) as server:
            run = await played(at(tmp_path / str(cut), server.url), deltas=True)
        assert (run.row.answer, warnings(run)) == ("done", ["model_retry"])


async def test_two_messages_of_one_answer(tmp_path: Path):
    """Parted by a blank line."""
    async with model_server(openai(lambda body: [message("one", 1), message("two", 2)])) as server:
        run = await played(at(tmp_path, server.url), deltas=True)
    assert run.row.answer == "one\n\ntwo"


async def test_events_before_the_end_have_the_answer_of_some_servers(tmp_path: Path):
    """The last event has no output there."""
    events = responses.events(document(MODEL, [message("done", 1)]))
    events[-1]["response"] = {**events[-1]["response"], "output": []}
    async with model_server([streamed(events)]) as server:
        run = await played(at(tmp_path, server.url), deltas=True)
    assert run.row.answer == "done"


async def test_kept_data_is_in_no_event(tmp_path: Path):
    async with model_server(openai(thinking_then_done)) as server:
        run = await played(at(tmp_path, server.url))
    assert responses.seal(PLACE, MODEL, "rs_0001") not in json.dumps(run.events)


@pytest.mark.parametrize(("cache", "is_sent"), [("5m", True), ("off", False)])
async def test_the_key_of_a_cache(tmp_path: Path, cache: str, is_sent: bool):
    """It is another one for each agent."""
    async with model_server(openai(lambda body: [message("done", 1)])) as server:
        named = {MODEL: {"provider": "gw", "prompt_cache": cache}}
        run = await played(at(tmp_path, server.url, models=named))
    assert run.row.answer == "done"
    assert ("prompt_cache_key" in server.asked[0]) == is_sent


@both
async def test_an_answer_that_is_an_error(tmp_path: Path, deltas: bool):
    """With status 200, and what is wrong at the top."""
    wrong = {"type": "error", "code": "invalid_prompt", "message": "this prompt is refused"}
    answer = streamed([wrong]) if deltas else http(200, wrong)
    async with model_server(lambda body: answer) as server:
        run = await played(at(tmp_path, server.url), deltas=deltas)
    assert run.row.status == "failed"
    assert "this prompt is refused" in str(run.row.answer)
