"""Whatever clients of other protocols send: an answer in the protocol's own form, and no mistake of ours."""

import copy
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.crews import write_crew
from tests.support.processes import ServerProcess, client, serving

JUNK: list[Any] = [
    None,
    True,
    0,
    -1,
    1.5,
    "",
    "x",
    "\0",
    "\ud800",
    [],
    [1],
    [None],
    {},
    {"a": {}},
    [[]],
]
USER = {"id": "m", "role": "user", "content": "hi"}
RESUME = {"interruptId": "x:1:c", "status": "resolved", "payload": {"approved": True}}
APPROVAL = {"type": "mcp_approval_response", "approval_request_id": "mcpr_x_1_c", "approve": True}
PART = {
    "type": "dynamic-tool",
    "state": "approval-responded",
    "approval": {"id": "x:1:c", "approved": True},
}
MESSAGE = {"messageId": "m", "role": "ROLE_USER", "parts": [{"text": "hi"}, {"data": {"a": 1}}]}
CONFIG = {"historyLength": 1, "returnImmediately": False}
LISTED = {"pageSize": 1, "pageToken": "x", "status": "TASK_STATE_WORKING", "contextId": "c"}
# by address: bodies that are right, or nearly so
BODIES: list[tuple[str, dict[str, Any]]] = [
    ("/agui", {"threadId": "t", "runId": "r", "messages": [USER], "state": {}, "tools": []}),
    ("/agui", {"threadId": "t", "runId": "r", "messages": [], "resume": [RESUME]}),
    (
        "/v1/chat/completions",
        {
            "model": "m",
            "messages": [USER],
            "stream": False,
            "stream_options": {"include_usage": True},
            "n": 1,
        },
    ),
    (
        "/v1/responses",
        {"model": "m", "input": [USER, APPROVAL], "previous_response_id": "resp_x_1"},
    ),
    (
        "/v1/responses",
        {"model": "m", "input": "hi", "conversation": {"id": "c"}, "background": False},
    ),
    (
        "/ai",
        {
            "id": "c",
            "messages": [{"id": "1", "role": "user", "parts": [{"type": "text", "text": "hi"}]}],
        },
    ),
    (
        "/ai",
        {
            "id": "c",
            "messages": [{"id": "1", "role": "assistant", "parts": [PART]}],
            "trigger": "submit-message",
        },
    ),
    (
        "/a2a",
        {
            "jsonrpc": "2.0",
            "id": 1,
            "method": "SendMessage",
            "params": {"message": MESSAGE, "configuration": CONFIG},
        },
    ),
    ("/a2a", {"jsonrpc": "2.0", "id": 1, "method": "ListTasks", "params": LISTED}),
    ("/a2a/rest/message:send", {"message": MESSAGE, "configuration": CONFIG}),
]


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Where something stands in a body."""
    found = (
        value.items()
        if isinstance(value, dict)
        else enumerate(value)
        if isinstance(value, list)
        else ()
    )
    for key, one in found:
        yield (*path, key)
        yield from places(one, (*path, key))


def with_junk(body: dict[str, Any], path: tuple[Any, ...], junk: Any) -> dict[str, Any]:
    changed: Any = copy.deepcopy(body)
    place = changed
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = junk
    return dict(changed)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    folder = write_crew(tmp_path_factory.mktemp("junk"), {"a": {"is_terminal": True}}, name="m")
    with serving(folder, CREW_REQUESTS_PER_MINUTE="1000000") as started:
        yield started
        log = started.log.read_text()
    assert "made a mistake" not in log
    assert "Traceback" not in log


@pytest.mark.parametrize("number", range(len(BODIES)))
def test_junk_in_each_place(server: ServerProcess, number: int):
    address, body = BODIES[number]
    with client(server) as http:
        for path in places(body):
            for junk in JUNK:
                content = json.dumps(with_junk(body, path, junk))
                answer = http.post(
                    address, content=content, headers={"Content-Type": "application/json"}
                )
                assert answer.status_code < 500, (path, junk, answer.text)
                assert "-32603" not in answer.text, (path, junk, answer.text)


def test_many_messages(server: ServerProcess):
    """Their number is bounded, in each language."""
    many = [USER] * 1002
    parts = [{"id": "1", "role": "user", "parts": [{"type": "text", "text": "hi"}]}] * 1002
    with client(server) as http:
        for address, body in (
            ("/agui", {"threadId": "t", "runId": "many", "messages": many}),
            ("/v1/chat/completions", {"model": "m", "messages": many}),
            ("/v1/responses", {"model": "m", "input": many}),
            ("/ai", {"id": "c", "messages": parts}),
        ):
            answer = http.post(address, json=body)
            assert (answer.status_code, "history" in answer.text) == (400, True), address


def test_words_that_look_like_others(tmp_path: Path):
    """`[DONE]`, frames and marks within words are words."""
    say = 'data: [DONE]\n\nevent: x\nid: 7\n\n{"type":"RUN_FINISHED"}\r\n: ping'
    folder = write_crew(tmp_path / "crew", {"a": {"is_terminal": True}}, [{"say": say}], name="m")
    with serving(folder) as server, client(server) as http:
        body = {"model": "m", "messages": [USER], "stream": True}
        lines = http.post("/v1/chat/completions", json=body).text.split("\n")
        data = [line.removeprefix("data: ") for line in lines if line.startswith("data: ")]
        assert data.count("[DONE]") == 1
        chunks = [json.loads(one) for one in data if one != "[DONE]"]
        said = "".join(one["choices"][0]["delta"].get("content", "") for one in chunks)
        assert said == say
        events = http.post("/agui", json={"threadId": "t", "runId": "r", "messages": [USER]}).text
        frames = [json.loads(line[6:]) for line in events.split("\n") if line.startswith("data: ")]
        assert frames[-1]["result"] == say
