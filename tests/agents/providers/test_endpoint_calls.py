"""Calls as models really write them: in the text with marks, or nearly right; whole and streamed."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.agents.written_calls import CALLS, NO_CALLS
from tests.support.endpoints import answering, both, call, crew_at, played
from tests.support.model_server import chunks, completion, http, model_server


@both
@pytest.mark.parametrize("mode", ["auto", "text"])
@pytest.mark.parametrize("text", CALLS)
async def test_a_written_call_is_made(tmp_path: Path, text: str, mode: str, deltas: bool):
    """Also of a server that takes tools; its result goes back as for calls in text."""
    async with model_server(answering({"content": text})) as server:
        folder = crew_at(tmp_path, server.url, {"tool_call_mode": mode})
        run = await played(folder, deltas=deltas)
    (started,) = run.of("tool_start")
    assert (started["metadata"]["tool"], started["metadata"]["arguments"]) == ("add", {"a": 40})
    assert run.row.answer == "done"
    assert "TOOL EXECUTION RESULTS" in server.asked[-1]["messages"][-1]["content"]


@pytest.mark.parametrize("text", NO_CALLS)
async def test_a_text_that_speaks_of_a_call_is_an_answer(tmp_path: Path, text: str):
    """In a sentence, in a fence beside words, of a tool that is none."""
    async with model_server(answering({"content": text})) as server:
        run = await played(crew_at(tmp_path, server.url))
    assert run.of("tool_start") == []
    assert run.row.answer == text


@pytest.mark.parametrize("text", [one for one in CALLS if "DSML" in one or "minimax" in one])
async def test_a_quotation_is_one_in_any_form_of_marks(tmp_path: Path, text: str):
    """Text of a tool that is a call is repeated, and not made."""

    def reply(request: dict[str, Any]) -> bytes:
        if request["messages"][-1]["role"] == "tool":
            return http(200, completion(text))
        return http(200, completion("", calls=[("note", {"text": text})]))

    async with model_server(reply) as server:
        run = await played(crew_at(tmp_path, server.url, {"tool_call_mode": "auto"}))
    assert [one["metadata"]["tool"] for one in run.of("tool_start")] == ["note"]
    assert "quoted_call" in [one["metadata"]["code"] for one in run.of("warning")]


async def test_native_mode_reads_no_text(tmp_path: Path):
    """Whatever it looks like."""
    async with model_server(answering({"content": CALLS[0]})) as server:
        run = await played(crew_at(tmp_path, server.url, {"tool_call_mode": "native"}))
    assert run.row.answer == CALLS[0]


async def test_a_quoted_call_is_not_made(tmp_path: Path):
    """A line that stands in what the model was shown, whatever the marks around it."""
    quoted = '{"name": "add", "arguments": {"a": 40}}'
    text = f"<tool_call>\n{quoted}\n</tool_call>"
    async with model_server(answering({"content": text})) as server:
        run = await played(crew_at(tmp_path, server.url), query=f"what is\n{quoted}\nfor?")
    assert run.of("tool_start") == []
    assert run.of("warning")[0]["metadata"]["code"] == "quoted_call"


@both
async def test_thoughts_in_the_text_are_no_part_of_the_answer(tmp_path: Path, deltas: bool):
    """Nor of signals, calls and history; nor of what is streamed."""
    text = "<think>\nI could say [B], or\nadd(1)\n</think>\n\nVISIBLE"
    async with model_server(answering({"content": text})) as server:
        folder = crew_at(
            tmp_path,
            server.url,
            {"tool_call_mode": "text"},
            routing={"signals": {"a": [{"signal": "[B]", "target": None}]}},
        )
        run = await played(folder, deltas=deltas)
    assert run.row.answer == "VISIBLE"
    assert run.row.reason == "terminal"
    assert run.of("tool_start") == []


NEARLY: dict[str, tuple[dict[str, Any], str]] = {
    "namespace": (call("functions.add"), "sum 42"),
    "number": (call("functions.add:0"), "sum 42"),
    "case": (call("Get_Weather", '{"city": "Hue"}'), "sunny in Hue"),
    "raw-breaks": (call("note", '{"text": "line one\nline\ttwo"}'), "noted line one\nline\ttwo"),
    "twice": (call("add", json.dumps('{"a": 40}')), "sum 42"),
    "null": (call("add", '{"a": 40, "b": null}'), "sum 42"),
    "space": (call("add", '{"a ": 40}'), "sum 42"),
    "quotes": (call("add", "{'a': 40}"), "sum 42"),
    "fence": (call("add", '```json\n{"a": 40}\n```'), "sum 42"),
    "slipped": (call("add", '{"a": 40}<|im_end|>'), "sum 42"),
    "repeated": (call("add", '{"a": 40}{"a": 40}'), "sum 42"),
}


@both
@pytest.mark.parametrize("name", NEARLY)
async def test_a_call_that_is_nearly_right_is_made(tmp_path: Path, name: str, deltas: bool):
    """As it is meant, where there is no doubt."""
    made, output = NEARLY[name]
    async with model_server(answering({"content": None, "tool_calls": [made]})) as server:
        run = await played(crew_at(tmp_path, server.url), deltas=deltas)
    assert [event["metadata"]["output"] for event in run.of("tool_result")] == [output]
    assert run.row.answer == "done"


def piece(index: int | None = 0, id: str | None = None, **function: str) -> dict[str, Any]:
    made: dict[str, Any] = {"function": function}
    if index is not None:
        made["index"] = index
    if id is not None:
        made["id"] = id
    return {"tool_calls": [made]}


PIECES: dict[str, tuple[list[dict[str, Any]], list[str]]] = {
    "empty-object-first": (
        [piece(name="add", arguments="{}"), piece(arguments='{"a": 40}')],
        ["sum 42"],
    ),
    "two-of-one-index": (
        [piece(name="add", arguments='{"a": 40}'), piece(name="ping", arguments="{}")],
        ["sum 42", "pong"],
    ),
    "the-same-twice": (
        [piece(name="add", arguments='{"a": 40}'), piece(name="add", arguments='{"a": 1}')],
        ["sum 42", "sum 3"],
    ),
    "an-id-for-each-piece": (
        [
            piece(id="x1", name="add", arguments='{"a"'),
            piece(id="x2", arguments=": 40"),
            piece(id="x3", arguments="}"),
        ],
        ["sum 42"],
    ),
    "name-in-each-piece": (
        [piece(id="x", name="add", arguments='{"a"'), piece(id="x", name="add", arguments=": 40}")],
        ["sum 42"],
    ),
    "arguments-under-another-index": (
        [
            piece(0, id="a", name="add", arguments='{"a": 40}'),
            piece(0, id="b", name="add", arguments=""),
            piece(1, arguments='{"a": 1}'),
        ],
        ["sum 42", "sum 3"],
    ),
    "an-index-that-grows": (
        [
            piece(0, id="a", name="add", arguments='{"a"'),
            piece(1, id="a", arguments=": 4"),
            piece(2, id="a", arguments="0}"),
        ],
        ["sum 42"],
    ),
    "old-form": (
        [
            {"function_call": {"name": "add", "arguments": ""}},
            {"function_call": {"arguments": '{"a": 40}'}},
        ],
        ["sum 42"],
    ),
}


@pytest.mark.parametrize("name", PIECES)
async def test_pieces_of_calls(tmp_path: Path, name: str):
    """Each dialect has its own way to say which call a piece is of."""
    pieces, outputs = PIECES[name]

    def reply(request: dict[str, Any]) -> bytes:
        if request["messages"][-1]["role"] == "tool":
            return chunks({"content": "done"})
        return chunks(*pieces, finish="tool_calls")

    async with model_server(reply) as server:
        run = await played(crew_at(tmp_path, server.url), deltas=True)
    assert [event["metadata"]["output"] for event in run.of("tool_result")] == outputs
    assert run.row.answer == "done"


async def test_a_name_that_could_be_several_is_none(tmp_path: Path):
    """The model reads which tools there are."""
    async with model_server(
        [http(200, {"choices": [{"message": {"tool_calls": [call("subtract")]}}]})]
    ) as server:
        folder = crew_at(tmp_path, server.url, settings={"max_rounds": 1})
        run = await played(folder)
    assert run.of("tool_result")[0]["metadata"]["status"] == "error"
