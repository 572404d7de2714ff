"""What refusals teach, and what they do not, in a crew's runs; in the words of public reports."""

from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from tests.support.crews import write_yaml
from tests.support.endpoints import (
    answer_as,
    call,
    crew_at,
    error,
    played,
    refusing,
    roles,
    warnings,
)
from tests.support.model_server import http, model_server

Request = dict[str, Any]
UNKNOWN_KEYWORD = (
    'Invalid JSON payload received. Unknown name "additionalProperties" at '
    "'tools[0].function_declarations[0].parameters': Cannot find field."
)


def has_keyword(request: Request) -> bool:
    return "additionalProperties" in str(request.get("tools"))


def without_names(request: Request) -> bool:
    results = [one for one in request["messages"] if one["role"] == "tool"]
    return any(one.get("name") != "add" for one in results)


def ends_with_the_model(request: Request) -> bool:
    return roles(request)[-1] == "assistant"


# by name: what is refused, in which words, with which keys of the agent
LEARNED: dict[str, tuple[Callable[[Request], bool], str, dict[str, Any]]] = {
    "kimi": (
        lambda request: request.get("temperature", 1) != 1,
        "invalid temperature: only 1 is allowed for this model",
        {"temperature": 0.7},
    ),
    "claude-thinks": (
        lambda request: request.get("temperature", 1) != 1,
        "`temperature` may only be set to 1 when thinking is enabled.",
        {"temperature": 0.7},
    ),
    "claude-top-p": (
        lambda request: "top_p" in request,
        "`top_p` must be greater than or equal to 0.95 or unset when thinking is enabled.",
        {"top_p": 0.5},
    ),
    "openai-effort": (
        lambda request: request.get("reasoning_effort") == "xhigh",
        "Invalid value: 'xhigh'. Supported values are: 'none', 'minimal', 'low', 'medium' and 'high'.",
        {"thinking": "max"},
    ),
    "groq-effort": (
        lambda request: "reasoning_effort" in request,
        "`reasoning_effort` must be one of `none` or `default`",
        {"thinking": "high"},
    ),
    "effort-value": (
        lambda request: "reasoning_effort" in request,
        "Invalid reasoning_effort: high. Must be one of: low, medium",
        {"thinking": "high"},
    ),
    "ollama-effort": (
        lambda request: "reasoning_effort" in request,
        '"gemma3:4b" does not support thinking',
        {"thinking": "high"},
    ),
    "xai-effort": (
        lambda request: "reasoning_effort" in request,
        "Model grok-4 does not support parameter reasoningEffort.",
        {"thinking": "high"},
    ),
    "java-top-p": (
        lambda request: "top_p" in request,
        "Model m-1 does not support parameter topP.",
        {"top_p": 0.3},
    ),
    "gemini-top-p": (
        lambda request: "top_p" in request,
        'Invalid JSON payload received. Unknown name "topP": Cannot find field.',
        {"top_p": 0.3},
    ),
    "java-effort": (
        lambda request: "reasoning_effort" in request,
        "Invalid request content: reasoningEffort: not supported",
        {"thinking": "high"},
    ),
    "gemini-name": (
        without_names,
        "* GenerateContentRequest.contents[2].parts[0].function_response.name: Name cannot be empty.",
        {},
    ),
    "pydantic-name": (without_names, "body.messages.3.tool.name: Field required", {}),
    "words-name": (without_names, "Tool messages require a `name` that is missing", {}),
    "gemini-keyword": (has_keyword, UNKNOWN_KEYWORD, {}),
    "bedrock-system": (
        lambda request: "system" in roles(request),
        "This model doesn't support system messages. Try again without a system message.",
        {},
    ),
}


@pytest.mark.parametrize("name", LEARNED)
async def test_a_request_is_made_again_without_it(name: str, tmp_path: Path):
    """Its tools stay native, and the next call of the run is taken at once."""
    refuses, text, keys = LEARNED[name]

    def reply(request: Request) -> bytes:
        if refuses(request):
            return http(400, error(text))
        if "tool" not in roles(request):
            return answer_as(request, {"tool_calls": [call()]}, "tool_calls")
        return answer_as(request, {"content": "done"}, "stop")

    async with model_server(reply) as server:
        run = await played(crew_at(tmp_path, server.url, keys))
    assert run.row.answer == "done"
    assert "tools" in server.asked[-1]
    taken = [one for one in server.asked if not refuses(one)]
    assert len(taken) == 2
    assert len(server.asked) <= 3


# by name: what is refused once, with which status, and the keys of the agent
TAUGHT_NOTHING: dict[str, tuple[int, dict[str, Any]]] = {
    "ollama-call": (
        500,
        error(
            "error parsing tool call: raw='{\"a\": 40', err=unexpected end of JSON input",
            type="api_error",
        ),
    ),
    "groq-call": (
        400,
        error(
            "Failed to call a function. Please adjust your prompt.",
            code="tool_use_failed",
            failed_generation='<function=add {"a": 40}</function>',
        ),
    ),
}


@pytest.mark.parametrize("name", TAUGHT_NOTHING)
async def test_a_call_that_was_written_wrongly_is_asked_for_again(name: str, tmp_path: Path):
    """One such answer is no sign that a model has no calls."""
    status, refusal = TAUGHT_NOTHING[name]
    refused = False

    def reply(request: Request) -> bytes:
        nonlocal refused
        if not refused:
            refused = True
            return http(status, refusal)
        if "tool" not in roles(request):
            return answer_as(request, {"tool_calls": [call()]}, "tool_calls")
        return answer_as(request, {"content": "done"}, "stop")

    async with model_server(reply) as server:
        run = await played(crew_at(tmp_path, server.url))
    assert run.row.answer == "done"
    assert "endpoint_learned" not in warnings(run)
    assert all("tools" in one for one in server.asked)


@pytest.mark.parametrize(
    "text",
    [
        "Invalid 'max_tokens': integer below minimum value. Expected a value >= 16, but got 10 "
        "instead.",
        "Function tools with reasoning_effort are not supported for gpt-5.6 in "
        "/v1/chat/completions. To use function tools, use /v1/responses or set reasoning_effort "
        "to 'none'.",
        "Unexpected role 'tool' after role 'user'",
    ],
)
async def test_what_is_about_something_else_ends_the_run(text: str, tmp_path: Path):
    """With the words of the server, and nothing is left out from then on."""
    async with model_server(refusing(error(text), lambda request: True)) as server:
        run = await played(crew_at(tmp_path, server.url, {"max_tokens": 64000}))
    assert run.row.status == "failed"
    assert text[:60] in (run.row.answer or "")
    assert warnings(run) == []
    assert all(one.get("max_tokens") == 64000 and "tools" in one for one in server.asked)


NESTED = """
from dataclasses import dataclass
from typing import Literal


@dataclass
class Place:
    city: str
    zone: int = 0


def find(place: Place, kind: Literal[1, 2] = 1, near: str | None = None) -> str:
    \"\"\"Find.

    Args:
        near: of what
    \"\"\"
    return "found"


def ping() -> str:
    \"\"\"Ping.\"\"\"
    return "pong"
"""
FEW_FORMS = (
    "schema specified other fields alongside any_of. When using any_of, it must be the only field",
    "parameters.properties: should be non-empty for OBJECT type",
    "parameters.properties[kind].enum: only allowed for STRING type",
    'Invalid JSON payload received. Unknown name "$defs" at tools[0]: Cannot find field.',
)


@pytest.mark.parametrize("text", FEW_FORMS)
async def test_schemas_in_few_forms(text: str, tmp_path: Path):
    """What Google takes: nothing beside alternatives, no empty object, no numbers to choose from."""

    def refuses(request: Request) -> bool:
        tools = str(request.get("tools"))
        return "anyOf" in tools or "$" in tools or "enum" in tools

    async with model_server(refusing(error(text), refuses)) as server:
        folder = crew_at(tmp_path, server.url, {"tools": ["find", "ping"]})
        entries = {
            name: {"kind": "python", "function": f"n.py:{name}"} for name in ("find", "ping")
        }
        write_yaml(folder / "tools.yaml", {"tools": entries})
        (folder / "n.py").write_text(NESTED)
        run = await played(folder)
    assert (run.row.answer, warnings(run)) == ("done", ["endpoint_learned"])
    find, ping = (one["function"] for one in server.asked[-1]["tools"])
    assert "parameters" not in ping
    place = find["parameters"]["properties"]["place"]
    assert place["properties"]["city"]["type"] == "string"
    assert find["parameters"]["properties"]["near"]["type"] == "string"


async def test_a_conversation_that_ends_with_the_model(tmp_path: Path):
    """Where an agent goes on with its own words, the last message is the user's."""

    def reply(request: Request) -> bytes:
        if ends_with_the_model(request):
            text = (
                "This model does not support assistant message prefill. The conversation must end "
                "with a user message."
            )
            return http(400, error(text))
        return answer_as(
            request, {"content": "again" if len(server.asked) < 2 else "[END]"}, "stop"
        )

    routing = {"defaults": {"a": "a"}, "signals": {"a": [{"signal": "[END]", "target": None}]}}
    async with model_server(reply) as server:
        run = await played(crew_at(tmp_path, server.url, {"is_terminal": False}, routing=routing))
    assert run.row.status == "completed"
    assert roles(server.asked[-1])[-1] == "user"


async def test_words_behind_a_result(tmp_path: Path):
    """Mistral's templates want the model's own words between a result and a user's."""

    def reply(request: Request) -> bytes:
        shown = roles(request)
        if ("tool", "user") in pairwise(shown):
            text = "Unexpected role 'user' after role 'tool'"
            return http(400, {"object": "error", "message": text, "code": 400})
        if "tool" in shown and shown[-1] == "user":
            return answer_as(request, {"content": "done"}, "stop")
        return answer_as(request, {"tool_calls": [call()]}, "tool_calls")

    async with model_server(reply) as server:
        keys = {"max_rounds": 2, "on_limit": "answer"}
        run = await played(crew_at(tmp_path, server.url, keys))
    assert run.row.answer == "done"
    assert "tools" in server.asked[0]
    assert ("tool", "assistant") in pairwise(roles(server.asked[-1]))


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (
            {"choices": None, "base_resp": {"status_code": 1004, "status_msg": "login fail"}},
            "login fail",
        ),
        ({"error_code": 17, "error_msg": "Open api daily request limit"}, "daily request limit"),
    ],
)
async def test_errors_in_forms_of_their_own(answer: Any, words: str, tmp_path: Path):
    """MiniMax and Baidu put them into answers with status 200."""
    async with model_server(lambda request: http(200, answer)) as server:
        run = await played(crew_at(tmp_path, server.url))
    assert run.row.status == "failed"
    assert words in (run.row.answer or "")


@pytest.mark.parametrize(
    "reason", ["MALFORMED_FUNCTION_CALL", "function_call_filter: UNEXPECTED_TOOL_CALL"]
)
async def test_a_call_that_google_could_not_read(reason: str, tmp_path: Path):
    """Is asked for again."""

    def reply(request: Request) -> bytes:
        if len(server.asked) == 1:
            return answer_as(request, {"content": None}, reason)
        return answer_as(request, {"content": "done"}, "stop")

    async with model_server(reply) as server:
        run = await played(crew_at(tmp_path, server.url))
    assert run.row.answer == "done"
    assert len(server.asked) == 2


@pytest.mark.parametrize("reason", ["PROHIBITED_CONTENT", "content_filter: SPII", "sensitive"])
async def test_what_a_filter_holds_back(reason: str, tmp_path: Path):
    """Is said to be that, in whatever word of the provider."""
    async with model_server(lambda one: answer_as(one, {"content": None}, reason)) as server:
        run = await played(crew_at(tmp_path, server.url))
    assert "content filter" in (run.row.answer or "")
