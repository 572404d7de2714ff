"""Answers and refusals of providers that are wrong in some way: never taken for what they are not."""

import copy
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from agents.dialects.by_name import DIALECTS
from agents.dialects.collector import Collector
from agents.dialects.refusals import Refusal
from agents.dialects.surrogates import join_surrogates
from agents.endpoint import DialectName
from agents.errors import ModelError
from agents.model import ModelReply
from agents.providers.lessons import learn
from agents.quirks import Quirks
from tests.agents.dialects.test_anthropic import MODEL, at
from tests.agents.dialects.test_thinking import shown
from tests.support.endpoints import crew_at, played, warnings
from tests.support.model_server import chunks, model_server
from tests.support.strict import anthropic, responses
from tests.support.strict.served import PLACE, claude, streamed

HOSTILE: tuple[Any, ...] = (
    None,
    1,
    -5,
    1e400,
    True,
    "x",
    "",
    [],
    [1],
    {},
    {"a": []},
    "\ud800",
    [None],
)
BLOCKS = [
    anthropic.thought(PLACE, MODEL, "hm"),
    anthropic.text("Let me see."),
    anthropic.call("t1", "add", {"a": 1}),
]
ITEMS = [
    responses.reasoning(PLACE, "g", 1),
    responses.message("Let me see.", 1),
    responses.call("c1", "add", {"a": 1}, 1),
]


def reader_of(dialect: DialectName) -> Collector:
    return DIALECTS[dialect].reader("m", "s", Quirks())


def paths(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    keys = (
        range(len(value)) if isinstance(value, list) else value if isinstance(value, dict) else ()
    )
    for key in keys:
        yield (*path, key)
        yield from paths(value[key], (*path, key))


def with_value(document: Any, path: tuple[Any, ...], value: Any) -> Any:
    changed = copy.deepcopy(document)
    inner = changed
    for key in path[:-1]:
        inner = inner[key]
    inner[path[-1]] = value
    return changed


def read(dialect: DialectName, events: list[Any]) -> tuple[str, ModelReply | None]:
    """What is shown of a stream, and its answer."""
    reader = reader_of(dialect)
    said = ""
    try:
        for event in events:
            said += reader.read_chunk(json.dumps(event).encode())
            if reader.has_ended:
                break
        said += reader.end_stream(is_done=True)
        return said, reader.reply() if reader.finished else None
    except (ModelError, Refusal, ValueError, TypeError, OverflowError):
        # the client makes a ModelError of each
        return said, None


@pytest.mark.parametrize("dialect", ["anthropic", "responses"])
def test_whatever_stands_anywhere_in_a_stream(dialect: DialectName):
    """What is read was shown; nothing else than an error comes of the rest."""
    whole: Any = anthropic.document(MODEL, BLOCKS)
    events = anthropic.events(whole, 4)
    if dialect == "responses":
        whole = responses.document("g", ITEMS)
        events = responses.events(whole, 4)
    for path in paths(events):
        for value in HOSTILE:
            said, reply = read(dialect, with_value(events, path, value))
            if reply is not None and said:
                # halves of characters are joined as they are published
                assert join_surrogates(said) == reply.content


async def test_a_loop_of_one_model_thinks_on(tmp_path: Path):
    """Its later answers in a loop need not begin with thinking: all are one turn."""

    def say(body: dict[str, Any]) -> Any:
        match len(body["messages"]):
            case 1:
                return [
                    anthropic.thought(PLACE, MODEL, "hm"),
                    anthropic.call("t1", "add", {"a": 1}),
                ]
            case 3:
                return [anthropic.call("t2", "add", {"a": 2})]
            case _:
                return [anthropic.text("done")]

    async with model_server(claude(say)) as server:
        run = await played(at(tmp_path, server.url, {"thinking": {"budget_tokens": 2000}}))
    assert (run.row.answer, warnings(run)) == ("done", [])
    assert {body["thinking"]["type"] for body in server.asked} == {"enabled"}


def answer(**more: Any) -> bytes:
    return json.dumps(responses.document("g", [responses.message("half", 1)], **more)).encode()


@pytest.mark.parametrize("status", ["in_progress", "queued", "cancelled"])
def test_an_answer_that_is_not_there_yet(status: str):
    with pytest.raises(ModelError, match=status):
        reader_of("responses").read_whole(answer(status=status))


def test_a_stream_of_items_without_its_last_event():
    """Its items are the answer where all are whole; else it is cut."""
    events = responses.events(responses.document("g", ITEMS[1:]))[:-1]
    said, reply = read("responses", events)
    assert reply is not None
    assert (said, [call.tool for call in reply.calls]) == ("Let me see.", ["add"])
    said, reply = read("responses", events[:-1])
    assert (said, reply) == ("Let me see.", None)


def test_a_call_of_the_provider_itself_is_none_of_ours():
    block = {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {}}
    answer = anthropic.document(MODEL, [block, anthropic.text("Found it.")])
    events = anthropic.events(answer)
    piece = {"type": "input_json_delta", "partial_json": '{"q": 1}'}
    at_ = next(n for n, one in enumerate(events) if one["type"] == "content_block_stop")
    events.insert(at_, {"type": "content_block_delta", "index": 0, "delta": piece})
    said, reply = read("anthropic", events)
    assert reply is not None
    assert (said, reply.calls) == ("Found it.", ())


def test_arguments_that_came_at_once():
    answer = anthropic.document(MODEL, [anthropic.call("t1", "add", {"a": 1})])
    events = [one for one in anthropic.events(answer) if one["type"] != "content_block_delta"]
    events[2]["content_block"]["input"] = {"a": 1}
    _, reply = read("anthropic", events)
    assert reply is not None
    assert reply.calls[0].arguments == {"a": 1}


def test_a_call_that_the_length_has_cut_is_not_made():
    cut = anthropic.document(MODEL, [anthropic.call("t1", "ping", {})], stop_reason="max_tokens")
    reader = reader_of("anthropic")
    reader.read_whole(json.dumps(cut).encode())
    with pytest.raises(ModelError, match="within a call"):
        reader.reply()
    item = {**responses.call("c1", "ping", {}, 1), "status": "incomplete", "arguments": ""}
    with pytest.raises(ModelError, match="within a call"):
        reader_of("responses").read_whole(
            json.dumps(responses.document("g", [item], status="incomplete")).encode()
        )


def test_counts_of_other_kinds():
    usage = {"input_tokens": "5", "cache_read_input_tokens": -5, "output_tokens": 1}
    reader = reader_of("anthropic")
    reader.read_whole(
        json.dumps(anthropic.document(MODEL, [anthropic.text("x")], usage=usage)).encode()
    )
    assert reader.reply().usage.prompt_tokens == 5


async def test_signatures_are_not_shown(tmp_path: Path):
    """Nor what a server sends under two names, or once more at the end."""
    deltas = [
        {"extra_content": "SIGNATURE", "reasoning": "Hm.", "reasoning_content": "Hm."},
        {"content": "Hi"},
    ]
    async with model_server([chunks(*deltas)]) as server:
        folder = crew_at(tmp_path, server.url, settings={"show_thinking": True})
        assert await shown(folder) == [("agent_thinking", "Hm."), ("agent_delta", "Hi")]


CLAUDE = {
    "model": "m",
    "system": [{"type": "text", "text": "s"}],
    "messages": [{"role": "user", "content": [{"type": "text", "text": "x"}]}],
    "thinking": {"type": "adaptive"},
    "output_config": {"effort": "high"},
    "tool_choice": {"type": "any"},
    "tools": [],
}
GPT = {
    "model": "m",
    "input": [],
    "include": ["reasoning.encrypted_content"],
    "reasoning": {"effort": "high", "summary": "auto"},
    "text": {"format": {"type": "json_schema", "schema": {}}},
}
GEMINI = {
    "model": "m",
    "messages": [{"role": "user", "content": "x"}],
    "extra_body": {"google": {"thinking_config": {"thinking_budget": 2000}}},
}
LESSONS: list[tuple[DialectName, dict[str, Any], str, Any]] = [
    ("anthropic", CLAUDE, "adaptive thinking is not supported on this model", "reasoning_effort"),
    ("anthropic", CLAUDE, "This model does not support the effort parameter.", "reasoning_effort"),
    ("anthropic", CLAUDE, '"thinking.type.enabled" is not supported', "reasoning_effort"),
    ("anthropic", CLAUDE, "does not support image input (thinking aloud)", None),
    ("anthropic", CLAUDE, "web search is not enabled for this organization. thinking: ok", None),
    ("anthropic", CLAUDE, "disabled best effort routing which is not supported", None),
    ("anthropic", CLAUDE, 'Unexpected role "tool" while thinking', None),
    ("anthropic", CLAUDE, "The image file signature of the upload is invalid", None),
    ("anthropic", CLAUDE, "tool_choice.name: Tool 'foo' not found in provided tools", None),
    ("responses", GPT, "Invalid schema for function 'effort': unsupported", None),
    ("responses", GPT, "Unsupported parameter: 'reasoning.effort'", "reasoning_effort"),
    (
        "responses",
        GPT,
        "Your organization must be verified to generate reasoning summaries, which is not supported"
        " reasoning.summary unsupported_value",
        "reasoning_summary",
    ),
    ("chat", GEMINI, "Thinking budget is not supported for this model.", "reasoning_effort"),
    ("chat", GEMINI, 'Unknown name "thinking_budget"', "reasoning_effort"),
    ("chat", {**GEMINI, "reasoning_effort": "low"}, "not supported on best effort tier", None),
]


@pytest.mark.parametrize(("dialect", "body", "text", "left_out"), LESSONS)
def test_what_a_refusal_teaches(dialect: DialectName, body: Any, text: str, left_out: str | None):
    found = learn(dialect, Quirks(), body, Refusal(400, text, ""))
    assert (found[0].leave_out if found else ()) == ((left_out,) if left_out else ())
    if left_out is None:
        assert found is None


async def test_thoughts_without_what_they_led_to_are_not_sent(tmp_path: Path):
    """Where a server's events have the words alone, the items are not the whole answer."""
    events: list[dict[str, Any]] = [
        {"type": "response.output_item.done", "output_index": 0, "item": ITEMS[0]},
        {"type": "response.output_text.delta", "output_index": 1, "delta": "Hello"},
        {"type": "response.completed", "response": {**responses.document("g", []), "output": []}},
    ]
    async with model_server([streamed(events)]) as server:
        provider = {"base_url": server.url, "dialect": "responses"}
        folder = crew_at(tmp_path, server.url, providers={"gw": provider})
        run = await played(folder, deltas=True)
    assert run.row.answer == "Hello"
