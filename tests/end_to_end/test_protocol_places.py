"""What a request of another protocol is about: its conversation, its run, its limits and scopes."""

from pathlib import Path
from typing import Any

import httpx2

from tests.end_to_end.test_mcp_door import ASK, LOOK, REPLY, connected
from tests.support.paying_crew import crew_at, data_of, paid
from tests.support.processes import client, serving, until

KEPT = {"title_after": None}


def respond(http: httpx2.Client, given: Any, **more: Any) -> httpx2.Response:
    return http.post("/v1/responses", json={"model": "test-crew", "input": given, **more})


def approval_of(response: httpx2.Response) -> dict[str, Any]:
    """A yes to what a response asks."""
    (asked,) = [o for o in response.json()["output"] if o["type"] == "mcp_approval_request"]
    name = asked["id"]
    return {"type": "mcp_approval_response", "approval_request_id": name, "approve": True}


def test_a_key_means_its_conversation(tmp_path: Path):
    """The same body for another conversation is another request, and refused under its key."""
    with serving(crew_at(tmp_path, conversations=KEPT)) as server, client(server) as http:
        body = {"model": "test-crew", "messages": [{"role": "user", "content": "hi"}]}
        bodies = {
            "/v1/chat/completions": body,
            "/v1/responses": {"model": body["model"], "input": "hi"},
        }
        for path, sent in bodies.items():
            found = []
            for place in ("ca", "ca", "cb"):
                headers = {
                    "Idempotency-Key": f"k-{path}",
                    "X-Conversation-Id": f"{place}{len(path)}",
                }
                found.append(http.post(path, json=sent, headers=headers).status_code)
            assert found == [200, 200, 422], path
        known = http.get("/api/crew/conversations").json()["conversations"]
        assert {one["conversation_id"][:2] for one in known} == {"ca"}


def test_an_approval_of_another_place(tmp_path: Path):
    """Is refused, where the request says that it is about something else; nothing is paid."""
    with serving(crew_at(tmp_path, conversations=KEPT)) as server, client(server) as http:
        paying = respond(http, "pay bob", conversation="ca")
        yes = approval_of(paying)
        other = respond(http, "hi", conversation="cb").json()["id"]
        for more in (
            {"conversation": "cb"},
            {"previous_response_id": other},
            {"previous_response_id": other, "conversation": "ca"},
        ):
            assert respond(http, [yes], **more).status_code == 409, more
        assert respond(http, [yes], previous_response_id="resp_none_1").status_code == 404
        text = {"id": "m1", "role": "user", "parts": [{"type": "text", "text": "pay bob"}]}
        stream = http.post("/ai", json={"id": "chat-a", "messages": [text]})
        frames = [one for _, one in data_of(iter(stream.text.split("\n"))) if one != "[DONE]"]
        (asked,) = [one for one in frames if one["type"] == "tool-approval-request"]
        part = {
            "type": "dynamic-tool",
            "toolName": "pay",
            "state": "approval-responded",
            "toolCallId": asked["toolCallId"],
            "input": {},
            "approval": {"id": asked["approvalId"], "approved": True},
        }
        answer = {"id": frames[0]["messageId"], "role": "assistant", "parts": [part]}
        elsewhere = http.post("/ai", json={"id": "chat-b", "messages": [text, answer]})
        assert elsewhere.status_code == 409
        assert paid(tmp_path) == []
        done = respond(http, [yes], previous_response_id=paying.json()["id"], conversation="ca")
        assert done.json()["status"] == "completed"
        assert (
            http.post("/ai", json={"id": "chat-a", "messages": [text, answer]}).status_code == 200
        )
        assert paid(tmp_path) == ["bob", "bob"]


def test_a_response_with_a_beginning_that_is_not_kept(tmp_path: Path):
    """Is still what its run has come to, and is gone on from."""
    folder = crew_at(tmp_path)
    with serving(folder) as server, client(server) as http:
        done = respond(http, "hi").json()
    with serving(folder, CREW_KEEP_EVENTS="2") as server, client(server) as http:
        address = f"/v1/responses/{done['id']}"
        run_id = done["metadata"]["run_id"]
        until(lambda: "gap" in http.get(f"/api/crew/runs/{run_id}/events").text)
        found = http.get(address)
        assert (found.status_code, found.json()["status"]) == (200, "completed")
        assert "Well then." in found.text
        assert respond(http, "hi", previous_response_id=done["id"]).status_code == 200


def test_a_context_has_the_task_that_began_it(tmp_path: Path):
    """Behind those that came later, on the last page."""
    with serving(crew_at(tmp_path)) as server, client(server) as http:

        def call(method: str, **params: Any) -> dict[str, Any]:
            body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
            result: dict[str, Any] = http.post("/a2a", json=body).json()["result"]
            return result

        def send(number: int, **more: Any) -> dict[str, Any]:
            message = {"messageId": f"m{number}", "role": "ROLE_USER", "parts": [{"text": "hi"}]}
            task: dict[str, Any] = call("SendMessage", message={**message, **more})["task"]
            return task

        first = send(1)
        later = [send(number, contextId=first["contextId"]) for number in (2, 3)]
        expected = [one["id"] for one in (*reversed(later), first)]
        whole = call("ListTasks", contextId=first["contextId"])
        assert ([one["id"] for one in whole["tasks"]], whole["totalSize"]) == (expected, 3)
        for size in (1, 2):
            found, token = [], ""
            while True:
                more = {"pageToken": token} if token else {}
                page = call("ListTasks", contextId=first["contextId"], pageSize=size, **more)
                found += [one["id"] for one in page["tasks"]]
                if not (token := page["nextPageToken"]):
                    break
            assert found == expected, size


def test_the_same_messages_again(tmp_path: Path):
    """A chat with its whole history is begun once; it begins anew where it failed, or is to."""

    def said(id_: str, role: str, text: str) -> dict[str, Any]:
        return {"id": id_, "role": role, "parts": [{"type": "text", "text": text}]}

    history = [said("m1", "user", "hello"), said("a1", "assistant", "Hello.")]
    with serving(crew_at(tmp_path)) as server, client(server) as http:

        def run_of(text: str, trigger: str = "submit-message") -> str:
            body = {
                "id": "c1",
                "messages": [*history, said("m2", "user", text)],
                "trigger": trigger,
            }
            answer = http.post("/ai", json=body)
            first = next(one for _, one in data_of(iter(answer.text.split("\n"))))
            return str(first["messageId"])

        first = run_of("hi")
        assert run_of("hi") == first
        assert len({first, run_of("hi", "regenerate-message"), run_of("hi there")}) == 3
        assert run_of("break") != run_of("break")


async def test_a_trace_goes_on_through_mcp(tmp_path: Path):
    """By what stands beside the call: that of the request is a gateway's."""
    caller = f"00-{'7' * 32}-{'a' * 16}-01"
    with serving(crew_at(tmp_path)) as server, client(server) as http:
        async with connected(server.url) as one:
            for given, kept in ((caller, True), ("00-no-trace", False)):
                meta: Any = {"traceparent": given}
                result = await one.call_tool(ASK, {"query": "hi"}, meta=meta)
                assert result.structured_content is not None
                run_id = result.structured_content["run_id"]
                assert (given in http.get(f"/api/crew/runs/{run_id}/events").text) == kept


async def test_mcp_has_the_limits_and_scopes_of_the_api(tmp_path: Path):
    """Bodies are bounded before the SDK has them; who may only run may ask, and not look."""
    settings = {"max_request_body_size_kb": 20}
    tokens = f"runner+run+answer:{'r' * 24}"
    folder = crew_at(tmp_path, settings=settings)
    with serving(folder, CREW_API_TOKENS=tokens) as server:
        bearer = {"Authorization": f"Bearer {'r' * 24}"}
        with client(server, headers=bearer) as http:
            deep = '{"jsonrpc": "2.0", "id": 1, "method": ' + "[" * 100 + "]" * 100 + "}"
            accepts = {
                "Accept": "application/json, text/event-stream",
                "Content-Type": "application/json",
            }
            for body, status in ((deep, 400), ('{"a": "' + "x" * 30_000 + '"}', 413)):
                refused = http.post("/mcp", content=body, headers=accepts)
                assert refused.status_code == status, refused.text
                assert refused.json()["error"]["code"] == (-32700 if status == 400 else -32600)
        async with connected(server.url, "r" * 24) as one:
            result = await one.call_tool(ASK, {"query": "hi"})
            assert not result.is_error
            assert result.structured_content is not None
            looked = await one.call_tool(LOOK, {"run_id": result.structured_content["run_id"]})
            assert (looked.is_error, "'read'" in str(looked.content)) == (True, True)
            # nor by the state of a form
            run_id = result.structured_content["run_id"]
            formed = await one.call_tool(ASK, {"query": "hi"}, request_state=f"{run_id}:0")
            assert (formed.is_error, "'read'" in str(formed.content)) == (True, True)
            asked = (await one.call_tool(ASK, {"query": "ask"})).structured_content
            assert asked is not None
            words = {"run_id": asked["run_id"], "pause": asked["pause"], "text": "blue"}
            assert not (await one.call_tool(REPLY, words)).is_error


def test_system_messages_where_clients_may_have_them(tmp_path: Path):
    """Also of the AI SDK."""
    said = [
        {"id": "s", "role": "system", "parts": [{"type": "text", "text": "Be brief."}]},
        {"id": "m", "role": "user", "parts": [{"type": "text", "text": "hi"}]},
    ]
    for allowed in (True, False):
        folder = tmp_path / str(allowed)
        settings = {"allow_client_system": allowed}
        with serving(crew_at(folder, settings=settings)) as server, client(server) as http:
            answer = http.post("/ai", json={"messages": said})
            assert answer.status_code == 200
            assert ("messages.system" in answer.headers.get("x-crew-ignored", "")) != allowed
