"""Clients of other protocols after their server was killed in mid-stream: how each comes back."""

from pathlib import Path
from typing import Any

import httpx2

from tests.support.paying_crew import data_of
from tests.support.processes import client, serving, start_server

SAID = [{"id": "1", "role": "user", "content": "hi"}]
PARTS = [{"type": "text", "text": "hi"}]
LANGUAGES = ("agui", "responses", "ai", "chat", "a2a")
# what comes by pieces, and again as a whole
LIVE = ("TEXT_MESSAGE_START", "TEXT_MESSAGE_CONTENT", "text-delta", "text-start")


def told_over_a_kill(folder: Path, language: str, cut: int, name: str) -> list[str]:
    """What a client has in the end: the server was killed when so many frames were read.

    Args:
        folder: of the crew.
        language: see LANGUAGES.
        cut: so many.
        name: of the request, which no other one has.
    """
    server = start_server(folder)
    got: list[tuple[str | None, Any]] = []
    address, body, headers = _request(language, name)
    with (
        client(server) as http,
        http.stream("POST", address, json=body, headers=headers) as stream,
    ):
        for one in data_of(stream.iter_lines()):
            got.append(one)
            if len(got) == cut:
                break
        server.kill()
    with serving(folder) as server, client(server) as http:
        return _come_back(http, language, name, got)


def _request(language: str, name: str) -> tuple[str, dict[str, Any], dict[str, str]]:
    """Return the address, the body and the headers of a request."""
    match language:
        case "agui":
            return "/agui", {"threadId": name, "runId": name, "messages": SAID}, {}
        case "responses":
            return "/v1/responses", {"model": "test-crew", "input": "hi", "stream": True}, {}
        case "chat":
            body = {"model": "test-crew", "messages": SAID, "stream": True}
            return "/v1/chat/completions", body, {"Idempotency-Key": name}
        case "ai":
            return "/ai", {"id": name, "messages": [{**SAID[0], "parts": PARTS}]}, {}
        case _:
            message = {"messageId": name, "role": "ROLE_USER", "parts": [{"text": "hi"}]}
            return "/a2a/rest/message:stream", {"message": message}, {}


def _come_back(http: httpx2.Client, language: str, name: str, got: list[Any]) -> list[str]:
    """The kinds of the frames that a client has in the end, without what it was sent live."""
    match language:
        case "responses":
            response = got[0][1]["response"]["id"]
            number = got[-1][1]["sequence_number"]
            more = http.get(f"/v1/responses/{response}?stream=true&starting_after={number}")
            got = [*got, *_frames(more)]
            numbers = [frame["sequence_number"] for _, frame in got if isinstance(frame, dict)]
            assert numbers == sorted(set(numbers)), numbers
            return _kinds(got)
        case "chat":
            # the same request has the same stream, from its beginning
            address, body, headers = _request(language, name)
            again = _frames(http.post(address, json=body, headers=headers))
            assert again[-1][1] == "[DONE]"
            chunks = [one["choices"][0] for _, one in again[:-1] if one["choices"]]
            texts = [one["delta"].get("content") or "" for one in chunks]
            return ["".join(texts), *(one["finish_reason"] for one in chunks[-1:])]
        case "ai":
            # it begins the message anew; where the run has ended, its messages are to be loaded
            more = http.get(f"/ai/{name}/stream")
            return [] if more.status_code == 204 else _kinds(_frames(more))
        case "a2a":
            task_id = got[0][1]["task"]["id"]
            more = http.post(f"/a2a/rest/tasks/{task_id}:subscribe")
            if more.status_code == 200:
                assert _frames(more)[0][1]["task"]["id"] == task_id
            task = http.get(f"/a2a/rest/tasks/{task_id}").json()
            ids = [one["messageId"] for one in task["history"]]
            assert len(ids) == len(set(ids)), ids
            texts = [one["parts"][0]["text"] for one in task["artifacts"]]
            return [task["status"]["state"], str(len(ids)), *texts]
        case _:
            return _come_back_to_agui(http, got)


def _come_back_to_agui(http: httpx2.Client, got: list[Any]) -> list[str]:
    # the place of the last frame that has one
    last = next(id_ for id_, _ in reversed(got) if id_ is not None)
    run_id = last.partition(":")[0]
    complete = [id_ for id_, _ in got if id_ is not None]
    keep = max(number for number, (id_, _) in enumerate(got) if id_ == complete[-1])
    kept = got[: keep + 1]
    behind = _frames(http.get(f"/agui/{run_id}", headers={"Last-Event-ID": last}))
    # what has no place in the log is said again, for the client's own sake
    again = [_kind(frame) for id_, frame in behind if id_ is None]
    assert again == [] or again[:2] == ["RUN_STARTED", "MESSAGES_SNAPSHOT"]
    stored = [one for one in behind if one[0] is not None]
    # of an event that came in part all frames come again, the same
    again_from = [at for at in range(len(kept) + 1) if kept[at:] == stored[: len(kept) - at]]
    return _kinds(kept[: again_from[0]] + stored)


def _frames(answer: httpx2.Response) -> list[tuple[str | None, Any]]:
    return list(data_of(iter(answer.text.split("\n"))))


def _kind(frame: Any) -> str:
    return frame if isinstance(frame, str) else str(frame["type"])


def _kinds(frames: list[tuple[str | None, Any]]) -> list[str]:
    kinds = [_kind(frame) for _, frame in frames]
    return [one for one in kinds if one not in LIVE]
