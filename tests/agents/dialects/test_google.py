"""What Google's layer of chat completions wants otherwise."""

from pathlib import Path
from typing import Any

import pytest

from crew.crew import check
from tests.support.endpoints import answer_as, answering, call, crew_at, error, played, warnings
from tests.support.model_server import completion, http, model_server

SIGNED = {"google": {"thought_signature": "s-1"}}
UNSIGNED = {"google": {"thought_signature": "skip_thought_signature_validator"}}


def at(folder: Path, url: str, agent: dict[str, Any] | None = None, **crew: Any) -> Path:
    providers = {"google": {"base_url": url, "api_key": "k-1"}, **crew.pop("providers", {})}
    given = {"model": "gemini-1", "provider": "google", **(agent or {})}
    return crew_at(folder, url, given, providers=providers, **crew)


def signatures(body: dict[str, Any]) -> list[Any]:
    messages = [one for one in body["messages"] if one.get("tool_calls")]
    return [call.get("extra_content") for one in messages for call in one["tool_calls"]]


async def test_what_it_has_signed_goes_back(tmp_path: Path):
    calls = [call(extra_content=SIGNED), call("note", '{"text": "x"}', id="c2")]
    async with model_server(answering({"tool_calls": calls})) as server:
        run = await played(at(tmp_path, server.url))
    assert (run.row.answer, warnings(run)) == ("done", [])
    assert signatures(server.asked[1]) == [SIGNED, None]


async def test_a_call_of_another_model_has_the_placeholder(tmp_path: Path):
    """The first of each answer: Google refuses calls without a signature."""

    def first(body: dict[str, Any]) -> bytes:
        if len(body["messages"]) > 2:
            return http(503, error("gone"))
        return answer_as(body, {"tool_calls": [call(), call("note", "{}", id="c2")]}, "tool_calls")

    async with model_server(first) as one, model_server([http(200, completion("done"))]) as other:
        providers = {
            "gw": {"base_url": one.url, "max_retries": 0},
            "google": {"base_url": other.url, "api_key": "k"},
        }
        agent = {"backup": {"model": "gemini-1", "provider": "google"}}
        run = await played(crew_at(tmp_path, one.url, agent, providers=providers))
    assert run.row.answer == "done"
    assert signatures(other.asked[0]) == [UNSIGNED, None]


async def test_a_budget_of_thinking(tmp_path: Path):
    async with model_server([http(200, completion("done"))]) as server:
        await played(at(tmp_path, server.url, {"thinking": {"budget_tokens": 2048}}))
    (body,) = server.asked
    assert body["extra_body"] == {"google": {"thinking_config": {"thinking_budget": 2048}}}


async def test_thoughts_are_in_the_total_alone(tmp_path: Path):
    document = completion("done")
    document["usage"] = {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 40}
    async with model_server([http(200, document)]) as server:
        run = await played(at(tmp_path, server.url))
    usage = run.of("agent_response")[0]["metadata"]["usage"]
    assert (usage["input"], usage["output"]) == (10, 30)


async def test_a_schema_beside_tools_is_told_in_words(tmp_path: Path):
    output = {"properties": {"kind": {"enum": ["a", "b"]}}, "required": ["kind"]}
    async with model_server([http(200, completion('{"kind": "a"}'))]) as server:
        run = await played(at(tmp_path / "1", server.url, {"output": output}))
        await played(at(tmp_path / "2", server.url, {"output": output, "tools": []}))
    assert run.row.answer == '{"kind":"a"}'
    beside, alone = server.asked
    assert "response_format" not in beside
    assert "JSON object" in beside["messages"][0]["content"]
    assert "response_format" in alone


@pytest.mark.parametrize("where", ["provider", "address", "declared"])
def test_who_is_google(tmp_path: Path, where: str):
    """By the provider's name, by its address, or as the file says."""
    address = "https://generativelanguage.googleapis.com/v1beta/openai"
    known: dict[str, dict[str, Any]] = {
        "provider": {"google": {"api_key": "k"}},
        "address": {"gw": {"base_url": address, "api_key": "k"}},
        "declared": {"gw": {"base_url": "http://127.0.0.1:1/v1", "quirks": {"google": True}}},
    }
    providers = known[where]
    agent = {"provider": next(iter(providers)), "thinking": {"budget_tokens": 2048}}
    folder = crew_at(tmp_path, "http://127.0.0.1:1/v1", agent, providers=providers)
    codes = {one.code for one in check(folder).problems}
    assert "thinking-budget" not in codes
