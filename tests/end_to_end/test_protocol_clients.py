"""What clients that exist send, as they were seen to: retries, templates, references, odd characters."""

import json
from pathlib import Path
from typing import Any

import httpx2
import pytest

from tests.support.crews import write_crew
from tests.support.paying_crew import crew_at, data_of, openai_of, paid
from tests.support.processes import client, serving

KEPT: dict[str, Any] = {"title_after": 0}
CHAT = {"X-OpenWebUI-Chat-Id": "c1"}


def complete(http: httpx2.Client, *texts: str) -> httpx2.Response:
    """A chat completion; the texts are the user's and the assistant's in turn."""
    roles = ("user", "assistant")
    messages = [{"role": roles[place % 2], "content": text} for place, text in enumerate(texts)]
    body = {"model": "test-crew", "messages": messages}
    return http.post("/v1/chat/completions", json=body, headers=CHAT)


@pytest.mark.parametrize("query", ["yes", "pay bob"])
def test_the_same_request_again_answers_nothing(tmp_path: Path, query: str):
    """A client's retry, or "Regenerate": nobody has seen yet what the run asks."""
    rules = [
        {"agent": "a", "seen": query, "after": "pay", "say": "{{result.pay}}"},
        {"agent": "a", "calls": [{"tool": "pay", "arguments": {"to": "bob"}}]},
    ]
    folder = crew_at(tmp_path)
    tools = {"pay": {"kind": "python", "function": "acts.py:pay", "requires_approval": True}}
    agents = {"a": {"tools": ["pay"], "is_terminal": True}}
    write_crew(folder, agents, rules, tools, conversations=KEPT)
    with serving(folder) as server, client(server) as http:
        first, again = complete(http, query), complete(http, query)
        assert first.json()["choices"] == again.json()["choices"]
        assert paid(tmp_path) == []
        asked = openai_of(server).responses.create
        for _ in range(2):
            said = asked(model="test-crew", input=query, extra_headers={"X-Conversation-Id": "c1"})
            assert said.output[-1].type == "mcp_approval_request"
        assert paid(tmp_path) == []
        # who has seen the question may say the same word
        shown = first.json()["choices"][0]["message"]["content"]
        done = complete(http, query, shown, "`approve`")
        assert done.json()["choices"][0]["message"]["content"] == "paid bob"
        assert paid(tmp_path) == ["bob"]


def test_the_same_word_to_two_questions(tmp_path: Path):
    """Of clients that send only what is new: OpenAI's, by their tries; Vercel's, by ids."""
    rules = [
        {"agent": "a", "seen": "twice", "after": "note", "say": "all is done"},
        {"agent": "a", "after": "pay", "calls": [{"tool": "note"}]},
        {"agent": "a", "calls": [{"tool": "pay", "arguments": {"to": "bob"}}]},
    ]
    folder = crew_at(tmp_path)
    (folder / "notes.py").write_text('def note() -> str:\n    """Note."""\n    return "noted"\n')
    tools = {
        "pay": {"kind": "python", "function": "acts.py:pay", "requires_approval": True},
        "note": {"kind": "python", "function": "notes.py:note", "requires_approval": True},
    }
    agents = {"a": {"tools": ["pay", "note"], "is_terminal": True}}
    write_crew(folder, agents, rules, tools, conversations=KEPT)
    with serving(folder) as server, client(server) as http:
        asked = openai_of(server).responses.create
        for place, text in enumerate(("twice", "approve", "approve")):
            # a key of its own makes it another one for certain
            named = {"X-Conversation-Id": "c1", "Idempotency-Key": f"k{place}"}
            said = asked(model="test-crew", input=text, extra_headers=named)
        assert said.output_text == "all is done"
        chats = openai_of(server).chat.completions.create
        named = {"X-Conversation-Id": "c2"}
        for text in ("twice", "approve", "approve"):
            message: Any = {"role": "user", "content": text}
            chat = chats(model="test-crew", messages=[message], extra_headers=named)
        # the second could be the first once more: nobody may have seen the second question
        assert "note" in (chat.choices[0].message.content or "")
        message = {"role": "user", "content": "yes"}
        chat = chats(model="test-crew", messages=[message], extra_headers=named)
        assert chat.choices[0].message.content == "all is done"
        # a retry of its own, of an answer that was lost, answers nothing
        again = {"x-stainless-retry-count": "1", "x-conversation-id": "c3"}
        body = {"model": "test-crew", "messages": [{"role": "user", "content": "twice"}]}
        http.post("/v1/chat/completions", json=body, headers=again)
        body["messages"] = [{"role": "user", "content": "approve"}]
        first = http.post("/v1/chat/completions", json=body, headers=again)
        second = http.post("/v1/chat/completions", json=body, headers=again)
        assert first.json()["choices"] == second.json()["choices"]
        assert paid(tmp_path) == ["bob"] * 3


def test_words_to_two_questions_by_ids(tmp_path: Path):
    """Of a chat that sends only its newest message: one of another id is new, the same is not."""
    rules = [
        {"agent": "a", "seen": "8", "say": "thank you [END]"},
        {"agent": "a", "seen": "7", "say": "and then?"},
        {"agent": "a", "say": "how many?"},
    ]
    folder = crew_at(tmp_path)
    routing = {
        "signals": {"a": [{"signal": "[END]", "target": ""}]},
        "agent_behaviors": {"a": {"wait_for_signal": True}},
    }
    write_crew(folder, {"a": {}}, rules, conversations=KEPT, routing=routing)
    with serving(folder) as server, client(server) as http:

        def send(text: str, id_: str) -> str:
            parts = [{"type": "text", "text": text}]
            body = {"id": "c1", "messages": [{"id": id_, "role": "user", "parts": parts}]}
            lines = iter(http.post("/ai", json=body).text.split("\n"))
            return "".join(one["delta"] for _, one in data_of(lines) if "delta" in one)

        assert "how many" in send("quiz", "m1")
        first = send("7", "m2")
        assert "and then" in first
        assert send("7", "m2") == first
        assert "and then" in send("7", "m3")
        assert "thank you" in send("8", "m4")
        asked = openai_of(server).responses.create
        named = {"X-Conversation-Id": "c2"}
        said = [
            asked(model="test-crew", input=text, extra_headers=named).output_text
            for text in ("quiz", "7", "7", "8")
        ]
        assert said == ["how many?", "and then?", "and then?", "thank you"]


def test_a_message_of_a_failed_run_is_tried_again(tmp_path: Path):
    """The only message of a chat, sent once more with its id; one that was answered is not."""
    rules = [{"agent": "a", "hears": "bad", "fail": {"code": "refused"}}, {"say": "all is well"}]
    folder = write_crew(tmp_path, {"a": {"is_terminal": True}}, rules, conversations=KEPT)
    with serving(folder) as server, client(server) as http:
        for chat, text in (("c1", "bad"), ("c2", "good")):
            parts = [{"type": "text", "text": text}]
            body = {"id": chat, "messages": [{"id": "m1", "role": "user", "parts": parts}]}
            for _ in range(2):
                http.post("/ai", json=body)
        runs = http.get("/api/crew/runs").json()["runs"]
        assert sorted(one["status"] for one in runs) == ["completed", "failed", "failed"]


def test_words_that_a_client_puts_before_the_question(tmp_path: Path):
    """Open WebUI's template of what it has found is no chore; a title is one."""
    with serving(crew_at(tmp_path)) as server, client(server) as http:
        found = "### Task:\nRespond to the user query using the provided context.\n\nhello"
        assert complete(http, found).status_code == 200
        chore = complete(http, "### Task:\nGenerate a concise, 3-5 word title")
        assert chore.json()["error"]["code"] == "chore"


def test_answers_that_are_only_named(tmp_path: Path):
    """Of a client that names what the crew has kept, as Vercel's does: the crew sees its answers."""
    rules = [
        {"agent": "a", "seen": "my name is Hana", "hears": "name", "say": "Hana, as I said."},
        {"agent": "a", "hears": "name", "say": "I do not know."},
        {"agent": "a", "say": "Hello, my name is Hana."},
    ]
    folder = write_crew(tmp_path / "crew", {"a": {"is_terminal": True}}, rules)
    with serving(folder) as server, client(server) as http:

        def ask(*items: dict[str, Any]) -> httpx2.Response:
            return http.post("/v1/responses", json={"model": "test-crew", "input": items})

        hello = {"role": "user", "content": "hello"}
        again = {"role": "user", "content": "what is your name?"}
        first = ask(hello).json()
        known = {"type": "item_reference", "id": first["output"][-1]["id"]}
        assert ask(hello, known, again).json()["output"][-1]["content"][0]["text"] == (
            "Hana, as I said."
        )
        unknown = {"type": "item_reference", "id": "msg_0123_1"}
        answer = ask(hello, unknown, again)
        assert answer.headers["x-crew-ignored"] == "input.item_reference"


@pytest.mark.parametrize("text", ["red \x1b[31mlight\x0b", "long " * 30_000])
def test_an_answer_that_no_client_could_change(tmp_path: Path, text: str):
    """It may have what tools gave; a client repeats it all the same."""
    with serving(crew_at(tmp_path)) as server, client(server) as http:
        assert complete(http, "hello", text, "and now?").status_code == 200
        said = complete(http, text, "ok", "and now?")
        assert said.status_code == 400, "a user's own words have limits"


def test_lines_that_end_elsewhere(tmp_path: Path):
    """Some clients end a line at other characters, too: none stands in a stream as it is."""
    text = "one\u2028two\u0085three\u2029end"
    folder = write_crew(tmp_path / "crew", {"a": {"is_terminal": True}}, [{"say": text}])
    with serving(folder) as server, client(server) as http:
        for path, body in (
            ("/api/crew/stream", {"query": "q", "deltas": True}),
            ("/v1/responses", {"model": "test-crew", "input": "q", "stream": True}),
            ("/v1/chat/completions", {"messages": [{"role": "user", "content": "q"}]}),
        ):
            sent = {**body, "model": "test-crew", "stream": True} if "messages" in body else body
            stream = http.post(path, json=sent).text
            assert not {"\u2028", "\u2029", "\u0085"} & set(stream), path
            frames = [one for _, one in data_of(iter(stream.split("\n"))) if one != "[DONE]"]
            shown = json.dumps(frames)
            assert all(word in shown for word in ("one", "two", "\\u2029", "end")), path


def test_a_call_comes_together_from_its_pieces(tmp_path: Path):
    """Clients begin with no arguments, and add each piece."""
    rules = [
        {"agent": "a", "after": "pay", "say": "done"},
        {"agent": "a", "calls": [{"tool": "pay", "arguments": {"to": "bob"}}]},
    ]
    folder = crew_at(tmp_path)
    tools = {"pay": {"kind": "python", "function": "acts.py:pay"}}
    write_crew(folder, {"a": {"tools": ["pay"], "is_terminal": True}}, rules, tools)
    with serving(folder) as server, openai_of(server) as openai:
        together = ""
        for event in openai.responses.create(model="test-crew", input="pay", stream=True):
            if event.type == "response.output_item.added" and event.item.type == "mcp_call":
                together = event.item.arguments
            elif event.type == "response.mcp_call_arguments.delta":
                together += event.delta
            elif event.type == "response.mcp_call_arguments.done":
                assert together == event.arguments == '{"to":"bob"}'
        assert together


def test_words_beside_an_approval(tmp_path: Path):
    """What a person typed meanwhile does not keep their answer to an approval from counting."""
    folder = crew_at(tmp_path)
    rules = [
        {"agent": "a", "after": "pay", "say": "{{result.pay}}"},
        {"agent": "a", "calls": [{"tool": "pay", "arguments": {"to": "bob"}}]},
    ]
    tools = {"pay": {"kind": "python", "function": "acts.py:pay", "requires_approval": True}}
    agents = {"a": {"tools": ["pay"], "is_terminal": True}}
    write_crew(folder, agents, rules, tools, conversations=KEPT)

    def said(number: int, text: str) -> dict[str, Any]:
        return {"id": f"m{number}", "role": "user", "parts": [{"type": "text", "text": text}]}

    with serving(folder) as server, client(server) as http:

        def ask(*messages: dict[str, Any]) -> list[dict[str, Any]]:
            answer = http.post("/ai", json={"id": "c1", "messages": messages})
            assert answer.status_code == 200, answer.text
            return [one for _, one in data_of(iter(answer.text.split("\n"))) if one != "[DONE]"]

        chunks = ask(said(1, "pay bob"))
        (request,) = [one for one in chunks if one["type"] == "tool-approval-request"]
        part = {
            "type": "dynamic-tool",
            "toolCallId": request["toolCallId"],
            "state": "approval-responded",
            "approval": {"id": request["approvalId"], "approved": True},
        }
        message = {"id": chunks[0]["messageId"], "role": "assistant", "parts": [part]}
        done = ask(said(1, "pay bob"), message, said(2, "wait, who is bob?"))
        assert "".join(one.get("delta", "") for one in done) == "paid bob"


def test_many_pieces_have_numbers_of_their_own(tmp_path: Path):
    words = " ".join(f"w{number}" for number in range(1500))
    rules = [{"say": words}]
    folder = write_crew(tmp_path / "crew", {"a": {"is_terminal": True}}, rules)
    with serving(folder) as server, openai_of(server) as openai:
        events = list(openai.responses.create(model="test-crew", input="q", stream=True))
        numbers = [one.sequence_number for one in events]
        assert len(set(numbers)) == len(numbers)
        deltas = (one.delta for one in events if one.type == "response.output_text.delta")
        assert "".join(deltas) == words


def test_names_of_chats_that_are_no_ids(tmp_path: Path):
    """Each has a conversation of its own: Open WebUI's temporary chats, threads with dots."""
    rules = [
        {"hears": "who am I", "seen": "my name is Hana", "say": "Hana, as you said."},
        {"say": "Noted."},
    ]
    agents = {"a": {"is_terminal": True}}
    folder = write_crew(tmp_path / "crew", agents, rules, conversations=KEPT)
    with serving(folder) as server, client(server) as http:

        def say(text: str, chat: str) -> str:
            body = {"model": "test-crew", "messages": [{"role": "user", "content": text}]}
            headers = {"X-OpenWebUI-Chat-Id": chat}
            answer = http.post("/v1/chat/completions", json=body, headers=headers)
            assert answer.status_code == 200, answer.text
            content: str = answer.json()["choices"][0]["message"]["content"]
            return content

        for chat in ("local:Ab_c-1234", "channel:6d1f", "a.b"):
            assert say("my name is Hana", chat) == "Noted."
            assert say("who am I?", chat) == "Hana, as you said."
        assert say("who am I?", "a.c") == "Noted."
        user = {"id": "m1", "role": "user", "parts": [{"type": "text", "text": "who am I?"}]}
        answer = http.post("/ai", json={"id": "a.b", "messages": [user]})
        frames = [one for _, one in data_of(iter(answer.text.split("\n"))) if one != "[DONE]"]
        assert "".join(one.get("delta", "") for one in frames) == "Hana, as you said."
