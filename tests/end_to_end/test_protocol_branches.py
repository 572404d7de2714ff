"""Clients that change what was said: a chat goes on from where they went back to."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import httpx2
import openai
import pytest

from tests.support.crews import write_crew
from tests.support.paying_crew import agui, data_of
from tests.support.paying_crew import crew_at as paying_crew_at
from tests.support.processes import client, serving

Say = Callable[[httpx2.Client, Sequence[str]], httpx2.Response]
KEPT: dict[str, Any] = {"title_after": 0}


def crew_at(folder: Path) -> Path:
    return write_crew(
        folder / "crew",
        {"a": {"is_terminal": True}},
        [{"agent": "a", "say": "yes"}],
        conversations=KEPT,
    )


def history(texts: Sequence[str]) -> list[tuple[str, str]]:
    """Roles and texts: each but the last was answered."""
    answered = [pair for text in texts[:-1] for pair in (("user", text), ("assistant", "yes"))]
    return [*answered, ("user", texts[-1])]


def say_chat(http: httpx2.Client, texts: Sequence[str]) -> httpx2.Response:
    headers = {"X-Conversation-Id": "c1"}
    body = {"model": "test-crew", "messages": messages(texts)}
    return http.post("/v1/chat/completions", json=body, headers=headers)


def ai_messages(texts: Sequence[str]) -> list[dict[str, Any]]:
    return [
        {"id": f"m{place}", "role": role, "parts": [{"type": "text", "text": text}]}
        for place, (role, text) in enumerate(history(texts))
    ]


def say_ai(
    http: httpx2.Client, texts: Sequence[str], trigger: str = "submit-message"
) -> httpx2.Response:
    body = {"id": "c1", "messages": ai_messages(texts), "trigger": trigger}
    return http.post("/ai", json=body)


def messages(texts: Sequence[str]) -> list[dict[str, Any]]:
    return [
        {"id": f"m{place}", "role": role, "content": text}
        for place, (role, text) in enumerate(history(texts))
    ]


def say_agui(http: httpx2.Client, texts: Sequence[str]) -> httpx2.Response:
    body = {"threadId": "c1", "runId": "-".join(texts), "messages": messages(texts)}
    return http.post("/agui", json=body)


def kept(http: httpx2.Client, name: str = "c1") -> list[str]:
    found = http.get(f"/api/crew/conversations/{name}")
    return [one["query"] for one in found.json()["exchanges"]] if found.is_success else []


@pytest.mark.parametrize("say", [say_chat, say_ai, say_agui])
def test_a_chat_whose_client_goes_back(say: Say, tmp_path: Path):
    """And forward again, and leaves out what is old."""
    with serving(crew_at(tmp_path)) as server, client(server) as http:

        def asked(*texts: str) -> None:
            response = say(http, texts)
            assert response.status_code == 200, response.text
            # as a client that reads it to its end
            assert "yes" in response.text

        asked("one")
        asked("one", "two")
        asked("one", "two", "three")
        assert kept(http) == ["one", "two", "three"]
        # edits the second
        asked("one", "second")
        assert kept(http, "c1-fork-1") == ["one", "second"]
        asked("one", "second", "third")
        assert kept(http, "c1-fork-1") == ["one", "second", "third"]
        # and of that one the third
        asked("one", "second", "last")
        assert kept(http, "c1-fork-2") == ["one", "second", "last"]
        # goes to where it was before
        asked("one", "two", "three", "four")
        # a message that the crew never had, and one that leaves out what is old
        asked("one", "two", "three", "four", "lost", "five")
        asked("four", "five", "six")
        assert kept(http) == ["one", "two", "three", "four", "five", "six"]
        # which repeats nothing
        asked("seven")
        assert kept(http)[-1] == "seven"
        assert kept(http, "c1-fork-3") == []


def test_the_last_message_again(tmp_path: Path):
    """The first one, too: what was answered before is not shown to the model."""
    with serving(crew_at(tmp_path)) as server, client(server) as http:
        assert say_ai(http, ["one"]).status_code == 200
        assert "yes" in say_ai(http, ["one"], "regenerate-message").text
        assert (kept(http), kept(http, "c1-fork-1")) == (["one"], ["one"])
        assert "yes" in say_ai(http, ["one", "two"]).text
        assert "yes" in say_ai(http, ["one", "two"], "regenerate-message").text
        assert kept(http, "c1-fork-1") == ["one", "two"]
        assert kept(http, "c1-fork-2") == ["one", "two"]
        assert kept(http) == ["one"]


def test_the_first_message_edited(tmp_path: Path):
    """The SDK names the message that it replaces; who has lost its history names none."""
    with serving(crew_at(tmp_path)) as server, client(server) as http:
        assert say_ai(http, ["one"]).status_code == 200
        assert say_ai(http, ["one", "two"]).status_code == 200
        edited = {"id": "c1", "messages": ai_messages(["one, edited"]), "messageId": "m0"}
        for _ in range(2):
            # the same request again begins nothing
            assert "yes" in http.post("/ai", json=edited).text
            assert kept(http, "c1-fork-1") == ["one, edited"]
        assert not kept(http, "c1-fork-2")
        assert say_ai(http, ["one, edited", "more"]).status_code == 200
        assert kept(http, "c1-fork-1") == ["one, edited", "more"]
        assert kept(http) == ["one", "two"]


def test_words_that_nobody_sees_begin_nothing(tmp_path: Path):
    with serving(crew_at(tmp_path)) as server, client(server) as http:
        for say in (say_chat, say_ai):
            refused = say(http, [" \u200b"])
            assert (refused.status_code, "no words" in refused.text) == (400, True), refused.text
        assert kept(http) == []


def test_an_older_response(tmp_path: Path):
    """Goes on behind that one, not behind the newest."""
    with serving(crew_at(tmp_path)) as server, client(server) as http:
        one = openai.OpenAI(base_url=f"{server.url}/v1", api_key="none")
        first = one.responses.create(model="test-crew", input="one", conversation="c1")
        names: Any = {"model": "test-crew", "previous_response_id": first.id}
        one.responses.create(**names, input="two")
        one.responses.create(**names, input="other")
        assert kept(http) == ["one", "two"]
        found = http.get("/api/crew/conversations").json()["conversations"]
        (copy,) = [each["conversation_id"] for each in found if each["conversation_id"] != "c1"]
        assert kept(http, copy) == ["one", "other"]


def test_a_pause_in_a_branch(tmp_path: Path):
    """Is the chat's: its interrupts are answered under the chat's name."""
    with serving(paying_crew_at(tmp_path, conversations=KEPT)) as server, client(server) as http:
        told = {"messages": messages(["hi", "pay bob"])}
        agui(http, "hi", "r1", "c1")
        agui(http, "", "r2", "c1", messages=messages(["hi", "hello"]))
        paused = agui(http, "", "r3", "c1", **told)[-1]
        assert kept(http, "c1-fork-1") == ["hi", "pay bob"]
        pending = agui(http, "", "r4", "c1", **told)[-1]
        assert pending["code"] == "pending_interrupt"
        (asked,) = paused["outcome"]["interrupts"]
        answer = {"interruptId": asked["id"], "status": "resolved", "payload": {"approved": True}}
        other = agui(http, "", "r5", "c2", resume=[answer])[-1]
        assert other["code"] == "stale_interrupt"
        done = agui(http, "", "r6", "c1", resume=[answer])[-1]
        assert done["result"] == "It is done: paid bob"
        run_id = asked["id"].partition(":")[0]
        with http.stream("GET", f"/agui/{run_id}") as response:
            frames = [frame for _, frame in data_of(response.iter_lines())]
        assert frames[0]["threadId"] == "c1"
        # what was said before is told without the signals that were acted on
        with http.stream("GET", f"/agui/{run_id}", params={"after": 1}) as response:
            frames = [frame for _, frame in data_of(response.iter_lines())]
        (snapshot,) = [one for one in frames[:3] if one["type"] == "MESSAGES_SNAPSHOT"]
        said = [one["content"] for one in snapshot["messages"]]
        assert said[0] == "hi"
        assert not any("[B]" in one for one in said), said


def test_a_run_at_work_in_a_branch(tmp_path: Path):
    """Is found by the chat's name."""
    with serving(paying_crew_at(tmp_path, conversations=KEPT)) as server, client(server) as http:
        say_ai(http, ["hi"])
        say_ai(http, ["hi", "hello"])
        assert http.get("/ai/c1/stream").status_code == 204
        body = {"id": "c1", "messages": ai_messages(["hi", "slowly"])}
        with http.stream("POST", "/ai", json=body) as first:
            begun = next(data_of(first.iter_lines()))[1]
            with http.stream("GET", "/ai/c1/stream") as again:
                assert next(data_of(again.iter_lines()))[1] == begun
        assert kept(http, "c1-fork-1") == ["hi", "slowly"]


def test_too_many_branches(tmp_path: Path):
    """Are a conflict that says what to do; what is there still goes on."""
    with serving(crew_at(tmp_path)) as server, client(server) as http:
        say_chat(http, ["one"])
        say_chat(http, ["one", "two"])
        for number in range(50):
            assert say_chat(http, ["one", f"other {number}"]).status_code == 200
        refused = say_chat(http, ["one", "too many"])
        assert refused.status_code == 409
        assert "begin another" in refused.text
        assert say_chat(http, ["one", "two", "three"]).status_code == 200
        assert kept(http) == ["one", "two", "three"]


def test_who_may_not_run_makes_no_branch(tmp_path: Path):
    """Though it may see the conversation: it is of the same owner."""
    may, looks = "a" * 24, "b" * 24
    tokens = f"ann+read+run:{may},ann+read:{looks}"
    with serving(crew_at(tmp_path), CREW_API_TOKENS=tokens) as server, client(server) as http:
        http.headers["Authorization"] = f"Bearer {may}"
        say_chat(http, ["one"])
        say_chat(http, ["one", "two"])
        http.headers["Authorization"] = f"Bearer {looks}"
        assert kept(http) == ["one", "two"]
        assert say_chat(http, ["one", "second"]).status_code == 403
        assert kept(http, "c1-fork-1") == []
