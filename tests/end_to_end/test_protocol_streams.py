"""Streams in the languages of others: interrupts, approvals, and a server that is killed."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from tests.support.coming_back import LANGUAGES, told_over_a_kill
from tests.support.paying_crew import agui, crew_at, data_of, paid
from tests.support.processes import client, serving


def test_interrupts(tmp_path: Path):
    """Of AG-UI: all are answered, once, in their thread."""
    folder = crew_at(tmp_path, conversations={"title_after": 0})
    with serving(folder) as server, client(server) as http:
        frames = agui(http, "pay bob", "r1")
        outcome = frames[-1]["outcome"]
        (interrupt,) = outcome["interrupts"]
        assert frames[-2]["type"] == "MESSAGES_SNAPSHOT"
        assert interrupt["reason"] == "tool_call"
        assert interrupt["responseSchema"]["properties"]["approved"] == {"type": "boolean"}
        (call,) = {one["toolCallId"] for one in frames if "toolCallId" in one}
        assert interrupt["toolCallId"] == call
        pending = agui(http, "hi", "r2")
        assert [one.get("code") for one in pending] == [None, "pending_interrupt"]
        yes = {"interruptId": interrupt["id"], "status": "resolved", "payload": {"approved": True}}
        stale = agui(http, "", "r3", thread="t2", resume=[yes])
        assert stale[-1]["code"] == "stale_interrupt"
        wrong = {**yes, "payload": {"approved": True, "scope": "for ever"}}
        body = {"threadId": "t1", "runId": "r4", "resume": [wrong]}
        refused = http.post("/agui", json=body)
        assert (refused.status_code, "scope" in refused.json()["message"]) == (400, True)
        done = agui(http, "", "r5", resume=[yes])
        assert done[-1]["result"] == "It is done: paid bob"
        assert {one["toolCallId"] for one in done if "toolCallId" in one} == {call}
        assert (done[0]["runId"], done[-1]["runId"]) == ("r5", "r5")
        # the same request again begins nothing
        assert agui(http, "", "r5", resume=[yes])[-1]["result"] == "It is done: paid bob"
        assert agui(http, "", "r6", resume=[yes])[-1]["code"] == "stale_interrupt"
        assert paid(tmp_path) == ["bob"]
        asked = agui(http, "ask", "r7", thread="t3")
        (question,) = asked[-1]["outcome"]["interrupts"]
        assert (question["reason"], question["message"]) == ("input_required", "Which one?")
        words = {"interruptId": question["id"], "status": "resolved", "payload": {"text": "blue"}}
        assert agui(http, "", "r8", thread="t3", resume=[words])[-1]["result"] == "Well then."


def test_the_ui_stream(tmp_path: Path):
    """Of the AI SDK: an approval is answered in its message; a chat that rests has no stream."""
    with serving(crew_at(tmp_path)) as server, client(server) as http:

        def say(*messages: dict[str, Any]) -> list[Any]:
            answer = http.post(
                "/ai", json={"id": "c1", "messages": list(messages), "trigger": "submit-message"}
            )
            assert answer.status_code == 200, answer.text
            assert answer.headers["x-vercel-ai-ui-message-stream"] == "v1"
            return [frame for _, frame in data_of(iter(answer.text.split("\n")))]

        user = {"id": "m1", "role": "user", "parts": [{"type": "text", "text": "pay bob"}]}
        chunks = say(user)
        assert chunks[-1] == "[DONE]"
        assert chunks[-2]["finishReason"] == "tool-calls"
        (request,) = [
            one for one in chunks if one != "[DONE]" and one["type"] == "tool-approval-request"
        ]
        (tool,) = [
            one for one in chunks if one != "[DONE]" and one["type"] == "tool-input-available"
        ]
        assert request["toolCallId"] == tool["toolCallId"]
        part = {
            "type": "dynamic-tool",
            "toolCallId": tool["toolCallId"],
            "state": "approval-responded",
        }
        approval = {"id": request["approvalId"], "approved": True}
        message = {
            "id": chunks[0]["messageId"],
            "role": "assistant",
            "parts": [{**part, "approval": approval}],
        }
        done = say(user, message)
        assert done[0]["messageId"] == chunks[0]["messageId"]
        assert "".join(one.get("delta", "") for one in done[:-1]) == "It is done: paid bob"
        assert {one["toolCallId"] for one in done[:-1] if "toolCallId" in one} == {
            tool["toolCallId"]
        }
        assert http.post("/ai", json={"id": "c1", "messages": [user, message]}).status_code == 409
        forged = {**approval, "id": f"{chunks[0]['messageId']}:1:call_1_1"}
        message = {**message, "parts": [{**part, "approval": forged}]}
        assert http.post("/ai", json={"id": "c1", "messages": [user, message]}).status_code == 409
        assert http.get("/ai/c1/stream").status_code == 204
        asked = say({**user, "parts": [{"type": "text", "text": "ask"}]})
        before = {"id": asked[0]["messageId"], "role": "assistant", "parts": []}
        blue = {"id": "m2", "role": "user", "parts": [{"type": "text", "text": "blue"}]}
        answered = say(user, before, blue)
        assert (
            answered[0]["messageId"].partition(":")[0] == before["id"] != answered[0]["messageId"]
        )
        assert paid(tmp_path) == ["bob"]


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_kill_behind_each_frame(language: str, tmp_path: Path):
    """What a client has, and what it gets when it comes back, are all of the stream, each once."""
    folder = crew_at(tmp_path, settings={"disconnect_grace_seconds": -1})
    found = [told_over_a_kill(folder, language, cut, f"r{cut}") for cut in range(1, 12, 3)]
    # the AI SDK's client loads the messages of a run that has ended meanwhile
    whole = [one for one in found if one or language != "ai"]
    assert whole
    assert whole == whole[:1] * len(whole)


def slowly(language: str) -> tuple[str, dict[str, Any]]:
    """A request that takes long, and its address."""
    said = [{"id": "1", "role": "user", "content": "slowly"}]
    message = {"messageId": "m", "role": "ROLE_USER", "parts": [{"text": "slowly"}]}
    bodies: dict[str, tuple[str, dict[str, Any]]] = {
        "agui": ("/agui", {"threadId": "t", "runId": "r", "messages": said}),
        "chat": ("/v1/chat/completions", {"model": "test-crew", "messages": said, "stream": True}),
        "responses": ("/v1/responses", {"model": "test-crew", "input": "slowly", "stream": True}),
        "ai": (
            "/ai",
            {"messages": [{"role": "user", "parts": [{"type": "text", "text": "slowly"}]}]},
        ),
        "a2a": ("/a2a/rest/message:stream", {"message": message}),
    }
    return bodies[language]


@pytest.mark.parametrize(
    ("language", "last"),
    [
        (
            "agui",
            {"type": "RUN_ERROR", "code": "unavailable", "metadata": {"crew": {"retryable": True}}},
        ),
        ("chat", {"type": "server_error", "param": None, "code": "unavailable"}),
        (
            "responses",
            {"type": "error", "code": "unavailable", "param": None, "sequence_number": 0},
        ),
        ("ai", {"type": "error"}),
        ("a2a", {"status": "UNAVAILABLE", "code": 503}),
    ],
)
def test_a_server_that_goes_down(language: str, last: dict[str, Any], tmp_path: Path):
    """Ends each stream in its language, with the words for it; the run is left for the next one."""
    address, body = slowly(language)
    with serving(crew_at(tmp_path), CREW_DRAIN_SECONDS="0") as server, client(server) as http:
        with http.stream("POST", address, json=body) as stream:
            frames = data_of(stream.iter_lines())
            next(frames)
            server.process.terminate()
            (*_, (_, frame)) = frames
        assert server.process.wait(60) == 0
    error = frame.get("error", frame)
    words = error.pop("message", None) or error.pop("errorText")
    error.pop("details", None)
    assert error == last
    assert "going down" in words


def test_two_answers_at_once(tmp_path: Path):
    """In whatever languages: one is taken, and the call is made once."""
    with serving(crew_at(tmp_path)) as server, client(server) as http:
        (interrupt,) = agui(http, "pay bob", "r1")[-1]["outcome"]["interrupts"]
        run_id, seq, call = interrupt["id"].split(":")
        yes = {"interruptId": interrupt["id"], "status": "resolved", "payload": {"approved": True}}
        approval = {"approval_request_id": f"mcpr_{run_id}_{seq}_{call}", "approve": True}
        data = {"decision": "approve", "pause": int(seq)}
        message = {"messageId": "m", "taskId": run_id, "parts": [{"data": data}]}
        asked: list[tuple[str, dict[str, Any]]] = [
            ("/agui", {"threadId": "t1", "runId": "r2", "resume": [yes]}),
            (
                "/v1/responses",
                {"model": "test-crew", "input": [{"type": "mcp_approval_response", **approval}]},
            ),
            ("/a2a/rest/message:send", {"message": message}),
        ]
        with ThreadPoolExecutor() as pool:
            answers = list(pool.map(lambda one: http.post(one[0], json=one[1]), asked))
        done = ["It is done" in one.text for one in answers]
        assert done.count(True) == 1, [one.text for one in answers]
    assert paid(tmp_path) == ["bob"]
