"""Tasks of A2A: what is refused, in both bindings; lists; a server that is killed, and who comes back."""

import json
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import httpx2
import pytest

from tests.support.paying_crew import ANN, EVE, TOKENS, crew_at, data_of, paid
from tests.support.processes import ServerProcess, client, serving, start_server
from tools.clock import rfc3339


def rpc(http: httpx2.Client, method: str, params: Any = None, **more: Any) -> Any:
    body = {"jsonrpc": "2.0", "id": 7, "method": method, "params": params}
    answer = http.post("/a2a", json=body, **more)
    assert answer.status_code == 200, answer.text
    document = answer.json()
    assert (document["jsonrpc"], document["id"]) == ("2.0", 7)
    return document.get("result") or document["error"]


PUSHED = {"configuration": {"taskPushNotificationConfig": {"url": "https://example.org"}}}


def message(text: str, id_: str = "m1", **more: Any) -> dict[str, Any]:
    return {"message": {"messageId": id_, "role": "ROLE_USER", "parts": [{"text": text}], **more}}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    folder = crew_at(tmp_path_factory.mktemp("a2a"))
    with serving(folder, CREW_API_TOKENS=TOKENS) as started:
        yield started


@pytest.fixture
def http(server: ServerProcess) -> Iterator[httpx2.Client]:
    with client(server, headers={"Authorization": f"Bearer {ANN}"}) as found:
        yield found


def test_the_card(server: ServerProcess):
    """Is open to all, says where and how, and is not sent twice."""
    with client(server) as http:
        answer = http.get("/.well-known/agent-card.json")
        card = answer.json()
        assert [one["url"] for one in card["supportedInterfaces"]] == [
            f"{server.url}/a2a",
            f"{server.url}/a2a/rest",
        ]
        assert card["securitySchemes"]["token"]["httpAuthSecurityScheme"] == {"scheme": "Bearer"}
        headers = {"If-None-Match": answer.headers["etag"]}
        assert http.get("/.well-known/agent-card.json", headers=headers).status_code == 304
        refused = http.post("/a2a", json={})
        assert refused.status_code == 401
        assert refused.json()["error"]["data"][0]["reason"] == "INVALID_REQUEST"
        assert http.get("/a2a/rest/tasks").json()["error"]["status"] == "UNAUTHENTICATED"


FILE = {"message": {"messageId": "f", "parts": [{"url": "file:///etc/passwd"}]}}


@pytest.mark.parametrize(
    ("method", "params", "code"),
    [
        ("SendMessage", {}, -32602),
        ("SendMessage", {"message": {"parts": [{"text": "hi"}]}}, -32602),
        ("SendMessage", {"message": {"messageId": "m", "parts": []}}, -32602),
        (
            "SendMessage",
            {"message": {"messageId": "m", "role": "ROLE_AGENT", "parts": [{"text": "x"}]}},
            -32602,
        ),
        ("SendMessage", FILE, -32005),
        ("SendMessage", {"message": {"messageId": "m", "parts": [{}]}}, -32602),
        (
            "SendMessage",
            {"message": {"messageId": "m", "parts": [{"text": "x", "data": {}}]}},
            -32602,
        ),
        ("SendMessage", message("a\0b"), -32602),
        ("SendMessage", message("hi", taskId="none"), -32001),
        ("SendMessage", {**message("hi"), "configuration": {"historyLength": -1}}, -32602),
        ("SendStreamingMessage", {}, -32602),
        ("GetTask", {"id": "none"}, -32001),
        ("GetTask", {"id": "\0"}, -32001),
        ("GetTask", {}, -32602),
        ("CancelTask", {"id": "none"}, -32001),
        ("SubscribeToTask", {"id": "none"}, -32001),
        ("SendMessage", {**message("hi", "p1"), **PUSHED}, -32003),
        ("ListTasks", {"pageSize": 0}, -32602),
        ("ListTasks", {"pageSize": 101}, -32602),
        ("ListTasks", {"status": "DONE"}, -32602),
        ("ListTasks", {"statusTimestampAfter": "today"}, -32602),
        ("ListTasks", {"pageToken": "../x"}, -32602),
        ("ListTasks", {"pageToken": "of-no-run"}, -32602),
        ("CreateTaskPushNotificationConfig", {}, -32003),
        ("GetExtendedAgentCard", {}, -32004),
        ("Nonsense", {}, -32601),
        ("SendMessage", [], -32602),
    ],
)
def test_what_is_refused(http: httpx2.Client, method: str, params: Any, code: int):
    error = rpc(http, method, params)
    assert (error["code"], error["data"][0]["domain"]) == (code, "a2a-protocol.org")


def test_requests_that_are_none(http: httpx2.Client):
    """No JSON, no object, no call; a version that is not spoken."""
    for body, code in ((b"{", -32700), (b"[]", -32600), (b"{}", -32600)):
        assert http.post("/a2a", content=body).json()["error"]["code"] == code
    old = rpc(http, "ListTasks", {}, headers={"A2A-Version": "0.3"})
    assert (old["code"], old["data"][0]["reason"]) == (-32009, "VERSION_NOT_SUPPORTED")
    answer = http.get("/a2a/rest/tasks/none")
    assert (answer.status_code, answer.json()["error"]["status"]) == (404, "NOT_FOUND")
    assert http.get("/a2a/rest/tasks?pageSize=x").status_code == 400


@pytest.mark.parametrize(
    ("method", "path", "body", "status", "name", "reason"),
    [
        ("GET", "/tasks/none", None, 404, "NOT_FOUND", "TASK_NOT_FOUND"),
        ("GET", "/nothing", None, 404, "NOT_FOUND", "METHOD_NOT_FOUND"),
        ("GET", "/message:send", None, 405, "UNIMPLEMENTED", "METHOD_NOT_FOUND"),
        ("GET", "/tasks?pageSize=x", None, 400, "INVALID_ARGUMENT", "INVALID_PARAMS"),
        ("POST", "/message:send", FILE, 400, "INVALID_ARGUMENT", "CONTENT_TYPE_NOT_SUPPORTED"),
        ("POST", "/message:send", "text", 400, "INVALID_ARGUMENT", "CONTENT_TYPE_NOT_SUPPORTED"),
        ("GET", "/extendedAgentCard", None, 400, "FAILED_PRECONDITION", "UNSUPPORTED_OPERATION"),
        (
            "GET",
            "/tasks/x/pushNotificationConfigs",
            None,
            400,
            "FAILED_PRECONDITION",
            "PUSH_NOTIFICATION_NOT_SUPPORTED",
        ),
    ],
)
def test_statuses_of_rest(
    http: httpx2.Client, method: str, path: str, body: Any, status: int, name: str, reason: str
):
    """As A2A 1.0.1 has them in section 5.4."""
    sent = {"content": body, "headers": {"Content-Type": "text/plain"}} if body == "text" else {}
    answer = http.request(method, f"/a2a/rest{path}", **(sent or {"json": body}))
    error = answer.json()["error"]
    found = (answer.status_code, error["code"], error["status"], error["details"][0]["reason"])
    assert found == (status, status, name, reason)


def test_a_client_may_ask_for_the_type_of_a2a(http: httpx2.Client):
    own = "application/a2a+json"
    answer = http.get("/a2a/rest/tasks", headers={"Accept": own})
    assert answer.headers["content-type"] == own
    assert http.get("/a2a/rest/tasks").headers["content-type"] == "application/json"
    refused = http.post("/a2a", content=b"hi", headers={"Content-Type": "text/plain"})
    assert refused.json()["error"]["code"] == -32005


def test_a_task_that_asks(http: httpx2.Client):
    """Who subscribes to it gets it as it is; what is answered is part of its history."""
    task = rpc(http, "SendMessage", message("ask", "asks"))["task"]
    body = {"jsonrpc": "2.0", "id": 7, "method": "SubscribeToTask", "params": {"id": task["id"]}}
    frames = [one for _, one in data_of(iter(http.post("/a2a", json=body).text.split("\n")))]
    assert [one["result"] for one in frames] == [{"task": task}]
    with http.stream("GET", f"/a2a/rest/tasks/{task['id']}:subscribe") as stream:
        assert [one for _, one in data_of(stream.iter_lines())] == [{"task": task}]
    rpc(http, "SendMessage", message("blue", "answers", taskId=task["id"]))
    history = rpc(http, "GetTask", {"id": task["id"]})["history"]
    said = [(one["messageId"], one["parts"]) for one in history if one["role"] == "ROLE_USER"]
    assert said == [("asks", [{"text": "ask"}]), ("answers", [{"text": "blue"}])]


def test_data_of_any_form_is_for_the_crew(http: httpx2.Client):
    parts = [{"text": "look"}, {"data": [1, 2]}, {"data": {"a": True}}]
    sent = {"message": {"messageId": "any", "role": "ROLE_USER", "parts": parts}}
    query = rpc(http, "SendMessage", sent)["task"]["history"][0]["parts"][0]["text"]
    assert [json.loads(one) for one in query.split("\n\n")[1:]] == [[1, 2], {"a": True}]


def test_tasks(http: httpx2.Client, server: ServerProcess):
    """Begun once, listed for their owner, cancelled while they ask."""
    task = rpc(http, "SendMessage", message("hi", "once", contextId="c.1"))["task"]
    assert task["status"]["state"] == "TASK_STATE_COMPLETED"
    assert task["artifacts"][0]["parts"] == [{"text": "Well then."}]
    assert (task["contextId"], task["history"][0]["messageId"]) == ("c.1", "once")
    again = rpc(http, "SendMessage", message("hi", "once", contextId="c.1"))["task"]
    assert again["id"] == task["id"]
    other = rpc(http, "SendMessage", message("another", "once", contextId="c.1"))
    assert other["code"] == -32602
    asking = rpc(http, "SendMessage", message("ask", "m2", contextId="c.1"))["task"]
    assert asking["status"]["state"] == "TASK_STATE_INPUT_REQUIRED"
    listed = rpc(http, "ListTasks", {"contextId": "c.1", "pageSize": 1})
    assert ([one["id"] for one in listed["tasks"]], listed["totalSize"]) == ([asking["id"]], 2)
    rest = http.get(
        "/a2a/rest/tasks", params={"pageToken": listed["nextPageToken"], "contextId": "c.1"}
    )
    assert [one["id"] for one in rest.json()["tasks"]] == [task["id"]]
    waiting = rpc(http, "ListTasks", {"status": "TASK_STATE_INPUT_REQUIRED"})
    assert [one["id"] for one in waiting["tasks"]] == [asking["id"]]
    assert "artifacts" not in rpc(http, "ListTasks", {"includeArtifacts": None})["tasks"][0]
    whole = {"contextId": "c.1", "includeArtifacts": True, "historyLength": 9}
    for one in rpc(http, "ListTasks", whole)["tasks"]:
        assert one == rpc(http, "GetTask", {"id": one["id"]})
    at = datetime.fromisoformat(asking["status"]["timestamp"])
    for moment, found in ((at + timedelta(milliseconds=1), []), (at, [asking["id"]])):
        wanted = {"status": "TASK_STATE_INPUT_REQUIRED", "statusTimestampAfter": rfc3339(moment)}
        assert [one["id"] for one in rpc(http, "ListTasks", wanted)["tasks"]] == found
    with client(server, headers={"Authorization": f"Bearer {EVE}"}) as eve:
        assert rpc(eve, "ListTasks", {})["tasks"] == []
        assert rpc(eve, "GetTask", {"id": task["id"]})["code"] == -32001
        token = {"pageToken": task["id"]}
        assert rpc(eve, "ListTasks", token) == rpc(eve, "ListTasks", {"pageToken": "none"})
    cancelled = rpc(http, "CancelTask", {"id": asking["id"]})
    assert cancelled["status"]["state"] == "TASK_STATE_CANCELED"
    assert rpc(http, "CancelTask", {"id": asking["id"]})["code"] == -32002
    assert rpc(http, "SendMessage", message("x", "m3", taskId=asking["id"]))["code"] == -32004
    assert rpc(http, "SubscribeToTask", {"id": task["id"]})["code"] == -32004


def test_words_decide_nothing(tmp_path: Path):
    """A call is approved by a decision as data, and by nothing that a model may have said."""
    with serving(crew_at(tmp_path)) as server, client(server) as http:
        task = rpc(http, "SendMessage", message("pay bob"))["task"]
        assert task["status"]["state"] == "TASK_STATE_INPUT_REQUIRED"
        refused = rpc(http, "SendMessage", message("yes", "m2", taskId=task["id"]))
        assert (refused["code"], "decision" in refused["message"]) == (-32602, True)
        asked = task["status"]["message"]["parts"][1]["data"]
        wrong = {"decision": "approve", "pause": asked["pause"] + 1}
        stale = {"message": {"messageId": "m3", "taskId": task["id"], "parts": [{"data": wrong}]}}
        assert rpc(http, "SendMessage", stale)["code"] == -32004
        unknown = {"message": {**stale["message"], "parts": [{"data": {"approve": True}}]}}
        assert rpc(http, "SendMessage", unknown)["code"] == -32602
        right = {"decision": "approve", "pause": asked["pause"]}
        body = {"message": {**stale["message"], "messageId": "m4", "parts": [{"data": right}]}}
        done = rpc(http, "SendMessage", body)["task"]
        assert done["artifacts"][0]["parts"] == [{"text": "It is done: paid bob"}]
        assert paid(tmp_path) == ["bob"]


def test_who_comes_back_to_a_server_that_was_killed(tmp_path: Path):
    """Gets the task as it is, and all that comes."""
    folder = crew_at(tmp_path, settings={"disconnect_grace_seconds": -1})
    for cut in (1, 2, 3):
        server = start_server(folder)
        body = {
            "jsonrpc": "2.0",
            "id": 1,
            "method": "SendStreamingMessage",
            "params": message("hi", f"m{cut}"),
        }
        got: list[Any] = []
        with client(server) as http, http.stream("POST", "/a2a", json=body) as stream:
            for _, frame in data_of(stream.iter_lines()):
                got.append(frame["result"])
                if len(got) == cut:
                    break
            server.kill()
        task_id = got[0]["task"]["id"]
        with serving(folder) as server, client(server) as http:
            body = {
                "jsonrpc": "2.0",
                "id": 2,
                "method": "SubscribeToTask",
                "params": {"id": task_id},
            }
            lines = http.post("/a2a", json=body).text.split("\n")
            task = rpc(http, "GetTask", {"id": task_id})
        again = [frame for _, frame in data_of(iter(lines))]
        # of a task that has ended meanwhile an error is no stream
        if again and "task" in again[0].get("result", {}):
            first = again[0]["result"]["task"]
            known = [json.dumps(one) for one in first["history"]]
            told = [one["result"] for one in again[1:]]
            more = [
                json.dumps(one["statusUpdate"]["status"]["message"])
                for one in told
                if "message" in one.get("statusUpdate", {}).get("status", {})
            ]
            assert known + more == [json.dumps(one) for one in task["history"]]
        assert task["artifacts"][0]["parts"] == [{"text": "Well then."}]
