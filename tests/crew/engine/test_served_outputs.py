"""Typed answers of a model over HTTP: what it is sent, and what becomes of what it sends."""

import json
from pathlib import Path
from typing import Any

import pytest

from crew import load_crew
from tests.support.crews import play
from tests.support.model_server import ModelServer, completion, http, model_server
from tests.support.typed_answers import (
    AGENTS,
    RIGHT,
    WRONG,
    sorting,
    ways,
)


def replies(*contents: Any) -> list[bytes]:
    texts = [one if isinstance(one, str) else json.dumps(one) for one in contents]
    return [http(200, completion(text)) for text in texts]


def served(folder: Path, server: ModelServer, **crew: Any) -> Path:
    keys = {"provider": "gw", "model": "m"}
    agents = {name: {**one, **keys} for name, one in AGENTS.items()}
    agents["doer"]["system_prompt"] = "Kind: {{output.sort.kind}}, as {{output.sort.tools}}."
    providers = {"gw": {"base_url": server.url, **crew.pop("provider", {})}}
    context = {"blocks": [{"kind": "history"}, {"kind": "outputs"}]}
    return sorting(
        folder,
        [],
        keys,
        agents=agents | {"sort": {**agents["sort"]}},
        providers=providers,
        context=context,
        **crew,
    )


async def test_what_a_model_is_sent(tmp_path: Path):
    """A schema; values in the prompt; the block before the newest query, so that a prefix stays."""
    async with model_server(replies({**RIGHT, "kind": "SIMPLE"}, "done")) as server:
        played = await play(load_crew(served(tmp_path, server)), "go")
    first, second = server.asked
    form = first["response_format"]
    assert form["type"] == "json_schema"
    assert form["json_schema"]["name"] == "sort"
    assert form["json_schema"]["schema"]["required"] == ["tools", "kind", "question"]
    assert "response_format" not in second
    system, block, query, *rest = second["messages"]
    assert system["content"] == "Kind: simple, as true."
    assert block["role"] == "user"
    assert '<outputs>\nsort: {"tools":true,"kind":"simple"}\n</outputs>' in block["content"]
    assert query == {"role": "user", "content": "go"}
    # the typed answer itself is no message for others
    assert rest == []
    assert played.row.answer == "done"


REFUSALS = [
    {
        "error": {
            "message": "Invalid parameter: 'response_format' of type 'json_schema' is not supported with this model.",
            "param": "response_format",
        }
    },
    {
        "error": {
            "message": "Function calling with a response mime type: 'application/json' is unsupported"
        }
    },
    {
        "error": {
            "code": 400,
            "message": "Cannot use custom grammar constraints with tools.",
            "type": "invalid_request_error",
        }
    },
    {
        "detail": [
            {
                "loc": ["body", "response_format", "type"],
                "msg": "Input should be 'text' or 'json_object'",
            }
        ]
    },
]


@pytest.mark.parametrize("refusal", REFUSALS)
async def test_a_server_without_schemas_is_told_in_words(tmp_path: Path, refusal: Any):
    """From then on, and one warning says so."""

    def reply(request: dict[str, Any]) -> bytes:
        if "response_format" in request:
            return http(400, refusal)
        return replies(RIGHT if "schema" in str(request["messages"][0]) else "done")[0]

    async with model_server(reply) as server:
        crew = load_crew(served(tmp_path, server))
        played = await play(crew, "go")
        again = await play(crew, "go")
    codes = [event["metadata"]["code"] for event in played.of("warning")]
    assert codes == ["output_in_words"]
    assert again.of("warning") == []
    assert [("response_format" in one) for one in server.asked] == [
        True,
        False,
        False,
        False,
        False,
    ]
    assert '"kind"' in server.asked[1]["messages"][0]["content"]
    assert '"kind"' not in server.asked[2]["messages"][0]["content"]
    assert ways(played) == ways(again) == [("sort", "doer", "output")]


async def test_a_declared_server_is_asked_in_words_at_once(tmp_path: Path):
    async with model_server(replies(RIGHT, "done")) as server:
        folder = served(tmp_path, server, provider={"quirks": {"typed_output": False}})
        played = await play(load_crew(folder), "go")
    assert "response_format" not in server.asked[0]
    assert played.row.answer == "done"


async def test_a_repair_is_a_message_of_the_user(tmp_path: Path):
    async with model_server(replies(WRONG, RIGHT, "done")) as server:
        played = await play(load_crew(served(tmp_path, server)), "go")
    _, repair, last = server.asked
    assert [one["role"] for one in repair["messages"]] == ["system", "user", "assistant", "user"]
    assert "tools: must be true or false" in repair["messages"][-1]["content"]
    assert "must be" not in json.dumps(last)
    assert played.row.rounds == 3


async def test_a_cut_answer_is_told_so(tmp_path: Path):
    cut = completion('{"tools": true, "ki')
    cut["choices"][0]["finish_reason"] = "length"
    async with model_server([http(200, cut), *replies(RIGHT, "done")]) as server:
        played = await play(load_crew(served(tmp_path, server)), "go")
    assert "cut off because it is too long" in server.asked[1]["messages"][-1]["content"]
    assert played.row.answer == "done"


CALL = [("look", {"x": "1"})]
LOOK = {"look": {"kind": "python", "function": "t.py:look", "effect": "read"}}


@pytest.mark.parametrize(
    ("content", "called"),
    [
        # JSON and calls: the calls are made, and the JSON is not checked
        ({"text": json.dumps(RIGHT), "calls": CALL}, True),
        # a call in a field is a text
        ({"text": json.dumps({**RIGHT, "question": "look(x=1)"}), "calls": []}, False),
        ({"text": json.dumps({**WRONG, "question": "a\nlook(x=1)"}, indent=1), "calls": []}, False),
        ({"text": '{"tools": true,\nlook(x=1)\n}', "calls": []}, False),
    ],
)
async def test_calls_and_answers_are_not_mixed_up(tmp_path: Path, content: Any, called: bool):
    first = http(200, completion(content["text"], content["calls"]))
    async with model_server([first, *replies(RIGHT, "done")]) as server:
        folder = served(tmp_path, server, tools=LOOK)
        text = (folder / "agents" / "sort.yaml").read_text()
        (folder / "agents" / "sort.yaml").write_text(f"{text}tools: [look]\n")
        (folder / "t.py").write_text("def look(x: str) -> str:\n    return x\n")
        played = await play(load_crew(folder), "go")
    assert bool(played.of("tool_start")) == called
    assert played.row.status == "completed"
