"""Ways back, and ends without a new answer, in the languages of others."""

from pathlib import Path
from typing import Any

import httpx2
import pytest

from tests.support.crews import write_crew
from tests.support.paying_crew import agui, crew_at, data_of, paid
from tests.support.processes import client, serving

Message = dict[str, Any]


def user(id_: str, text: str) -> Message:
    return {"id": id_, "role": "user", "content": text}


@pytest.mark.parametrize("keeps", [False, True])
def test_a_pause_takes_no_message_from_a_client(keeps: bool, tmp_path: Path):
    """Its snapshot has all that the client has, in its order; so the chat goes on as it was."""
    more: dict[str, Any] = {"conversations": {"title_after": 0}} if keeps else {}
    with serving(crew_at(tmp_path, **more)) as server, client(server) as http:
        first = agui(http, "hi", "r1")
        said = [user("r1", "hi"), {"id": "m1", "role": "assistant", "content": first[-1]["result"]}]
        messages = [*said, user("r2", "pay bob")]
        paused = agui(http, "", "r2", messages=messages)
        (snapshot,) = [one for one in paused if one["type"] == "MESSAGES_SNAPSHOT"]
        assert snapshot["messages"][:3] == messages
        # as its own client has it: it takes the snapshot for all there is
        (interrupt,) = paused[-1]["outcome"]["interrupts"]
        yes = {"interruptId": interrupt["id"], "status": "resolved", "payload": {"approved": True}}
        done = agui(http, "", "r3", messages=snapshot["messages"], resume=[yes])
        assert done[-1]["result"] == "It is done: paid bob"
        last = [*snapshot["messages"], user("r4", "hi")]
        assert agui(http, "", "r4", messages=last)[-1]["result"] == "Well then."
        # one that has lost its user's words goes on, too
        lost = [one for one in snapshot["messages"] if one["role"] != "user"]
        agui(http, "", "r5", messages=[*lost, user("r5", "hi")])
        if keeps:
            known = http.get("/api/crew/conversations").json()["conversations"]
            assert [(one["conversation_id"], one["exchanges"]) for one in known] == [("t1", 4)]
    assert paid(tmp_path) == ["bob"]


def test_who_comes_back_behind_any_event_has_all_messages(tmp_path: Path):
    """Also right behind an answer, which is held until it is known whether it leads on."""
    with serving(crew_at(tmp_path)) as server, client(server) as http:
        history = [{"id": "h1", **user("h1", "earlier")}, {"id": "h2", "role": "assistant"}]
        history[1]["content"] = "answer"
        frames = agui(http, "", "r1", messages=[*history, user("q", "hi")])
        run_id = frames[0]["metadata"]["crew"]["run_id"]
        said = messages_in(frames)
        assert len(said) == 2
        # what it has of its own is said again, by other ids: a snapshot replaces all
        before = {f"{run_id}:before:1": "earlier", f"{run_id}:before:2": "answer"}
        whole = {**before, f"{run_id}:query": "hi", **said}
        for after in range(1, 8):
            answer = http.get(f"/agui/{run_id}", headers={"Last-Event-ID": f"{run_id}:{after}"})
            if answer.status_code == 204:
                break
            back = [frame for _, frame in data_of(iter(answer.text.split("\n")))]
            assert messages_in(back) == whole, after


def messages_in(frames: list[Any]) -> dict[str, str]:
    """By their ids: what the snapshot has, and what came as text."""
    found: dict[str, str] = {}
    for one in frames:
        if one["type"] == "MESSAGES_SNAPSHOT":
            found |= {each["id"]: each["content"] for each in one["messages"]}
        elif one["type"] == "TEXT_MESSAGE_CONTENT":
            found[one["messageId"]] = found.get(one["messageId"], "") + one["delta"]
    return {id_: text.strip() for id_, text in found.items()}


def test_no_signal_is_shown_where_a_limit_ends_a_run(tmp_path: Path):
    """In none of the languages: the answer before is the last one."""
    settings, query = {"max_rounds": 1}, "hi"
    with serving(crew_at(tmp_path, settings=settings)) as server, client(server) as http:
        said = {"role": "user", "content": query}
        bodies: dict[str, dict[str, Any]] = {
            "/v1/chat/completions": {"model": "test-crew", "messages": [said]},
            "/v1/responses": {"model": "test-crew", "input": query},
            "/agui": {"threadId": "t", "runId": "r", "messages": [{"id": "1", **said}]},
            "/ai": {"messages": [{"role": "user", "parts": [{"type": "text", "text": query}]}]},
            "/a2a/rest/message:send": {
                "message": {"messageId": "m", "role": "ROLE_USER", "parts": [{"text": query}]}
            },
        }
        for path, body in bodies.items():
            answer = http.post(path, json=body)
            assert answer.status_code == 200, (path, answer.text)
            assert "Hello." in answer.text
            assert "Hello. [B]" not in answer.text, (path, answer.text)


def test_what_an_address_may_say(tmp_path: Path):
    """`items=open` of responses, and the version of A2A where no header can be set."""
    with serving(crew_at(tmp_path)) as server, client(server) as http:
        body = {"model": "test-crew", "input": "hi"}
        opened = http.post("/v1/responses", params={"items": "open"}, json=body)
        assert opened.status_code == 200, opened.text
        assert http.post("/v1/responses", params={"items": "x"}, json=body).status_code == 400
        rpc: dict[str, Any] = {"jsonrpc": "2.0", "id": 1, "method": "ListTasks", "params": {}}
        right = http.post("/a2a", params={"A2A-Version": "1.0"}, json=rpc).json()
        assert "result" in right, right
        wrong = http.post("/a2a", params={"A2A-Version": "0.3"}, json=rpc).json()
        assert wrong["error"]["code"] == -32009
        assert http.get("/mcp").status_code == 405


def test_an_earlier_response_ends_no_later_one(tmp_path: Path):
    """It is over; the run that waits goes on."""
    with serving(crew_at(tmp_path)) as server, client(server) as http:
        first = post(http, input="ask")
        second = post(http, input="pay bob", previous_response_id=first["id"])
        assert any(one["type"] == "mcp_approval_request" for one in second["output"])
        assert http.post(f"/v1/responses/{first['id']}/cancel").status_code == 409
        run = f"/api/crew/runs/{second['metadata']['run_id']}"
        assert http.get(run).json()["status"] == "paused"
        assert http.post(f"/v1/responses/{second['id']}/cancel").status_code == 200
        assert http.get(run).json()["status"] == "cancelled"


def test_a_later_response_knows_what_was_said_in_pauses(tmp_path: Path):
    """The person's answers, and the questions, in their order; each once."""
    rules = [
        {"hears": "remember", "seen": "blue", "say": "it was blue"},
        {"hears": "remember", "say": "I do not know"},
        {"hears": "blue", "say": "noted [END]"},
        {"say": "Which one?"},
    ]
    routing = {
        "signals": {"a": [{"signal": "[END]"}]},
        "agent_behaviors": {"a": {"wait_for_signal": True}},
    }
    folder = write_crew(tmp_path, {"a": {}}, rules, routing=routing)
    with serving(folder) as server, client(server) as http:
        asked = post(http, input="ask")
        noted = post(http, input="blue", previous_response_id=asked["id"])
        last = post(http, input="remember?", previous_response_id=noted["id"])
        assert "it was blue" in str(last["output"])


def post(http: httpx2.Client, **body: Any) -> dict[str, Any]:
    answer = http.post("/v1/responses", json={"model": "test-crew", **body})
    assert answer.status_code == 200, answer.text
    document: dict[str, Any] = answer.json()
    return document


def test_as_many_messages_as_there_are(tmp_path: Path):
    """Of a task: also where more are wanted."""
    with serving(crew_at(tmp_path)) as server, client(server) as http:
        message = {"messageId": "m", "role": "ROLE_USER", "parts": [{"text": "hi"}]}
        task = http.post("/a2a/rest/message:send", json={"message": message}).json()["task"]
        for wanted in range(2, 9):
            found = http.get(f"/a2a/rest/tasks/{task['id']}", params={"historyLength": wanted})
            assert len(found.json()["history"]) == min(wanted, len(task["history"])), wanted


def test_only_the_newest_run_of_a_thread_holds_it_up(tmp_path: Path):
    """One that waits behind it was left: a crew without conversations begins another one."""
    with serving(crew_at(tmp_path)) as server, client(server) as http:

        def chat(text: str) -> str:
            body = {"model": "test-crew", "messages": [user("m", text)]}
            headers = {"X-Conversation-Id": "t9"}
            answer = http.post("/v1/chat/completions", json=body, headers=headers)
            content: str = answer.json()["choices"][0]["message"]["content"]
            return content

        assert chat("ask") == "Which one?"
        held = agui(http, "hi", "r1", thread="t9")
        assert held[-1]["code"] == "pending_interrupt"
        assert chat("hi") == "Well then."
        assert agui(http, "hi", "r2", thread="t9")[-1]["result"] == "Well then."
