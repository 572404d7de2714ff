"""Tickets that a page shows as a token: for a person or a conversation, until their end; by attack."""

from pathlib import Path
from typing import Any

import httpx2
import pytest

from tests.end_to_end.test_who_may import ACTS, ROUTING, RULES, TOKENS
from tests.support.crews import write_crew
from tests.support.processes import ServerProcess, client, serving, sse, until

ENTRIES = (
    f"shop+read+run+answer+act_as:{TOKENS['shop']}",
    f"reader+read:{TOKENS['reader']}",
    f"other:{TOKENS['other']}",
)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory):
    folder = write_crew(
        tmp_path_factory.mktemp("pages"),
        {"a": {"tools": ["pay"]}},
        RULES,
        {"pay": {"kind": "python", "function": "acts.py:pay", "requires_approval": True}},
        routing=ROUTING,
        conversations={},
    )
    (folder / "acts.py").write_text(ACTS)
    with serving(folder, CREW_API_TOKENS=",".join(ENTRIES)) as started:
        yield started


def made(http: httpx2.Client, token: str = "shop", **body: Any) -> httpx2.Response:
    shown = {"Authorization": f"Bearer {TOKENS[token]}"}
    return http.post("/api/crew/tickets", json=body, headers=shown)


def page(http: httpx2.Client, **body: Any) -> dict[str, str]:
    """The headers of a page with a ticket."""
    answer = made(http, **body)
    assert answer.status_code == 201, answer.text
    return {"Authorization": f"Bearer {answer.json()['ticket']}"}


def run(http: httpx2.Client, shown: dict[str, str], **body: Any) -> httpx2.Response:
    return http.post("/api/crew/run", json={"query": "hi", **body}, headers=shown)


def test_one_conversation(server: ServerProcess):
    """It starts and follows runs in it, as often as it likes; nothing of another one is there."""
    with client(server) as http:
        ann = page(http, conversation_id="c1", user_id="ann")
        bob = page(http, conversation_id="c1", user_id="bob")
        other = page(http, conversation_id="c2", user_id="ann")
        first, second = run(http, ann).json(), run(http, ann, conversation_id="c1").json()
        assert first["run_id"] != second["run_id"]
        refused = run(http, ann, conversation_id="c2")
        assert (refused.status_code, "another conversation" in refused.text) == (403, True)
        assert run(http, ann, user_id="bob").status_code == 403
        known = http.get("/api/crew/conversations/c1", headers=ann).json()
        assert [one["run_id"] for one in known["exchanges"]] == [first["run_id"], second["run_id"]]
        addresses = (f"/api/crew/runs/{first['run_id']}", "/api/crew/conversations/c1")
        for address in (*addresses, f"{addresses[0]}/events"):
            assert http.get(address, headers=ann).status_code == 200
            assert http.get(address, headers=other).status_code == 404, address
        for address in (addresses[0], f"{addresses[0]}/events", addresses[1]):
            missing = http.get(address, headers=bob)
            assert missing.status_code == 404, address
        # an EventSource shows it in its address
        shown = {"ticket": ann["Authorization"].removeprefix("Bearer ")}
        events = sse(http.get("/api/crew/stream", params={"q": "by url", **shown}).text)
        assert events[-1]["type"] == "done"
        assert len(http.get(addresses[1], headers=ann).json()["exchanges"]) == 3
        # it decides nothing there
        decided = http.post(f"{addresses[0]}/resume", params=shown, json={"decision": "approve"})
        assert (decided.status_code, "Authorization" in decided.text) == (403, True)
        read = http.get(addresses[0], params=shown)
        assert (read.status_code, "Authorization" in read.text) == (403, True)
        assert http.get(addresses[0], params=shown, headers=ann).status_code == 200
        wrong = http.post(f"{addresses[0]}/resume", params={"ticket": "x.y"}, json={})
        assert wrong.status_code == 401


def test_nothing_else_is_open(server: ServerProcess):
    """Neither lists, memory, costs nor other tickets; nor what its scopes do not say."""
    with client(server) as http:
        ann = page(http, user_id="ann", scopes=["read", "run", "answer"])
        for address in ("", "/runs", "/inbox", "/costs", "/conversations", "/users/ann/export"):
            assert http.get(f"/api/crew{address}", headers=ann).status_code == 403, address
        assert http.get("/metrics", headers=ann).status_code == 403
        assert http.post("/api/crew/tickets", json={}, headers=ann).status_code == 403
        assert http.post("/api/crew/reload", headers=ann).status_code == 403
        run_id = run(http, ann).json()["run_id"]
        assert http.delete(f"/api/crew/runs/{run_id}", headers=ann).status_code == 403
        reads = page(http, user_id="ann", scopes=["read"])
        assert run(http, reads).status_code == 403
        assert http.get(f"/api/crew/runs/{run_id}", headers=reads).status_code == 200
        asked = run(http, ann, query="ask").json()["run_id"]
        plain = page(http, user_id="ann")
        answer = {"query": "well [END]"}
        assert (
            http.post(f"/api/crew/runs/{asked}/resume", json=answer, headers=plain).status_code
            == 403
        )
        assert http.post(f"/api/crew/runs/{asked}/resume", json=answer, headers=ann).is_success


def test_who_makes_them(server: ServerProcess):
    """What a token may not do no ticket of it may; what cannot be is named."""
    with client(server) as http:
        assert made(http, "reader", scopes=["read", "run"]).status_code == 403
        assert made(http, "reader", scopes=["read"]).status_code == 201
        assert made(http, "other", user_id="ann").status_code == 403
        wrongs: tuple[dict[str, Any], ...] = (
            {"seconds": 0},
            {"seconds": 86401},
            {"scopes": []},
            {"scopes": ["admin"]},
            {"run_id": "r1", "seconds": 5},
            {"user_id": ""},
            {"conversation_id": "a/b"},
        )
        for wrong in wrongs:
            assert made(http, **wrong).status_code == 400, wrong
        assert made(http, seconds=86400).json()["expires_in_seconds"] == 86400
        # one for a single run is no token
        ticket = made(http).json()["ticket"]
        assert run(http, {"Authorization": f"Bearer {ticket}"}).status_code == 401


def test_a_decision_is_never_in_an_address(server: ServerProcess):
    """With the scope `answer`, by a POST that shows the ticket as a token; words by URL, too."""
    with client(server) as http:
        ann = page(http, user_id="ann", scopes=["read", "run", "answer"])
        in_url = {"ticket": ann["Authorization"].removeprefix("Bearer ")}
        pays = run(http, ann, query="pay").json()["run_id"]
        decision = {"run_id": pays, "decision": "approve"}
        for parameters in (in_url, {**in_url, "run_id": pays}):
            refused = http.post("/api/crew/stream", params=parameters, json=decision)
            assert refused.status_code in (400, 403), refused.text
        assert http.post("/api/crew/stream", params=in_url, json=decision).status_code == 403
        weak = page(http, user_id="ann")
        path = f"/api/crew/runs/{pays}/resume"
        assert http.post(path, json={"decision": "approve"}, headers=weak).status_code == 403
        always = {"call_id": "call_1_1", "decision": "approve", "remember": "always"}
        for_all = http.post(path, json={"decisions": [always]}, headers=ann)
        assert (for_all.status_code, "needs a token" in for_all.text) == (403, True)
        assert http.post(path, json={"decision": "approve"}, headers=ann).is_success
        asked = run(http, ann, query="ask").json()["run_id"]
        answered = http.get("/api/crew/stream", params={"q": "hi", "run_id": asked, **in_url})
        assert [one["type"] for one in sse(answered.text)][:2] == ["start", "answered"]


def test_keys_of_two_people_are_two(server: ServerProcess):
    """The same `Idempotency-Key` of another person starts a run of its own."""
    with client(server) as http:
        found = set()
        for user_id in ("ann", "ann", "bob"):
            shown = {**page(http, user_id=user_id), "Idempotency-Key": "k"}
            found.add(run(http, shown).json()["run_id"])
        assert len(found) == 2


def test_it_ends(tmp_path: Path):
    """With its time, and with the token that it was made with."""
    folder = write_crew(tmp_path, {"a": {}})
    token = {"Authorization": f"Bearer {TOKENS['shop']}"}
    with (
        serving(folder, CREW_API_TOKENS=f"shop:{TOKENS['shop']}") as server,
        client(server) as http,
    ):
        brief = http.post("/api/crew/tickets", json={"seconds": 1}, headers=token).json()["ticket"]
        long = http.post("/api/crew/tickets", json={"seconds": 60}, headers=token).json()["ticket"]
        until(lambda: run(http, {"Authorization": f"Bearer {brief}"}).status_code == 401)
        again = {"Last-Event-ID": "x:1"}
        parameters = {"ticket": brief}
        assert http.get("/api/crew/stream", params=parameters, headers=again).status_code == 401
        # a page that has been open for long is no attempt to guess a token
        for _ in range(15):
            assert run(http, {"Authorization": f"Bearer {brief}"}).status_code == 401
        assert run(http, {"Authorization": f"Bearer {long}"}).is_success
    with (
        serving(folder, CREW_API_TOKENS=f"shop:{TOKENS['other']}") as server,
        client(server) as http,
    ):
        assert run(http, {"Authorization": f"Bearer {long}"}).status_code == 401
