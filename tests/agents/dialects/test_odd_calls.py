"""Calls in thoughts, in forms of other APIs, and by other names."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.support.endpoints import answering, both, call, crew_at, played
from tests.support.model_server import chunks, completion, http, model_server

TAGGED = '<tool_call>\n{"name": "add", "arguments": {"a": 40}}\n</tool_call>'
NAMED = "<tool_call>\n<function=add>\n<parameter=a>\n40\n</parameter>\n</function>\n</tool_call>"
BARE = "<function=add><parameter=a>40</parameter></function>"


@both
@pytest.mark.parametrize(
    "message",
    [
        {"content": None, "reasoning_content": f"I need the sum.\n{TAGGED}"},
        {"content": "", "reasoning": f"I need the sum.\n\n{NAMED}\n"},
        {"content": None, "reasoning_content": f"I need the sum.\n{BARE}"},
        {"content": f"<think>I need the sum.\n{TAGGED}"},
        {"content": f"<think>I need the sum.\n{NAMED}\n</think>\n"},
        {"content": None, "reasoning_content": f"Sum.\n{TAGGED.removesuffix('</tool_call>')}"},
    ],
)
async def test_thoughts_that_end_with_a_call(tmp_path: Path, message: dict[str, Any], deltas: bool):
    async with model_server(answering(message)) as server:
        run = await played(crew_at(tmp_path, server.url), deltas=deltas)
    (started,) = run.of("tool_start")
    assert (started["metadata"]["tool"], started["metadata"]["arguments"]) == ("add", {"a": 40})
    assert run.row.answer == "done"


@pytest.mark.parametrize(
    ("message", "agent"),
    [
        # it goes on behind the call
        ({"content": None, "reasoning_content": f"I could say\n{TAGGED}\nor not."}, {}),
        # the call is not closed, and decided against
        (
            {
                "content": None,
                "reasoning_content": f"Maybe\n{TAGGED.removesuffix('</tool_call>')}\nBut no.",
            },
            {},
        ),
        (
            {
                "content": None,
                "reasoning_content": "Maybe\n<function=add>\n<parameter=a>40</parameter>\nBut no.",
            },
            {},
        ),
        # within a sentence
        ({"content": None, "reasoning_content": f"I could say {TAGGED}"}, {}),
        # a tool that is none
        ({"content": None, "reasoning_content": TAGGED.replace("add", "drop")}, {}),
        # calls in texts are none
        ({"content": None, "reasoning_content": TAGGED}, {"tool_call_mode": "native"}),
    ],
)
async def test_thoughts_that_speak_of_a_call(
    tmp_path: Path, message: dict[str, Any], agent: dict[str, Any]
):
    async with model_server(answering(message)) as server:
        run = await played(crew_at(tmp_path, server.url, agent))
    assert run.of("tool_start") == []
    assert "there is only reasoning" in run.of("error")[0]["content"]


async def test_a_call_in_thoughts_beside_an_answer_is_none(tmp_path: Path):
    message = {"content": "All is well.", "reasoning_content": f"I could say\n{TAGGED}"}
    async with model_server(answering(message)) as server:
        run = await played(crew_at(tmp_path, server.url))
    assert (run.row.answer, run.of("tool_start")) == ("All is well.", [])


async def test_several_calls_in_one(tmp_path: Path):
    """GPT's own tool for several at once, which it was not shown."""
    uses = [
        {"recipient_name": "functions.add", "parameters": {"a": 40}},
        {"recipient_name": "functions.note", "parameters": {"text": "x"}},
    ]
    made = call("multi_tool_use.parallel", json.dumps({"tool_uses": uses}))
    async with model_server(answering({"content": None, "tool_calls": [made]})) as server:
        run = await played(crew_at(tmp_path, server.url))
    assert [one["metadata"]["tool"] for one in run.of("tool_start")] == ["add", "note"]
    sent = server.asked[-1]["messages"]
    ids = [one["id"] for one in next(one for one in sent if one.get("tool_calls"))["tool_calls"]]
    assert [one["tool_call_id"] for one in sent if one["role"] == "tool"] == ids
    assert len(set(ids)) == 2


@both
@pytest.mark.parametrize(
    "made",
    [
        {"id": "c1", "type": "function", "name": "add", "arguments": {"a": 40}},
        {"id": "c1", "function": {"name": "add", "parameters": {"a": 40}}},
        *[
            call(name)
            for name in (
                *("functions_add", "functions.add.0", "functions::add", "add()", "call:add"),
                *("<function=add", "repo_browser.add", "assistant.add"),
            )
        ],
    ],
    ids=str,
)
async def test_a_call_in_another_form(tmp_path: Path, made: dict[str, Any], deltas: bool):
    async with model_server(answering({"content": None, "tool_calls": [made]})) as server:
        run = await played(crew_at(tmp_path, server.url), deltas=deltas)
    (started,) = run.of("tool_start")
    assert (started["metadata"]["tool"], started["metadata"]["arguments"]) == ("add", {"a": 40})


@pytest.mark.parametrize(
    "names",
    [("get_", "weather"), ("get", "get_weather"), ("get_weather", "functions.get_weather")],
)
async def test_a_name_in_pieces(tmp_path: Path, names: tuple[str, str]):
    pieces = [
        {"index": 0, "id": "c1", "function": {"name": names[0]}},
        {"index": 0, "function": {"name": names[1]}},
        {"index": 0, "function": {"arguments": '{"city":'}},
        {"index": 0, "function": {"arguments": '"Hue"}'}},
    ]
    called = chunks(*({"tool_calls": [one]} for one in pieces), finish="tool_calls")
    async with model_server([called, chunks({"content": "done"})]) as server:
        run = await played(crew_at(tmp_path, server.url), deltas=True)
    (started,) = run.of("tool_start")
    assert started["metadata"]["tool"] == "get_weather"


async def test_arguments_that_are_cut(tmp_path: Path):
    """The model knows why, in place of what is wrong with them as JSON."""
    message = {"content": None, "tool_calls": [call("note", '{"text": "half of')]}
    async with model_server(answering(message, "length")) as server:
        run = await played(crew_at(tmp_path, server.url))
    assert "cut by its length" in run.of("tool_result")[0]["content"]


@pytest.mark.parametrize(
    ("content", "text"),
    [({"type": "text", "text": "hello"}, "hello"), ({"answer": 42}, '{"answer": 42}')],
)
async def test_content_that_is_an_object(tmp_path: Path, content: Any, text: str):
    async with model_server([http(200, completion(content))]) as server:
        run = await played(crew_at(tmp_path, server.url))
    assert run.row.answer == text
