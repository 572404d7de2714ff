"""What is remembered of a person, over HTTP: listed, searched, added to and forgotten."""

from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx2
import pytest

from tests.end_to_end.test_core_memory import ENTRIES, TOKENS
from tests.support.crews import write_crew
from tests.support.forked import crew
from tests.support.processes import ServerProcess, client, serving, until

LESSON = (
    '{"remember": [{"text": "owns FPT", "quote": "I own FPT", "exchange": 1}], "outcome": "bought"}'
)
RULES: list[dict[str, Any]] = [
    {"helper": "learn", "say": LESSON},
    {"agent": "a", "after": "Recall", "say": "{{result.Recall}}"},
    {
        "agent": "a",
        "hears": "what do you know",
        "calls": [{"tool": "Recall", "arguments": {"query": "owns likes lives"}}],
    },
    {"agent": "a", "seen": "likes green tea", "say": "you like green tea"},
    {"agent": "a", "say": "who?"},
]


# items of a user
MOST = 20


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_crew(
        tmp_path_factory.mktemp("recall") / "crew",
        {"a": {"is_terminal": True, "tools": ["Recall"]}},
        RULES,
        memory={"recall": {"max_items": MOST, "learn": {"idle_seconds": 0}}},
        conversations={},
    )


@pytest.fixture(scope="module")
def server(folder: Path):
    with serving(folder, CREW_API_TOKENS=",".join(ENTRIES)) as started:
        yield started


def call(
    http: httpx2.Client,
    method: str,
    user: str,
    as_: str,
    item: str = "",
    body: Any = None,
    **query: Any,
) -> httpx2.Response:
    headers = {"Authorization": f"Bearer {TOKENS[as_]}"}
    path = f"/api/crew/users/{quote(user, safe='')}/recall{item}"
    return http.request(method, path, headers=headers, params=query, json=body)


def ask(http: httpx2.Client, query: str, **body: Any) -> str:
    headers = {"Authorization": f"Bearer {TOKENS['acting']}"}
    found = http.post("/api/crew/run", json={"query": query, **body}, headers=headers)
    return str(found.json()["answer"])


def test_a_person_sees_and_changes_what_is_remembered(server: ServerProcess):
    with client(server) as http:
        assert call(http, "GET", "ann", "ann").json() == {"items": [], "next": None}
        body = {"text": " likes  green tea ", "topics": ["Tea"], "importance": 0.9, "key": "drink"}
        made = call(http, "POST", "ann", "ann", body=body)
        assert made.status_code == 201, made.text
        item = made.json()["item"]
        assert made.json()["op"] == "added"
        assert {**item, **dict.fromkeys(("id", "created_at", "seen_at"))} == {
            "id": None,
            "text": "likes green tea",
            "key": "drink",
            "topics": ["Tea"],
            "importance": 0.9,
            "outcome": None,
            "quote": None,
            "source": {"conversation": None, "exchange": None, "run": None},
            "created_at": None,
            "seen": 1,
            "seen_at": None,
            "recalled_at": None,
            "replaced_by": None,
            "by": "person",
            "who": "ann",
        }
        assert ask(http, "some tea, please", user_id="ann") == "you like green tea"
        assert ask(http, "some tea, please", user_id="eve") == "who?"
        again = call(http, "POST", "ann", "ann", body={"text": "LIKES green tea"})
        assert (again.json()["op"], again.json()["item"]["seen"]) == ("again", 2)
        other = call(http, "POST", "ann", "ann", body={"text": "likes milk", "key": "Drink"})
        assert other.json()["op"] == "replaced"
        new = other.json()["item"]["id"]
        listed = call(http, "GET", "ann", "reader").json()
        assert [one["id"] for one in listed["items"]] == [new]
        every = call(http, "GET", "ann", "ann", replaced="1").json()["items"]
        assert [(one["id"], one["replaced_by"]) for one in every] == [
            (new, None),
            (item["id"], new),
        ]
        for n in range(3):
            assert call(http, "POST", "ann", "ann", body={"text": f"text {n}"}).status_code == 201
        page = call(http, "GET", "ann", "ann", limit=2).json()
        rest = call(http, "GET", "ann", "ann", limit=2, after=page["next"]).json()
        texts = [one["text"] for one in (*page["items"], *rest["items"])]
        assert texts == ["text 2", "text 1", "text 0", "likes milk"]
        assert rest["next"] is None
        found = call(http, "GET", "ann", "ann", q="MILK or text").json()["items"]
        assert found[0]["text"] == "likes milk"
        refused = call(http, "GET", "ann", "ann", q="milk", after=new)
        assert (refused.status_code, "leave it out, or q" in refused.text) == (400, True)
        for words, ids in (
            ("milk", [new]),
            ("teas", [item["id"]]),
            ("tea or milk", [new, item["id"]]),
        ):
            both = call(http, "GET", "ann", "ann", q=words, replaced="1").json()["items"]
            assert [one["id"] for one in both] == ids, words
        assert call(http, "POST", "ann", "ann", body={"text": "?!"}).status_code == 400
        assert call(http, "DELETE", "ann", "ann", f"/{new}").status_code == 204
        assert call(http, "DELETE", "ann", "ann", f"/{new}").status_code == 404
        assert call(http, "GET", "ann", "ann", q="milk").json()["items"] == []
        headers = {"Authorization": f"Bearer {TOKENS['ann']}"}
        metrics = http.get("/metrics", headers=headers).text
        for line in (
            'crew_memory_changes_total{by="person",op="added"} 4.0',
            'crew_memory_changes_total{by="person",op="forgot"} 1.0',
            'crew_memory_refused_total{reason="value"} 1.0',
            "crew_recall_duration_seconds_count",
        ):
            assert line in metrics


def test_what_counts_less_than_all_others_is_refused(server: ServerProcess):
    """It is not said that it is remembered."""
    with client(server) as http:
        for n in range(MOST):
            body = {"text": f"dear {n}", "importance": 1.0}
            assert call(http, "POST", "full", "acting", body=body).status_code == 201
        full = call(http, "POST", "full", "acting", body={"text": "not dear", "importance": 0.1})
        assert (full.status_code, "max_items" in full.json()["detail"]) == (409, True)


def test_it_is_there_for_its_user_alone(server: ServerProcess):
    with client(server) as http:
        made = call(http, "POST", "eve", "eve", body={"text": "hides the canary"}).json()["item"]
        for as_, status in (("ann", 403), ("reader", 403), ("acting", 200), ("admin", 200)):
            for query in ({}, {"q": "canary"}, {"replaced": "1"}):
                answer = call(http, "GET", "eve", as_, **query)
                assert answer.status_code == status
                assert ("canary" in answer.text) == (status == 200)
        gone = call(http, "DELETE", "ann", "ann", f"/{made['id']}")
        unknown = call(http, "DELETE", "ann", "ann", "/m123")
        assert gone.status_code == unknown.status_code == 404
        assert gone.text.replace(made["id"], "X") == unknown.text.replace("m123", "X")
        assert call(http, "POST", "ann", "reader", body={"text": "x y"}).status_code == 403
        assert call(http, "POST", "eve", "ann", body={"text": "x y"}).status_code == 403
        assert "canary" not in ask(http, "what do you know of the canary?", user_id="ann")
        assert "canary" not in call(http, "GET", "ann", "ann", q="canary", after="m0").text


def test_strange_users_do_not_meet(server: ServerProcess):
    users = [
        "a:b",
        "a/b",
        "a%2Fb",
        "a%252Fb",
        "a/recall/b",
        "a/core/b",
        "a/export",
        "conversation:ann:c",
        "ÅNN",
        "Å",
        "A\u030a",
        "x" * 256,
    ]
    with client(server) as http:
        for number, user in enumerate(users):
            body = {"text": f"canary {number}"}
            assert call(http, "POST", user, "acting", body=body).status_code == 201, user
        for number, user in enumerate(users):
            (item,) = call(http, "GET", user, "acting").json()["items"]
            assert item["text"] == f"canary {number}"
        # an address that lacks its end is no user's
        headers = {"Authorization": f"Bearer {TOKENS['acting']}"}
        for end in ("export", "recall", "core/notes"):
            gone = http.delete(f"/api/crew/users/a/{end}", headers=headers)
            assert gone.status_code == 405, end
        assert http.delete("/api/crew/users/a/other", headers=headers).status_code == 404
        for wrong in ("a\0b", "x" * 257):
            assert call(http, "GET", wrong, "acting").status_code == 400


def test_what_is_refused(server: ServerProcess):
    with client(server) as http:
        for body, said in (
            ({"text": "?!"}, "text has no words"),
            ({"text": "x" * 501}, "500"),
            ({"text": ""}, "text"),
            ({"text": "x y", "importance": 2}, "importance"),
            ({"text": "x y", "importance": "high"}, "importance"),
            ({"text": "x y", "topics": ["t" * 61]}, "topics"),
            ({"text": "x y", "key": "k" * 101}, "key"),
            ({"text": "x y", "other": 1}, "other"),
            ({}, "text"),
        ):
            answer = call(http, "POST", "ann", "ann", body=body)
            assert answer.status_code == 400, (body, answer.text)
            assert said in answer.text


HARD_QUERIES = [
    "a",
    "?!",
    "'; DROP TABLE recall; --",
    '"tea" NEAR/3 *',
    "富士山に登った",
    "Tôi ăn 寿司 và ok",
    "\u0301\u0301",
    "x" * 200,
]


def test_any_query_is_searched(server: ServerProcess):
    with client(server) as http:
        for query in HARD_QUERIES:
            assert call(http, "GET", "ann", "ann", q=query).status_code == 200, query


def test_what_is_said_is_learned_and_shown_by_the_command(server: ServerProcess, folder: Path):
    """Of the crew's folder alone, while its server is at work."""
    with client(server) as http:
        ask(http, "I own FPT", user_id="zoe", conversation_id="c1")
        until(lambda: bool(call(http, "GET", "zoe", "acting").json()["items"]))
        (item,) = call(http, "GET", "zoe", "acting").json()["items"]
        assert (item["text"], item["quote"], item["by"]) == ("owns FPT", "I own FPT", "learn")
        assert item["source"]["conversation"] == "c1"
        assert item["outcome"] == "bought"
        answer = ask(http, "what do you know?", user_id="zoe", conversation_id="c2")
        assert answer == f'{item["id"]} {item["seen_at"][:10]}: owns FPT (said: "I own FPT")'
    shown = crew("memory", folder, "--user", "zoe").stdout
    assert "owns FPT" in shown
    assert 'said: "I own FPT"' in shown
    assert '"text":"owns FPT"' in crew("memory", folder, "--user", "zoe", "--json").stdout


def test_a_crew_without_it_says_so(tmp_path: Path):
    folder = write_crew(tmp_path, {"a": {"is_terminal": True}}, [{"say": "x"}])
    with serving(folder, CREW_API_TOKENS=",".join(ENTRIES)) as started, client(started) as http:
        answer = call(http, "GET", "ann", "ann")
        assert answer.status_code == 404
        assert "memory.recall" in answer.text
