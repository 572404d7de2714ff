"""What is remembered of a person, over HTTP: read, corrected in versions, and by whom."""

from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx2
import pytest

from tests.support.crews import write_crew
from tests.support.forked import crew
from tests.support.processes import ServerProcess, client, serving

TOKENS = {name: f"{name}-0123456789abcdef" for name in ("ann", "eve", "reader", "acting", "admin")}
ENTRIES = (
    f"ann+read+run:{TOKENS['ann']}",
    f"eve+read+run:{TOKENS['eve']}",
    f"ann+read:{TOKENS['reader']}",
    f"shop+read+run+act_as:{TOKENS['acting']}",
    f"admin+read+run+admin:{TOKENS['admin']}",
)
FIELDS = {"properties": {"risk": {"enum": ["low", "high"]}, "age": {"type": "integer"}}}
CORE: dict[str, Any] = {
    "profile": {"description": "who this is", "schema": FIELDS},
    "notes": {"description": "what else", "start": "nothing yet", "max_tokens": 20},
    "fixed": {"description": "the operator's", "write": [], "start": "a rule"},
    "topic": {"description": "what it is about", "scope": "conversation"},
    "house": {"description": "of the crew", "scope": "crew", "write": ["people"]},
}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory):
    folder = write_crew(
        tmp_path_factory.mktemp("memory") / "crew",
        {"a": {"is_terminal": True}},
        [{"agent": "a", "seen": "risk: high", "say": "bold"}, {"agent": "a", "say": "who?"}],
        memory={"core": CORE},
        conversations={},
    )
    with serving(folder, CREW_API_TOKENS=",".join(ENTRIES)) as started:
        yield started


def call(
    http: httpx2.Client,
    method: str,
    user: str,
    block: str,
    as_: str,
    value: Any = None,
    match: str | None = None,
    **query: str,
) -> httpx2.Response:
    headers = {"Authorization": f"Bearer {TOKENS[as_]}"}
    if match is not None:
        headers["If-Match"] = match
    path = f"/api/crew/users/{quote(user, safe='')}/core/{block}"
    body = {"value": value} if method == "PUT" else None
    return http.request(method, path, headers=headers, params=query, json=body)


def test_a_block_is_changed_in_versions(server: ServerProcess):
    """Of two that change the same version, one is refused with the present one."""
    with client(server) as http:
        first = call(http, "GET", "ann", "profile", "ann")
        assert first.json() == {
            "block": "profile",
            "value": {},
            "version": 0,
            **dict.fromkeys(("changed_at", "by", "who", "run", "quote")),
        }
        assert first.headers["ETag"] == '"0"'
        made = call(http, "PUT", "ann", "profile", "ann", {"risk": "HIGH"}, '"0"')
        assert made.status_code == 200, made.text
        assert made.json()["value"] == {"risk": "high"}
        assert (made.json()["version"], made.json()["by"], made.json()["who"]) == (
            1,
            "person",
            "ann",
        )
        late = call(http, "PUT", "ann", "profile", "ann", {}, '"0"')
        assert (late.status_code, late.json()["version"]) == (412, 1)
        without = call(http, "PUT", "ann", "profile", "ann", {})
        assert (without.status_code, without.json()["version"]) == (412, 1)
        now = call(http, "GET", "ann", "profile", "reader")
        assert (now.json()["value"], now.headers["ETag"]) == ({"risk": "high"}, '"1"')
        headers = {"Authorization": f"Bearer {TOKENS['ann']}"}
        run = http.post("/api/crew/run", json={"query": "hello"}, headers=headers)
        assert run.json()["answer"] == "bold"
        whatever = call(http, "PUT", "ann", "profile", "ann", {"age": 41}, "*")
        assert whatever.json()["version"] == 2
        page = http.get("/metrics", headers=headers).text
        assert 'crew_memory_changes_total{by="person",op="edited"}' in page


def test_it_is_there_for_its_user_alone(server: ServerProcess):
    with client(server) as http:
        assert call(http, "PUT", "eve", "notes", "eve", "mine", "0").status_code == 200
        for as_, status in (("ann", 403), ("reader", 403), ("acting", 200), ("admin", 200)):
            answer = call(http, "GET", "eve", "notes", as_)
            assert answer.status_code == status
            assert ("mine" in answer.text) == (status == 200)
        assert call(http, "PUT", "ann", "notes", "reader", "x", "*").status_code == 403
        assert call(http, "PUT", "eve", "notes", "ann", "x", "*").status_code == 403


def test_what_is_refused(server: ServerProcess):
    with client(server) as http:
        for block, value, status, said in (
            ("profile", {"risk": "medium"}, 422, "must be one of low, high"),
            ("profile", "a text", 422, "an object with the fields risk, age"),
            ("profile", {"salary": 5}, 422, "there is no field salary; known: risk, age"),
            ("notes", {"a": 1}, 422, "the block is a text"),
            ("notes", 5, 400, "value: is neither a text nor an object"),
            ("notes", "word " * 50, 422, "max_tokens is 20: cut"),
            ("notes", "a\0b", 422, "U+0000"),
            ("fixed", "x", 403, "not changed by people"),
            ("other", "x", 404, "there is no block"),
            ("topic", "x", 404, "it needs conversation_id"),
            ("house", "x", 403, "needs the scope 'admin'"),
        ):
            answer = call(http, "PUT", "ann", block, "ann", value, "*")
            assert (answer.status_code, said in answer.text) == (status, True), answer.text
        assert call(http, "GET", "ann", "fixed", "ann").json()["value"] == "a rule"
        assert call(http, "PUT", "ann", "house", "admin", "open", "*").status_code == 200
        assert call(http, "GET", "eve", "house", "eve").json()["value"] == "open"


def test_any_id_of_a_user(server: ServerProcess):
    """Also one with a slash, a colon, or that imitates another block's path."""
    users = [
        "a/b",
        "a",
        "a:b",
        "conversation:a:b",
        "a/core/notes",
        "a%2Fb",
        "Ä",
        "crew",
        "a b",
    ]
    with client(server) as http:
        for user in users:
            answer = call(http, "PUT", user, "notes", "acting", f"of {user}", "0")
            assert answer.status_code == 200, (user, answer.text)
        for user in users:
            assert call(http, "GET", user, "notes", "acting").json()["value"] == f"of {user}"
        for user in ("x" * 257, "a\n"):
            assert call(http, "GET", user, "notes", "acting").status_code in (400, 404)


def test_a_block_of_a_conversation(server: ServerProcess):
    """The same id of another user's conversation is another one."""
    with client(server) as http:
        none = call(http, "PUT", "ann", "topic", "ann", "bonds", "0", conversation_id="c")
        assert none.status_code == 404
        for user in ("ann", "eve"):
            headers = {"Authorization": f"Bearer {TOKENS[user]}"}
            begun = {"query": "hello", "conversation_id": "c"}
            assert http.post("/api/crew/run", json=begun, headers=headers).status_code == 200
        mine = call(http, "PUT", "ann", "topic", "ann", "bonds", "0", conversation_id="c")
        assert mine.status_code == 200, mine.text
        other = call(http, "GET", "eve", "topic", "eve", conversation_id="c")
        assert (other.json()["value"], other.json()["version"]) == ("", 0)
        assert call(http, "GET", "ann", "topic", "ann", conversation_id="c/../c").status_code == 400


def test_it_outlives_the_server(tmp_path: Path):
    folder = write_crew(
        tmp_path / "crew",
        {"a": {"is_terminal": True}},
        [{"agent": "a", "seen": "likes tea", "say": "tea"}, {"agent": "a", "say": "who?"}],
        memory={"core": {"notes": CORE["notes"]}},
    )
    with serving(folder) as server, client(server) as http:
        path = "/api/crew/users/ann/core/notes"
        made = http.put(path, json={"value": "likes tea"}, headers={"If-Match": "0"})
        assert made.status_code == 200, made.text
        server.process.kill()
    shown = crew("memory", folder, "--user", "ann").stdout
    assert "notes: what else (version 1, by person" in shown
    assert "  likes tea" in shown
    assert crew("memory", folder, "--user", "eve").stdout.splitlines() == [
        "notes: what else (version 0)",
        "  nothing yet",
    ]
    with serving(folder) as server, client(server) as http:
        answer = http.post("/api/crew/run", json={"query": "hello", "user_id": "ann"})
        assert answer.json()["answer"] == "tea"
