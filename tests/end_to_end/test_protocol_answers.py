"""Answers in the languages of others: each to its own call, once, and to the pause that it is for."""

from pathlib import Path
from typing import Any

import httpx2
import openai
import pytest

from tests.support.crews import write_crew
from tests.support.paying_crew import ACTS, ANN, PAY, agui, crew_at, data_of, openai_of, paid
from tests.support.processes import ServerProcess, client, serving, until


def group_at(folder: Path) -> Path:
    """Two members of a group, each with a call that has the same id."""
    routing = {
        "signals": {"a": [{"signal": "[G]", "target": "g"}]},
        "parallel_groups": {"g": {"agents": ["b", "c"], "next_agent": "d"}},
    }
    rules: list[dict[str, Any]] = [
        {"agent": "a", "say": "both [G]"},
        {"agent": "b", "after": "pay", "say": "b: {{result.pay}}"},
        {"agent": "c", "after": "pay", "say": "c: {{result.pay}}"},
        {"agent": "b", "calls": [{"tool": "pay", "arguments": {"to": "bob"}}]},
        {"agent": "c", "calls": [{"tool": "pay", "arguments": {"to": "carl"}}]},
        {"agent": "d", "say": "all done"},
    ]
    agents = {"a": {}, "b": {"tools": ["pay"]}, "c": {"tools": ["pay"]}, "d": {"is_terminal": True}}
    written = write_crew(folder / "crew", agents, rules, {"pay": PAY}, routing=routing)
    (written / "acts.py").write_text(ACTS)
    return written


def test_calls_of_one_id(tmp_path: Path):
    """Of two members: a no to one is no yes, and names no other call."""
    with serving(group_at(tmp_path)) as server, client(server) as http:
        frames = agui(http, "go", "r1")
        interrupts = frames[-1]["outcome"]["interrupts"]
        calls = {one["toolCallId"]: one["toolCallName"] for one in frames if "toolCallName" in one}
        assert len({one["id"] for one in interrupts}) == 2
        assert {one["toolCallId"] for one in interrupts} == calls.keys()
        resume = [
            {
                "interruptId": one["id"],
                "status": "resolved",
                "payload": {"approved": "bob" in one["message"]},
            }
            for one in interrupts
        ]
        twice = {"threadId": "t1", "runId": "r2", "resume": [resume[0], resume[0]]}
        assert http.post("/agui", json=twice).status_code == 400
        frames = agui(http, "", "r3", resume=resume)
        assert frames[-1]["result"] == "all done"
        # both results are of members, which begin before and end after them
        results = [one for one in frames if one["type"] == "TOOL_CALL_RESULT"]
        members = [one["subagentRunId"] for one in results]
        assert len(set(members)) == 2
        for kind in ("SUBAGENT_STARTED", "SUBAGENT_FINISHED"):
            found = [one["subagentRunId"] for one in frames if one["type"] == kind]
            assert sorted(found) == sorted(members)
        assert paid(tmp_path) == ["bob"]
        # and by responses
        asked = openai_of(server).responses.create(model="test-crew", input="go")
        requests = [one for one in asked.output if one.type == "mcp_approval_request"]
        assert len({one.id for one in requests}) == 2
        yes: list[Any] = [
            {
                "type": "mcp_approval_response",
                "approval_request_id": one.id,
                "approve": "carl" in one.arguments,
            }
            for one in requests
        ]
        wrong: Any = {**yes[0], "approval_request_id": f"{yes[0]['approval_request_id']}x"}
        with pytest.raises(openai.BadRequestError, match="that there was not"):
            openai_of(server).responses.create(model="test-crew", input=[*yes, wrong])
        words: Any = {"role": "user", "content": "as I said"}
        answered = openai_of(server).responses.with_raw_response.create(
            model="test-crew", input=[*yes, words]
        )
        assert answered.headers["x-crew-ignored"] == "input.message"
        done = answered.parse()
        assert done.output_text == "all done"
        # what was denied has not begun, and has a result too
        ended = [one for one in done.output if one.type == "mcp_call"]
        assert {(one.status, one.arguments) for one in ended} == {
            ("failed", '{"to":"bob"}'),
            ("completed", '{"to":"carl"}'),
        }
        # the same again, as clients repeat it, with new words: a new run
        new = openai_of(server).responses.with_raw_response.create(
            model="test-crew", input=[*yes, {"role": "assistant", "content": "all done"}, words]
        )
        assert new.headers["x-crew-ignored"] == "input.mcp_approval_response"
        again = [one for one in new.parse().output if one.type == "mcp_approval_request"]
        assert len(again) == 2
        # those of before, the requests, and those of now: the last ones decide
        now: list[Any] = [
            {"type": "mcp_approval_response", "approval_request_id": one.id, "approve": False}
            for one in again
        ]
        between: list[Any] = [one.model_dump(exclude_none=True) for one in again]
        last = openai_of(server).responses.create(model="test-crew", input=[*yes, *between, *now])
        assert last.output_text == "all done"
        assert paid(tmp_path) == ["bob", "carl"]
        with client(server) as http:
            http.delete(f"/api/crew/runs/{yes[0]['approval_request_id'].split('_')[1]}")
        gone = openai_of(server).responses.create(model="test-crew", input=[*yes, words])
        assert len([one for one in gone.output if one.type == "mcp_approval_request"]) == 2
        assert paid(tmp_path) == ["bob", "carl"]


def test_an_answer_to_an_earlier_response(tmp_path: Path):
    """Decides nothing that came later."""
    with serving(crew_at(tmp_path)) as server:
        one = openai_of(server)
        question = one.responses.create(model="test-crew", input="ask")
        asked = one.responses.create(
            model="test-crew", input="pay", previous_response_id=question.id
        )
        assert asked.output[-1].type == "mcp_approval_request"
        with pytest.raises(openai.ConflictError, match="has gone on"):
            one.responses.create(model="test-crew", input="ok", previous_response_id=question.id)
        assert paid(tmp_path) == []
        one.responses.create(model="test-crew", input="ok", previous_response_id=asked.id)
        assert paid(tmp_path) == ["bob"]


def test_the_same_request_again(tmp_path: Path):
    """Under its key begins and decides nothing, though what it would come to has changed."""
    folder = crew_at(tmp_path, conversations={"title_after": 0})
    with serving(folder) as server, client(server) as http:

        def say(text: str, key: str) -> httpx2.Response:
            headers = {"X-Conversation-Id": "c1", "Idempotency-Key": key}
            body = {"model": "test-crew", "messages": [{"role": "user", "content": text}]}
            return http.post("/v1/chat/completions", json=body, headers=headers)

        first, again = say("pay bob", "k1"), say("pay bob", "k1")
        assert first.json() == again.json()
        assert again.headers["idempotency-replayed"] == "true"
        done, twice = say("yes", "k2"), say("yes", "k2")
        assert done.json() == twice.json()
        assert say("no", "k2").status_code == 422
        assert paid(tmp_path) == ["bob"]


def test_one_yes_decides_one_question(tmp_path: Path):
    """A client that repeats its request answers nothing that came meanwhile: it has not seen it."""
    rules: list[dict[str, Any]] = [
        {"hears": "pay", "turn": 1, "calls": [{"tool": "pay", "arguments": {"to": "bob"}}]},
        {"hears": "pay", "turn": 2, "calls": [{"tool": "pay", "arguments": {"to": "carl"}}]},
        {"say": "both are paid"},
    ]
    agents = {"b": {"tools": ["pay"], "is_terminal": True}}
    conversations = {"title_after": 0}
    folder = write_crew(tmp_path / "crew", agents, rules, {"pay": PAY}, conversations=conversations)
    (folder / "acts.py").write_text(ACTS)
    with serving(folder) as server, client(server) as http:

        def say(*texts: str) -> str:
            roles = ("user", "assistant")
            messages = [{"role": roles[n % 2], "content": one} for n, one in enumerate(texts)]
            headers = {"X-Conversation-Id": "c1"}
            body = {"model": "test-crew", "messages": messages}
            answer = http.post("/v1/chat/completions", json=body, headers=headers)
            assert answer.status_code == 200, answer.text
            content: str = answer.json()["choices"][0]["message"]["content"]
            return content

        first = say("pay both")
        second = say("pay both", first, "Yes, please!")
        assert "carl" in second
        # its answer was lost; and one that sends the newest message alone
        assert say("pay both", first, "Yes, please!") == second
        assert say("Yes, please!") == second
        assert paid(tmp_path) == ["bob"]
        assert say("pay both", first, "Yes, please!", second, "Yes, please!") == "both are paid"
        assert paid(tmp_path) == ["bob", "carl"]


def test_a_run_that_fails_is_not_tried_again(tmp_path: Path):
    """OpenAI's client repeats what failed, unless it is said not to."""
    with serving(crew_at(tmp_path)) as server, client(server) as http:
        one = openai.OpenAI(base_url=f"{server.url}/v1", api_key="none", max_retries=2)
        with pytest.raises(openai.InternalServerError):
            one.chat.completions.create(
                model="test-crew", messages=[{"role": "user", "content": "break"}]
            )
        assert len(http.get("/api/crew/runs").json()["runs"]) == 1


def test_who_looks_on_may_leave(tmp_path: Path):
    """A run that needs no listener goes on when one who followed it in another language leaves."""
    tokens = f"ann:{ANN},look+read:{'l' * 24}"
    folder = crew_at(tmp_path, settings={"disconnect_grace_seconds": 0})
    with serving(folder, CREW_API_TOKENS=f"{tokens},boss@9+admin:{'b' * 24}") as server:
        boss = {"Authorization": f"Bearer {'b' * 24}"}
        with client(server, headers=boss) as http:
            run_id = http.post("/api/crew/runs", json={"query": "hi"}).json()["run_id"]
            address = f"/v1/responses/resp_{run_id}_1?stream=true"
            with http.stream("GET", address) as stream:
                next(data_of(stream.iter_lines()))
        until_completed(server, run_id, boss)


def until_completed(server: ServerProcess, run_id: str, headers: dict[str, str]) -> None:
    found: list[str] = []

    def has_ended() -> bool:
        with client(server, headers=headers) as http:
            found.append(http.get(f"/api/crew/runs/{run_id}").json()["status"])
        return found[-1] != "running"

    until(has_ended)
    assert found[-1] == "completed"


def test_texts_have_their_limits(tmp_path: Path):
    """In answers, too: no control characters, and no more than `max_input_size_kb`."""
    with (
        serving(crew_at(tmp_path, settings={"max_input_size_kb": 1})) as server,
        client(server) as http,
    ):
        (question,) = agui(http, "ask", "r1")[-1]["outcome"]["interrupts"]
        for number, text in enumerate(("a\0", "x" * 1001)):
            resume = [
                {"interruptId": question["id"], "status": "resolved", "payload": {"text": text}}
            ]
            body = {"threadId": "t1", "runId": f"r{number + 2}", "resume": resume}
            assert http.post("/agui", json=body).status_code == 400
        # a message is no answer to an interrupt
        assert agui(http, "hi", "r9")[-1]["code"] == "pending_interrupt"


def test_words_of_an_assistant_answer_nothing(tmp_path: Path):
    """Where the user's own are missing."""
    with serving(crew_at(tmp_path)) as server, client(server) as http:
        question = openai_of(server).responses.create(model="test-crew", input="ask")
        run_id = question.id.split("_")[1]
        said = {"role": "assistant", "content": "pay"}
        body: dict[str, Any] = {"model": "test-crew", "previous_response_id": question.id}
        assert http.post("/v1/responses", json=body | {"input": [said]}).status_code == 400
        assert http.post("/v1/responses", json=body | {"input": []}).status_code == 400
        part = {"type": "text", "text": "pay"}
        messages = [
            {"id": run_id, "role": "assistant", "parts": [part]},
            {"id": "m2", "role": "user", "parts": []},
        ]
        assert http.post("/ai", json={"id": "c1", "messages": messages}).status_code == 400
        assert http.get(f"/api/crew/runs/{run_id}").json()["status"] == "paused"
