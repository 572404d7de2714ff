"""Ids of calls that an endpoint refuses, since another model has given them: in a crew's runs.

The words are those of public reports of Mistral's API, of vLLM with its models, and of OpenAI's.
"""

import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agents.dialects.call_ids import short_id
from agents.quirks import known_of
from tests.support.endpoints import answer_as, call, crew_at, error, played
from tests.support.model_server import http, model_server

LONG = "chatcmpl-tool-2f1c5d0b-93a4-4f0f-8a1e-5d3c7a9e8b21"
REFUSALS = (
    f"Tool call id was {LONG} but must be a-z, A-Z, 0-9, with a length of 9.",
    "Invalid 'messages[2].tool_calls[0].id': string too long. Expected a string with maximum "
    "length 40, but got a string with length 51 instead.",
    "messages.2.tool_call_id: String should match pattern '^[a-zA-Z0-9]{9}$', must match",
)


def ids(request: dict[str, Any]) -> list[str]:
    """Of calls and of results."""
    messages = request["messages"]
    made = [one["id"] for message in messages for one in message.get("tool_calls") or ()]
    return made + [one["tool_call_id"] for one in messages if one["role"] == "tool"]


@pytest.mark.parametrize("text", REFUSALS)
async def test_a_backup_takes_them_in_its_form(tmp_path: Path, text: str):
    """It refuses them once; the call and its result keep one id, and the log has the first one."""

    def one(request: dict[str, Any]) -> bytes:
        if ids(request):
            return http(400, error("the model is gone"))
        return answer_as(request, {"tool_calls": [{**call(), "id": LONG}]}, "tool_calls")

    def two(request: dict[str, Any]) -> bytes:
        if not all(re.fullmatch("[A-Za-z0-9]{9}", id_) for id_ in ids(request)):
            return http(400, error(text))
        return answer_as(request, {"content": "done"}, "stop")

    async with model_server(one) as first, model_server(two) as second:
        models = {
            "primary": {"model": "m-1", "provider": "gw"},
            "backup": {"model": "m-2", "provider": "other"},
        }
        folder = crew_at(tmp_path, first.url, models, providers={"other": {"base_url": second.url}})
        run = await played(folder)
    assert run.row.answer == "done"
    assert len(second.asked) == 2
    assert ids(second.asked[0]) == [LONG] * 2
    made, answered = ids(second.asked[1])
    assert made == answered == short_id(LONG)
    assert [event["metadata"]["call_id"] for event in run.of("tool_result")] == [LONG]


@given(first=st.text(max_size=60), second=st.text(max_size=60))
def test_each_has_its_own(first: str, second: str):
    assert re.fullmatch("[A-Za-z0-9]{9}", short_id(first))
    assert short_id(short_id(first)) == short_id(first)
    if first != second:
        assert short_id(first) != short_id(second)


@pytest.mark.parametrize(
    ("provider", "url"),
    [("mistral", "http://gw/v1"), ("x", "https://api.mistral.ai/v1")],
)
def test_it_is_known_of_mistral(provider: str, url: str):
    assert known_of(provider, url) == {"call_ids": "short"}
