"""Documents over HTTP: uploaded, read, searched, replaced, deleted; by whom; and what a kill leaves."""

import hashlib
import json
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx2
import pytest

from tests.end_to_end.test_core_memory import ENTRIES, TOKENS
from tests.support.crews import write_crew
from tests.support.documents import POLICY, RULES, UPLOADS, call
from tests.support.postgres import Postgres, needs_postgres
from tests.support.processes import client, serving, start_server, until

SCRIPT: list[dict[str, Any]] = [
    {"helper": "describe", "say": '{"summary": "Rules."}', "delay_seconds": 0.5},
    {"agent": "a", "after": "SearchDocuments", "say": "As [1] says: {{result.SearchDocuments}}"},
    {"agent": "a", "hears": "rule", "calls": call("SearchDocuments", query="stop loss")},
    {"agent": "a", "say": "well"},
]
DOCUMENTS: dict[str, Any] = {
    "policy": POLICY,
    "uploads": {**UPLOADS, "max_file_mb": 0.1, "max_files": 3},
    "sent": {"description": "of a conversation"},
    "house": {"description": "of the crew", "scope": "crew"},
}


def written(folder: Path) -> Path:
    (folder / "docs").mkdir(parents=True)
    (folder / "docs" / "rules.md").write_text(RULES)
    agents = {"a": {"is_terminal": True, "documents": list(DOCUMENTS)}}
    return write_crew(folder, agents, SCRIPT, documents=DOCUMENTS, conversations={})


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return written(tmp_path_factory.mktemp("documents") / "crew")


@pytest.fixture(scope="module")
def http(folder: Path):
    with serving(folder, CREW_API_TOKENS=",".join(ENTRIES)) as server, client(server) as opened:
        yield opened


def send(
    http: httpx2.Client,
    method: str,
    path: str,
    as_: str = "ann",
    content: bytes | None = None,
    **params: Any,
) -> httpx2.Response:
    headers = {"Authorization": f"Bearer {TOKENS[as_]}"}
    address = f"/api/crew/documents/{path}"
    return http.request(method, address, params=params, headers=headers, content=content)


def wait_until_read(
    http: httpx2.Client, path: str, as_: str = "ann", **params: Any
) -> dict[str, Any]:
    def is_over() -> bool:
        return send(http, "GET", path, as_, **params).json()["status"] in ("ready", "failed")

    until(is_over)
    return dict(send(http, "GET", path, as_, **params).json())


def test_a_document_from_its_bytes_to_a_citation(http: httpx2.Client):
    content = b"# Mine\n\nMy own stop loss is 5 %."
    sent = send(http, "PUT", "uploads/my rules.md", content=content)
    assert sent.status_code == 202
    known = sent.json()
    assert known["status"] == "received"
    assert known["sha256"] == hashlib.sha256(content).hexdigest()
    found = wait_until_read(http, "uploads/my rules.md")
    assert (found["status"], found["summary"], found["chunks"]) == ("ready", "Rules.", 1)
    assert found["document_id"] == known["document_id"]
    again = send(http, "PUT", "uploads/my rules.md", content=content)
    assert (again.status_code, again.json()["document_id"]) == (200, known["document_id"])
    part: dict[str, Any] = {"from": 8, "chars": 6}
    text = send(http, "GET", "uploads/my rules.md/text", **part).json()
    assert text == {
        "document_id": known["document_id"],
        "from": 8,
        "to": 14,
        "chars": 32,
        "text": "My own",
    }
    listed = send(http, "GET", "uploads").json()
    assert [one["name"] for one in listed["documents"]] == ["my rules.md"]
    assert listed["next"] is None
    searched = send(http, "GET", "uploads", q="own stop").json()
    assert [one["place"] for one in searched["passages"]] == ["Mine"]
    assert [one["name"] for one in searched["documents"]] == ["my rules.md"]
    body = {"query": "what is the rule"}
    headers = {"Authorization": f"Bearer {TOKENS['ann']}"}
    with http.stream("POST", "/api/crew/stream", json=body, headers=headers) as stream:
        events = [json.loads(line[6:]) for line in stream.iter_lines() if line.startswith("data: ")]
    sources = events[-1]["metadata"]["sources"]
    assert {one["name"] for one in sources} == {"my rules.md", "docs/rules.md"}
    assert [one["n"] for one in sources if one["cited"]] == [1, 2], (
        "the answer repeats both passages"
    )
    assert any(one["type"] == "tainted" for one in events)
    assert send(http, "DELETE", "uploads/my rules.md").status_code == 204
    assert send(http, "GET", "uploads/my rules.md").status_code == 404
    assert send(http, "DELETE", "uploads/my rules.md").status_code == 404


@pytest.mark.parametrize(
    ("path", "content", "status", "said"),
    [
        ("uploads/a.txt", b"x" * 100_001, 413, "max_file_mb"),
        ("uploads/a.txt", b"", 415, "empty"),
        ("uploads/a.pdf", b"%PDF-1.7", 415, "takes csv, eml, html, json, md, txt"),
        ("uploads/a.png", b"\x89PNG\r\n\x1a\n\0", 415, "no text"),
        (f"uploads/{quote('../a.txt', safe='')}", b"x", 422, "leads elsewhere"),
        (f"uploads/{quote('a' + chr(0x202E) + 'b.txt')}", b"x", 422, "U+202E"),
        ("uploads/a%00b.txt", b"x", 404, "no such document"),
        (f"uploads/{'n' * 300}", b"x", 422, "300 characters"),
        ("nowhere/a.txt", b"x", 404, "no collection"),
        ("policy/a.txt", b"x", 409, "takes no uploads"),
        ("sent/a.txt", b"x", 404, "needs conversation_id"),
        ("house/a.txt", b"x", 403, "scope 'admin'"),
    ],
)
def test_what_is_refused_says_why(
    path: str, content: bytes, status: int, said: str, http: httpx2.Client
):
    answer = send(http, "PUT", path, content=content)
    assert (answer.status_code, said in answer.text) == (status, True), answer.text


def test_owners_do_not_meet(http: httpx2.Client):
    """By name, list, search, text, and by naming another user."""
    assert send(http, "PUT", "uploads/secret.txt", content=b"canary of ann").status_code == 202
    wait_until_read(http, "uploads/secret.txt")
    places: tuple[tuple[str, dict[str, Any]], ...] = (
        ("uploads/secret.txt", {}),
        ("uploads/secret.txt/text", {}),
        ("uploads/secret.txt", {"user_id": "ann"}),
    )
    for path, params in places:
        answer = send(http, "GET", path, "eve", **params)
        assert answer.status_code in (403, 404)
        assert "canary" not in answer.text
    assert send(http, "GET", "uploads", "eve", q="canary").json()["documents"] == []
    assert send(http, "DELETE", "uploads/secret.txt", "eve").status_code == 404
    assert send(http, "PUT", "uploads/x.txt", "reader", content=b"x").status_code == 403
    acting = send(http, "GET", "uploads/secret.txt", "acting", user_id="ann")
    assert acting.json()["name"] == "secret.txt"
    # the same bytes of another one are another document
    mine = send(http, "PUT", "uploads/secret.txt", "eve", content=b"canary of ann").json()
    assert mine["document_id"] != acting.json()["document_id"]
    assert send(http, "PUT", "house/a.txt", "admin", content=b"of the house").status_code == 202
    assert wait_until_read(http, "house/a.txt", "eve")["status"] == "ready"
    policy = send(http, "GET", f"policy/{quote('docs/rules.md', safe='')}", "eve").json()
    assert (policy["status"], policy["who"]) == ("ready", None)


def test_the_crew_names_its_collections(http: httpx2.Client):
    headers = {"Authorization": f"Bearer {TOKENS['ann']}"}
    found = {one["name"]: one for one in http.get("/api/crew", headers=headers).json()["documents"]}
    assert (found["policy"]["uploads"], found["uploads"]["uploads"]) == (False, True)
    assert (found["sent"]["scope"], found["house"]["untrusted"]) == ("conversation", True)
    metrics = http.get("/metrics", headers=headers).text
    assert 'crew_documents_total{collection="policy",outcome="read"} 1.0' in metrics
    assert 'crew_searches_total{collection="uploads"}' in metrics


def test_a_kill_in_each_step_loses_nothing(tmp_path: Path):
    """The next process reads, describes and drops what the one before has left."""
    folder = written(tmp_path / "crew")
    statuses: set[str] = set()
    tokens = ",".join(ENTRIES)
    names = ["uploads/a.txt", "uploads/b.txt"]
    server = start_server(folder, CREW_API_TOKENS=tokens)
    with client(server) as http:
        for name in names:
            assert (
                send(http, "PUT", name, content=f"words of {name}".encode() * 500).status_code
                == 202
            )
    server.kill()
    for wanted in ("reading", "summarizing"):
        server = start_server(folder, CREW_API_TOKENS=tokens)
        with client(server) as http:

            def is_there(http: httpx2.Client = http, wanted: str = wanted) -> bool:
                found = {send(http, "GET", name).json()["status"] for name in names}
                statuses.update(found)
                return wanted in found or found == {"ready"}

            until(is_there)
        server.kill()
    with serving(folder, CREW_API_TOKENS=tokens) as server, client(server) as http:
        for name in names:
            found = wait_until_read(http, name)
            assert (found["status"], found["chunks"] > 1) == ("ready", True)
        assert send(http, "DELETE", names[0]).status_code == 204
        server.kill()
    with serving(folder, CREW_API_TOKENS=tokens) as server, client(server) as http:
        listed = send(http, "GET", "uploads", q="words").json()
        assert [one["name"] for one in listed["documents"]] == ["b.txt"]
    assert "summarizing" in statuses


@needs_postgres
def test_a_worker_reads_what_a_server_takes(tmp_path: Path, postgres: Postgres):
    """And erases it, with all that is kept of its user."""
    folder = written(tmp_path / "crew")
    url = postgres.database()
    place = {"CREW_DATABASE_URL": url, "CREW_API_TOKENS": ",".join(ENTRIES)}
    with (
        serving(folder, **place) as server,
        serving(folder, command="worker", **place),
        client(server) as http,
    ):
        assert send(http, "PUT", "uploads/a.txt", content=b"stop loss of ann").status_code == 202
        assert wait_until_read(http, "uploads/a.txt")["status"] == "ready"
        body = {"query": "what is the rule"}
        headers = {"Authorization": f"Bearer {TOKENS['ann']}"}
        answer = http.post("/api/crew/run", json=body, headers=headers).json()["answer"]
        assert "stop loss of ann" in answer
        assert http.delete("/api/crew/users/ann", headers=headers).status_code == 202

        def is_gone() -> bool:
            return not send(http, "GET", "uploads").json()["documents"]

        until(is_gone)
        until(lambda: not http.get("/api/crew/runs", headers=headers).json()["runs"])
