"""A server in the languages of others: their clients, their errors, and what happens when it is killed."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import openai
import pytest

from tests.support import forked
from tests.support.paying_crew import ANN, EVE, TOKENS, crew_at, openai_of, paid
from tests.support.processes import ServerProcess, client, serving


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    limits = {"max_request_body_size_kb": 300}
    folder = crew_at(tmp_path_factory.mktemp("protocols"), settings=limits)
    with serving(folder, CREW_API_TOKENS=TOKENS) as started:
        yield started


def test_chat_completions(server: ServerProcess):
    """Whole and streamed; what went before is beside the answer; no signal is in it."""
    ann = openai_of(server, ANN)
    assert [one.id for one in ann.models.list()] == ["test-crew"]
    assert ann.models.retrieve("test-crew").owned_by == "crewline"
    asked: Any = {"model": "test-crew", "messages": [{"role": "user", "content": "hi"}]}
    raw = ann.chat.completions.with_raw_response.create(**asked, temperature=0.1, user="x")
    assert raw.headers["x-crew-ignored"] == "temperature, user"
    whole = raw.parse()
    assert whole.choices[0].message.content == "Well then."
    assert whole.choices[0].message.reasoning_content == "**A:** Hello.\n\n"
    assert whole.usage is not None
    chunks = list(
        ann.chat.completions.create(**asked, stream=True, stream_options={"include_usage": True})
    )
    said = "".join(one.choices[0].delta.content or "" for one in chunks if one.choices)
    assert said == "Well then."
    assert chunks[-1].usage == whole.usage
    assert chunks[-2].choices[0].finish_reason == "stop"


@pytest.mark.parametrize(
    ("body", "status", "code", "words"),
    [
        ({"model": "other"}, 404, "model_not_found", "does not exist"),
        ({"messages": "hi"}, 400, None, "messages"),
        (
            {"messages": [{"role": "user", "content": [{"type": "image_url"}]}]},
            400,
            None,
            "is no text",
        ),
        ({"messages": [{"role": "assistant", "content": "hi"}]}, 400, None, "the user's"),
        (
            {"messages": [{"role": "user", "content": "### Task: a title"}]},
            400,
            "chore",
            "task model",
        ),
        ({"messages": [{"role": "user", "content": "a\0b"}]}, 400, None, "U+0000"),
        ({"n": 2}, 400, None, "n: is not supported"),
        ({"stream": "yes"}, 400, None, "stream"),
        ({"messages": [{"role": "user", "content": "break"}]}, 502, "refused", ""),
    ],
)
def test_errors_of_openai(
    server: ServerProcess, body: Any, status: int, code: str | None, words: str
):
    asked = {"model": "test-crew", "messages": [{"role": "user", "content": "hi"}], **body}
    with client(server, headers={"Authorization": f"Bearer {ANN}"}) as http:
        answer = http.post("/v1/chat/completions", json=asked)
    error = answer.json()["error"]
    assert (answer.status_code, error["code"]) == (status, code)
    assert words in error["message"]
    assert error.keys() == {"message", "type", "param", "code"}


def test_who_may(server: ServerProcess):
    """Each language refuses in its own form; what another owner has is not found."""
    with pytest.raises(openai.AuthenticationError, match="Authorization"):
        openai_of(server, "wrong" * 5).models.list()
    ann, eve = openai_of(server, ANN), openai_of(server, EVE)
    response = ann.responses.create(model="test-crew", input="hi")
    with pytest.raises(openai.NotFoundError):
        eve.responses.retrieve(response.id)
    with pytest.raises(openai.NotFoundError):
        ann.responses.retrieve("resp_none_1")
    with client(server) as http:
        refused = http.post("/agui", json={})
        assert (refused.status_code, refused.json()["code"]) == (401, "unauthorized")
        page = {"Authorization": f"Bearer {ANN}", "Origin": "https://evil.example"}
        for address in ("/agui", "/v1/responses", "/ai"):
            assert http.post(address, json={}, headers=page).status_code == 403
        large = {"Authorization": f"Bearer {ANN}"}
        body = b'{"threadId": "' + b"x" * 1_000_000
        for address in ("/agui", "/v1/responses", "/ai"):
            answer = http.post(address, content=body, headers=large)
            assert answer.status_code == 413, answer.text
            deep = b'{"a":' + b"[" * 100_000
            assert http.post(address, content=deep, headers=large).status_code == 400


def test_an_approval_by_responses(tmp_path: Path):
    """A no is a no; a yes makes the call once; what is asked twice, or by others, is refused."""
    with serving(crew_at(tmp_path), CREW_API_TOKENS=TOKENS) as server:
        ann, eve = openai_of(server, ANN), openai_of(server, EVE)
        asked = ann.responses.create(model="test-crew", input="pay bob")
        assert [one.type for one in asked.output] == ["reasoning", "mcp_approval_request"]
        request = asked.output[1]
        yes: Any = {
            "type": "mcp_approval_response",
            "approval_request_id": request.id,
            "approve": True,
        }
        with pytest.raises(openai.NotFoundError):
            eve.responses.create(model="test-crew", input=[yes])
        done = ann.responses.create(model="test-crew", input=[yes], previous_response_id=asked.id)
        assert done.output_text == "It is done: paid bob"
        assert [one.type for one in done.output] == ["mcp_call", "message"]
        with pytest.raises(openai.ConflictError, match="not paused"):
            ann.responses.create(model="test-crew", input=[yes])
        assert paid(tmp_path) == ["bob"]
        again = ann.responses.create(model="test-crew", input="pay bob")
        no: Any = {
            **yes,
            "approval_request_id": again.output[1].id,
            "approve": False,
            "reason": "no",
        }
        refused = ann.responses.create(model="test-crew", input=[no])
        assert refused.output_text.startswith("It is done")
        assert paid(tmp_path) == ["bob"]
        # words that follow are a run with what was said before
        more = ann.responses.create(model="test-crew", input="hi", previous_response_id=refused.id)
        assert more.output_text == "Well then."


def test_a_conversation_of_chat_completions(tmp_path: Path):
    """By its header: the pause is answered by words; the history is the crew's."""
    folder = crew_at(tmp_path, conversations={"title_after": 0})
    with serving(folder) as server:
        chat = openai_of(server).with_options(default_headers={"X-OpenWebUI-Chat-Id": "c1"})

        def say(*texts: str) -> tuple[str, str | None]:
            messages: list[Any] = [{"role": "user", "content": text} for text in texts]
            raw = chat.chat.completions.with_raw_response.create(
                model="test-crew", messages=messages
            )
            return raw.parse().choices[0].message.content or "", raw.headers.get("x-crew-ignored")

        assert say("ask me") == ("Which one?", None)
        assert say("ask me", "blue") == ("Well then.", None)
        asked, _ = say("ask me", "blue", "pay bob")
        assert "Waiting for a decision" in asked
        assert "pay(to='bob')" in asked
        # who asks back has agreed to nothing
        assert "It is done" in say("ask me", "blue", "pay bob", "ok?")[0]
        assert paid(tmp_path) == []
        say("ask me", "blue", "pay bob", "ok?", "pay bob again")
        assert (
            say("ask me", "blue", "pay bob", "ok?", "pay bob again", "OK")[0]
            == "It is done: paid bob"
        )
        assert say("ask me", "pay bob", "OK", "hi") == ("Well then.", "messages before the last")
        assert paid(tmp_path) == ["bob"]


@pytest.mark.parametrize(
    ("doors", "status", "words"),
    [("", 404, ""), ("openai", 200, ""), ("opnai", 2, "no protocol 'opnai'; did you mean")],
)
def test_which_doors_are_open(doors: str, status: int, words: str, tmp_path: Path):
    folder = crew_at(tmp_path)
    if words:
        ended = forked.crew("serve", folder, "--port", "0", CREW_DOORS=doors)
        assert (ended.returncode, words in ended.stderr) == (status, True)
        return
    with serving(folder, CREW_DOORS=doors) as server, client(server) as http:
        assert http.get("/v1/models").status_code == status
        assert http.post("/agui", json={}).status_code == 404


def test_clients_in_pages_of_other_sites(tmp_path: Path):
    """Of sites that are named: they may send what their clients send, and read what is ignored."""
    page = "https://app.example.com"
    with serving(crew_at(tmp_path), CREW_CORS_ORIGINS=page) as server, client(server) as http:
        for address, names in (
            (
                "/v1/chat/completions",
                "authorization,content-type,x-stainless-os,x-openwebui-chat-id",
            ),
            ("/a2a", "a2a-version,content-type"),
            ("/mcp", "mcp-protocol-version,content-type"),
            ("/ai", "content-type"),
            ("/agui", "content-type,last-event-id"),
        ):
            asked = {
                "Access-Control-Request-Method": "POST",
                "Access-Control-Request-Headers": names,
            }
            answer = http.options(address, headers={"Origin": page, **asked})
            assert answer.status_code == 200, (address, answer.text)
            assert answer.headers["access-control-allow-origin"] == page
        body = {"model": "test-crew", "messages": [{"role": "user", "content": "hi"}], "top_p": 1}
        said = http.post("/v1/chat/completions", json=body, headers={"Origin": page})
        assert "X-Crew-Ignored" in said.headers["access-control-expose-headers"]
        assert said.headers["x-crew-ignored"] == "top_p"
