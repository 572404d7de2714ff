"""Images that go with words: kept, sent, shown by id, and by whom; over HTTP."""

import base64
import json
from pathlib import Path
from typing import Any

import httpx2
import pytest

from tests.end_to_end.test_core_memory import ENTRIES, TOKENS
from tests.support.crews import write_crew
from tests.support.images import data_url, png
from tests.support.model_server import completion, model_server
from tests.support.model_server import http as answered
from tests.support.processes import ServerProcess, serving, sse, start_server

ANSWERS = f"ann+read+run+answer:{TOKENS['ann']}"
IMAGE = png()
WEBP = b"RIFF\x1a\0\0\0WEBPVP8 " + bytes(20)
JPEG = b"\xff\xd8\xff\xe0" + bytes(30)


def written(folder: Path, url: str = "http://127.0.0.1:9/v1", *, waits: bool = False) -> Path:
    keys = {"provider": "gw", "model": "m", "is_terminal": not waits}
    asks: dict[str, Any] = {
        "routing": {
            "signals": {"a": [{"signal": "[END]", "target": ""}]},
            "agent_behaviors": {"a": {"wait_for_signal": True}},
        }
    }
    documents = {"papers": {"description": "papers", "scope": "user", "summaries": "none"}}
    return write_crew(
        folder,
        {"a": {**keys, "documents": ["papers"]}},
        providers={"gw": {"base_url": url}},
        conversations={},
        documents=documents,
        **(asks if waits else {}),
    )


def at(server: ServerProcess, as_: str = "ann") -> httpx2.AsyncClient:
    headers = {"Authorization": f"Bearer {TOKENS[as_]}"}
    return httpx2.AsyncClient(
        base_url=f"{server.url}/api/crew", headers=headers, timeout=60, trust_env=False
    )


def asking(query: str = "What is it?", *images: bytes, **more: Any) -> dict[str, Any]:
    given = [{"image": data_url(one)} for one in images]
    return {"query": query, "conversation_id": "c1", "attachments": given, **more}


def sent(request: dict[str, Any]) -> list[str]:
    """The images of a request, in base64."""
    contents = [one["content"] for one in request["messages"] if isinstance(one["content"], list)]
    urls = [part["image_url"]["url"] for one in contents for part in one if "image_url" in part]
    return [url.partition(",")[2] for url in urls]


def words(request: dict[str, Any]) -> str:
    parts = [one["content"] for one in request["messages"]]
    return "\n".join(one if isinstance(one, str) else one[0]["text"] for one in parts)


async def test_an_image_from_a_request_to_the_model(tmp_path: Path):
    async with model_server(lambda _: answered(200, completion("a red square"))) as model:
        folder = written(tmp_path, model.url)
        with serving(folder, CREW_API_TOKENS=",".join(ENTRIES)) as server:
            async with at(server) as http, at(server, "eve") as other:
                stream = await http.post("/stream", json=asking("", IMAGE))
                assert sent(model.asked[-1]) == [base64.b64encode(IMAGE).decode()]
                events = sse(stream.text)
                (attached,) = events[0]["metadata"]["attachments"]
                assert attached["media_type"] == "image/png"
                assert base64.b64encode(IMAGE)[:40].decode() not in stream.text
                # with the next words it is not sent again, unless it is attached by its id
                await http.post("/run", json=asking("And now?"))
                assert sent(model.asked[-1]) == []
                assert f"image {attached['name']}, which is not shown here]" in words(
                    model.asked[-1]
                )
                by_id = [{"document_id": attached["document_id"]}]
                again = {**asking("Once more"), "attachments": by_id}
                assert (await http.post("/run", json=again)).status_code == 200
                assert sent(model.asked[-1]) == [base64.b64encode(IMAGE).decode()]
                # it is a document of the conversation
                place = {"conversation_id": "c1"}
                (listed,) = (await http.get("/documents/images", params=place)).json()["documents"]
                assert (listed["document_id"], listed["kind"], listed["status"]) == (
                    attached["document_id"],
                    "png",
                    "ready",
                )
                path = f"/documents/images/{attached['name']}"
                content = await http.get(f"{path}/content", params=place)
                assert (content.content, content.headers["content-type"]) == (IMAGE, "image/png")
                assert content.headers["x-content-type-options"] == "nosniff"
                exchanges = (await http.get("/conversations/c1")).json()["exchanges"]
                assert [one.get("attachments") for one in exchanges] == [
                    [attached],
                    None,
                    [attached],
                ]
                # of another user it is not there
                assert (await other.get(f"{path}/content", params=place)).status_code == 404
                refused = await other.post("/run", json=again)
                assert refused.status_code == 400
                assert "there is no document" in refused.json()["detail"]
                assert (await http.put(path, params=place, content=IMAGE)).status_code == 409
                assert (await http.delete(path, params=place)).status_code == 204
                assert (await http.get(f"{path}/content", params=place)).status_code == 404
                assert (await http.post("/run", json=again)).status_code == 400


async def test_an_answer_with_an_image_in_another_process(tmp_path: Path):
    """A run pauses, its process is killed, and the answer has an image."""
    script = [
        answered(200, completion("Please send a photo.")),
        answered(200, completion("thanks [END]")),
    ]
    async with model_server(script) as model:
        folder = written(tmp_path, model.url, waits=True)
        with serving(folder, CREW_API_TOKENS=ANSWERS) as server:
            async with at(server) as http:
                paused = (await http.post("/run", json=asking("Hi", JPEG))).json()
                assert paused["status"] == "paused"
            server.kill()
        later = start_server(folder, CREW_API_TOKENS=ANSWERS)
        try:
            async with at(later) as http:
                answer = {"attachments": [{"image": data_url(WEBP, "image/webp")}]}
                resumed = {"query": "", "run_id": paused["run_id"], **answer}
                done = (await http.post("/run", json=resumed)).json()
                found = (await http.get("/conversations/c1")).json()["exchanges"][0]
        finally:
            later.kill()
    assert done["status"] == "completed", done
    # of one run, all are sent
    expected = [base64.b64encode(one).decode() for one in (JPEG, WEBP)]
    assert sent(model.asked[-1]) == expected
    kinds = [one["media_type"] for one in found["attachments"]]
    assert kinds == ["image/jpeg"]
    assert [
        one["attachments"][0]["media_type"] for one in found["parts"] if "attachments" in one
    ] == ["image/webp"]


@pytest.fixture(scope="module")
def refusing(tmp_path_factory: pytest.TempPathFactory):
    folder = written(tmp_path_factory.mktemp("refusing"))
    with serving(folder, CREW_API_TOKENS=",".join(ENTRIES)) as server:
        yield server


@pytest.mark.parametrize(
    ("body", "status", "said"),
    [
        (asking("x", *[IMAGE] * 5), 400, "attachments"),
        ({**asking("x"), "attachments": [{}]}, 400, "one of them"),
        (
            {**asking("x"), "attachments": [{"image": data_url(IMAGE), "document_id": "d"}]},
            400,
            "one of them",
        ),
        ({**asking("x"), "attachments": [{"image": "http://x/y.png"}]}, 400, "data URL"),
        ({**asking("x"), "attachments": [{"image": "data:image/png;base64,%%%"}]}, 400, "base64"),
        (asking("x", b"GIF89a" + bytes(50)), 400, "PNG, JPEG or WebP"),
        (asking("x", b"<svg xmlns='http://www.w3.org/2000/svg'/>"), 400, "PNG, JPEG or WebP"),
        (asking("x", IMAGE + bytes(5_000_000)), 400, "5 MB"),
        ({**asking("x", IMAGE), "conversation_id": None}, 400, "conversation_id"),
        ({**asking("x"), "attachments": [{"document_id": "d0"}]}, 400, "there is no document"),
        (asking(""), 400, "query"),
        (asking("x", IMAGE, run_id="r1"), 400, "conversation_id"),
    ],
)
async def test_what_is_refused(
    refusing: ServerProcess, body: dict[str, Any], status: int, said: str
):
    async with at(refusing) as http:
        answer = await http.post("/runs" if "run_id" not in body else "/run", json=body)
    assert answer.status_code == status, answer.text
    assert said in json.dumps(answer.json())


async def test_exactly_five_megabytes(refusing: ServerProcess):
    async with at(refusing) as http:
        body = asking("x", IMAGE + bytes(5_000_000 - len(IMAGE)), conversation_id="large")
        assert (await http.post("/runs", json=body)).status_code == 202


async def test_a_crew_without_conversations(tmp_path: Path):
    folder = write_crew(tmp_path, {"a": {}})
    with serving(folder) as server:
        async with httpx2.AsyncClient(base_url=server.url, trust_env=False) as http:
            body = {**asking("x", IMAGE), "conversation_id": None}
            answer = await http.post("/api/crew/runs", json=body)
    assert (answer.status_code, "no conversations" in answer.text) == (400, True)


async def test_the_same_request_again(refusing: ServerProcess):
    """Under one key it starts one run; with another image it is another request."""
    headers = {"Idempotency-Key": "k-1"}
    async with at(refusing) as http:
        first = await http.post(
            "/runs", json=asking("x", IMAGE, conversation_id="k"), headers=headers
        )
        again = await http.post(
            "/runs", json=asking("x", IMAGE, conversation_id="k"), headers=headers
        )
        other = await http.post(
            "/runs", json=asking("x", JPEG, conversation_id="k"), headers=headers
        )
        place = {"conversation_id": "k"}
        (kept,) = (await http.get("/documents/images", params=place)).json()["documents"]
        await http.delete(f"/documents/images/{kept['name']}", params=place)
        later = await http.post(
            "/runs", json=asking("x", IMAGE, conversation_id="k"), headers=headers
        )
        left = (await http.get("/documents/images", params=place)).json()["documents"]
    assert first.json()["run_id"] == again.json()["run_id"] == later.json()["run_id"]
    assert left == [], "what was deleted does not come back"
    assert other.status_code == 422
