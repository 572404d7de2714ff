"""The `openai` package's own client, asked the same of the same servers, comes to the same verdict."""

import json
from typing import Any

import pytest
from openai import APIStatusError, AsyncOpenAI, OpenAIError
from openai.types.chat import ChatCompletionMessageFunctionToolCall

from agents import ModelError
from tests.agents.providers.test_openai_chat import PING, SECRET, TOOL, ask
from tests.support.model_server import chunks, completion, http, model_server

ERROR = {"error": {"message": "no", "type": "x", "param": None, "code": None}}
QUOTA = {"error": {**ERROR["error"], "code": "insufficient_quota"}}
# the answer, and whether it is asked for as a stream
ANSWERS: dict[str, tuple[bytes, bool]] = {
    "whole": (http(200, completion("well")), False),
    "call": (http(200, completion("", [("Ping", {"at": 1})])), False),
    "calls": (http(200, completion("so", [("Ping", {}), ("Ping", {"at": 2})])), False),
    "stream": (chunks({"role": "assistant"}, {"content": "we"}, {"content": "ll"}), True),
    **{f"status {n}": (http(n, ERROR), False) for n in (400, 401, 403, 404, 409, 422, 500, 503)},
    "refused stream": (http(401, ERROR), True),
    "busy": (http(429, ERROR), False),
    "quota": (http(429, QUOTA), False),
    "nothing": (b"", False),
}
Verdict = tuple[str, list[tuple[str, str]]] | int


async def verdict_of_client(url: str, *, streams: bool) -> Verdict:
    """The text and the calls; or the status of the refusal, 0 without one."""
    messages: Any = [{"role": "user", "content": "hi"}]
    tools: Any = [TOOL]
    async with AsyncOpenAI(base_url=url, api_key=SECRET, max_retries=0, timeout=5) as client:
        try:
            if streams:
                text = ""
                async for chunk in await client.chat.completions.create(
                    model="m", messages=messages, tools=tools, stream=True
                ):
                    text += "".join(one.delta.content or "" for one in chunk.choices)
                return text, []
            answer = await client.chat.completions.create(model="m", messages=messages, tools=tools)
        except APIStatusError as error:
            return error.status_code
        except OpenAIError:
            return 0
    message = answer.choices[0].message
    calls = [
        (one.function.name, one.function.arguments)
        for one in message.tool_calls or []
        if isinstance(one, ChatCompletionMessageFunctionToolCall)
    ]
    return message.content or "", calls


@pytest.mark.parametrize("name", ANSWERS)
async def test_the_same_verdict(name: str):
    """The same text and calls, or a refusal with the same status."""
    given, streams = ANSWERS[name]
    async with model_server([given]) as server:
        expected = await verdict_of_client(server.url, streams=streams)
    answer, _, _ = await ask([given], stream=streams, tools=(PING,))
    if isinstance(answer, ModelError):
        assert isinstance(expected, int), expected
        assert expected == 0 or f"answered {expected}" in str(answer), str(answer)
        return
    assert not isinstance(expected, int), expected
    text, calls = expected
    assert answer.content == text
    assert [call.tool for call in answer.calls] == [tool for tool, _ in calls]
    assert [call.arguments for call in answer.calls] == [json.loads(one) for _, one in calls]
