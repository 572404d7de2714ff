"""Forms of messages that an endpoint refuses, in a crew's runs, whole and streamed.

The bytes are those of public reports, and of llama.cpp and LiteLLM as they answered.
"""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.support.crews import write_crew, write_yaml
from tests.support.endpoints import (
    answer_as,
    both,
    call,
    crew_at,
    error,
    played,
    refusing,
    roles,
    warnings,
)
from tests.support.model_server import chunks, http, model_server

ALTERNATE = {
    "object": "error",
    "message": "Conversation roles must alternate user/assistant/user/assistant/...",
    "code": 400,
}
LLAMA_ALTERNATE = error(
    "Unable to generate parser for this template. Automatic parser generation failed: \n"
    "------------\nWhile executing CallExpression at line 1, column 226 in source:\n"
    "{{ raise_exception('System role not supported') }}…\nError: Jinja Exception: Conversation "
    "roles must alternate user/assistant/user/assistant/...",
    code=400,
    type="invalid_request_error",
)


def breaks_turns(request: dict[str, Any]) -> bool:
    shown = [one for one in roles(request) if one not in ("system", "tool")]
    return shown != ["user", "assistant"] * (len(shown) // 2) + ["user"] * (len(shown) % 2)


@both
@pytest.mark.parametrize(
    ("refusal", "status"), [(ALTERNATE, 400), (LLAMA_ALTERNATE, 400), (LLAMA_ALTERNATE, 500)]
)
async def test_agents_in_a_row_behind_a_strict_template(
    tmp_path: Path, refusal: dict[str, Any], status: int, deltas: bool
):
    """Messages of one role are joined by a blank line; marks and names stay."""
    async with model_server(refusing(refusal, breaks_turns, status=status)) as server:
        agents = {name: {"model": "m-1", "provider": "gw"} for name in ("a", "b", "d")}
        folder = write_crew(
            tmp_path,
            agents,
            providers={"gw": {"base_url": server.url}},
            settings={"retry_backoff_min_millis": 1},
        )
        run = await played(folder, deltas=deltas)
    assert (run.row.status, run.row.answer) == ("completed", "done")
    assert server.asked[-1]["messages"][1]["content"] == "go\n\n[A]: done\n\n[B]: done"
    assert warnings(run) == ["endpoint_learned"]
    assert len(server.asked) == 4


SYSTEM = {
    "gemma": {"object": "error", "message": "System role not supported", "code": 400},
    "tools-named": error("Only user, assistant and tool roles are supported, got system."),
    "google": error("Developer instruction is not enabled for models/gemma-3-27b-it"),
}


@both
@pytest.mark.parametrize("name", SYSTEM)
async def test_a_model_without_system_messages(tmp_path: Path, name: str, deltas: bool):
    """The prompt stands before the first words of the user; tools stay tools."""
    reply = refusing(SYSTEM[name], lambda r: "system" in roles(r), {"tool_calls": [call()]})
    async with model_server(reply) as server:
        run = await played(crew_at(tmp_path, server.url), deltas=deltas)
    assert run.row.answer == "done"
    assert server.asked[-1]["messages"][0]["content"].startswith("You are a.")
    assert server.asked[-1]["messages"][0]["content"].endswith("go")
    assert "tools" in server.asked[-1]
    assert [event["metadata"]["output"] for event in run.of("tool_result")] == ["sum 42"]


def has_null(request: dict[str, Any]) -> bool:
    return any(one.get("content", "") is None for one in request["messages"])


NULL = {
    "pydantic": (error("messages.2.content: Input should be a valid string"), 400),
    "llama-cpp-python": (
        error(
            "7 validation errors:\n  {'type': 'literal_error', 'loc': ('body', 'messages', 2, "
            "'ChatCompletionRequestSystemMessage', 'role'), 'msg': \"Input should be 'system'\"}\n "
            " {'type': 'string_type', 'loc': ('body', 'messages', 2, "
            "'ChatCompletionRequestAssistantMessage', 'content'), 'msg': 'Input should be a valid "
            "string', 'input': None} …",
            type="internal_server_error",
        ),
        500,
    ),
}


@pytest.mark.parametrize("name", NULL)
async def test_null_beside_calls(tmp_path: Path, name: str):
    """Asked again with an empty text in its place."""
    refusal, status = NULL[name]
    reply = refusing(refusal, has_null, {"content": "", "tool_calls": [call()]}, status)
    async with model_server(reply) as server:
        run = await played(crew_at(tmp_path, server.url))
    assert run.row.answer == "done"
    assert server.asked[-1]["messages"][2]["content"] == ""
    assert len(server.asked) == 3


THOUGHTS: dict[str, Any] = {
    "reasoning_content": "I need the sum.",
    "thinking_blocks": [{"type": "thinking", "thinking": "I need the sum.", "signature": "c2ln"}],
    "reasoning_details": [{"type": "reasoning.text", "text": "I need", "signature": "x"}],
}


@pytest.mark.parametrize("key", THOUGHTS)
@both
async def test_thoughts_go_back_with_their_call(tmp_path: Path, key: str, deltas: bool):
    """Unchanged, joined, to the model that thought them; not with answers without calls."""
    value = THOUGHTS[key]

    def reply(request: dict[str, Any]) -> bytes:
        calling = [one for one in request["messages"] if one.get("tool_calls")]
        if not calling:
            first = {"content": "", key: value, "tool_calls": [{"index": 0, **call()}]}
            if request.get("stream") and key == "reasoning_content":
                pieces: list[dict[str, Any]] = [
                    {key: "I need "},
                    {key: "the sum."},
                    {"tool_calls": [{"index": 0, **call()}]},
                ]
                return chunks(*pieces, finish="tool_calls")
            if request.get("stream") and key == "thinking_blocks":
                begin = {"type": "thinking", "thinking": "I need the ", "signature": ""}
                end = {"type": "thinking", "thinking": "sum.", "signature": ""}
                sign = {"type": "thinking", "thinking": "", "signature": "c2ln"}
                return chunks(
                    *({key: [one]} for one in (begin, end, sign)),
                    {"tool_calls": [{"index": 0, **call()}]},
                )
            return answer_as(request, first, "tool_calls")
        if calling[0].get(key) != value:
            return http(400, error(f"The `{key}` in the thinking mode must be passed back."))
        return answer_as(request, {"content": "done", "reasoning_content": "easy"}, "stop")

    async with model_server(reply) as server:
        run = await played(crew_at(tmp_path, server.url), deltas=deltas)
    assert run.row.answer == "done"
    assert len(server.asked) == 2


async def test_one_call_in_a_message(tmp_path: Path):
    """From then on each call and its result stand by themselves."""

    def several(request: dict[str, Any]) -> bool:
        return any(len(one.get("tool_calls") or ()) > 1 for one in request["messages"])

    calls = [call(), {**call("ping", "{}"), "id": "c2"}]
    refusal = error("This model only supports single tool-calls at once!")
    async with model_server(refusing(refusal, several, {"tool_calls": calls})) as server:
        run = await played(crew_at(tmp_path, server.url))
    assert run.row.answer == "done"
    assert roles(server.asked[-1]) == ["system", "user", "assistant", "tool", "assistant", "tool"]


async def test_what_a_provider_added_goes_to_it_alone(tmp_path: Path):
    """The backup gets the plain message, the primary what it has sent."""
    extra = {"google": {"thought_signature": "sig"}}

    def one(request: dict[str, Any]) -> bytes:
        if any(message["role"] == "tool" for message in request["messages"]):
            return http(400, error("the model is gone"))
        message = {"tool_calls": [call(extra_content=extra)], "extra_content": extra}
        return answer_as(request, message, "tool_calls")

    def two(request: dict[str, Any]) -> bytes:
        if "extra_content" in json.dumps(request):
            return http(400, error("messages.2: Extra inputs are not permitted: extra_content"))
        return answer_as(request, {"content": "done"}, "stop")

    async with model_server(one) as first, model_server(two) as second:
        models = {
            "primary": {"model": "m-1", "provider": "gw"},
            "backup": {"model": "m-2", "provider": "other"},
        }
        folder = crew_at(tmp_path, first.url, models, providers={"other": {"base_url": second.url}})
        run = await played(folder)
    assert run.row.answer == "done"
    assert first.asked[1]["messages"][2]["extra_content"] == extra
    assert first.asked[1]["messages"][2]["tool_calls"][0]["extra_content"] == extra
    assert len(second.asked) == 1


async def test_tools_that_are_refused_are_called_in_text(tmp_path: Path):
    """Also where the model has made native calls before, of another endpoint."""
    text = "registry.ollama.ai/library/m does not support tools"
    written = {"content": "I add.\nadd(40)"}
    reply = refusing(error(text), lambda r: "tools" in r, written)
    async with model_server(reply) as server:
        run = await played(crew_at(tmp_path, server.url))
    assert run.row.answer == "done"
    assert [event["metadata"]["output"] for event in run.of("tool_result")] == ["sum 42"]


async def test_a_result_without_output(tmp_path: Path):
    """Of a tool that says nothing, where no text may be empty; white space alone is none."""

    def refuses(request: dict[str, Any]) -> bool:
        texts = [one.get("content", "x") for one in request["messages"]]
        return any(isinstance(one, str) and not one.strip() for one in texts)

    message = {"content": "\n\n", "tool_calls": [call("silent", "{}")]}
    refusal = error("messages: text content blocks must be non-empty")
    async with model_server(refusing(refusal, refuses, message)) as server:
        folder = crew_at(tmp_path, server.url, {"tools": ["silent"]})
        (folder / "s.py").write_text('def silent() -> str:\n    """Be silent."""\n    return ""\n')
        write_yaml(
            folder / "tools.yaml",
            {"tools": {"silent": {"kind": "python", "function": "s.py:silent"}}},
        )
        run = await played(folder)
    assert (run.row.answer, set(warnings(run))) == ("done", {"endpoint_learned"})
    assert [one["content"] for one in server.asked[-1]["messages"] if one["role"] == "tool"] == [
        "(no output)"
    ]
