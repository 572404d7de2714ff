"""Who may call, and what: scopes, owners, ends of tokens, tickets, wrong tokens; each by attack."""

import json
from pathlib import Path
from typing import Any

import httpx2
import pytest

from tests.support.crews import write_crew
from tests.support.processes import (
    ServerProcess,
    client,
    serving,
    sse,
)

ACTS = 'def pay(to: str) -> str:\n    """Pay."""\n    return to\n'
RULES: list[dict[str, Any]] = [
    {"agent": "a", "hears": "pay", "say": "", "calls": [{"tool": "pay", "arguments": {"to": "b"}}]},
    {"agent": "a", "hears": "ask", "say": "what?"},
    {"agent": "a", "say": "done [END]"},
]
ROUTING = {
    "signals": {"a": [{"signal": "[END]", "target": None}]},
    "agent_behaviors": {"a": {"wait_for_signal": True}},
}
TOKENS = {
    name: f"{name}-0123456789abcdef"
    for name in ("boss", "shop", "other", "reader", "starter", "answerer", "admin")
}
ENTRIES = (
    TOKENS["boss"],
    f"shop:{TOKENS['shop']}",
    f"other:{TOKENS['other']}",
    f"reader+read:{TOKENS['reader']}",
    f"starter+run:{TOKENS['starter']}",
    f"answerer+answer:{TOKENS['answerer']}",
    f"admin+admin:{TOKENS['admin']}",
)


def crew(folder: Path) -> Path:
    written = write_crew(
        folder / "crew",
        {"a": {"tools": ["pay"]}},
        RULES,
        {"pay": {"kind": "python", "function": "acts.py:pay", "requires_approval": True}},
        routing=ROUTING,
    )
    (written / "acts.py").write_text(ACTS)
    return written


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory):
    """One for all; it asks for tokens."""
    folder = crew(tmp_path_factory.mktemp("who"))
    with serving(folder, CREW_API_TOKENS=",".join(ENTRIES)) as started:
        yield started


def as_(name: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {TOKENS[name]}"}


def start(http: httpx2.Client, name: str, query: str = "x", **more: Any) -> str:
    answer = http.post("/api/crew/run", json={"query": query, **more}, headers=as_(name))
    assert answer.status_code == 200, answer.text
    run_id: str = answer.json()["run_id"]
    return run_id


def endpoints(run_id: str) -> list[tuple[str, str, Any]]:
    run = f"/api/crew/runs/{run_id}"
    return [
        ("GET", run, None),
        ("GET", f"{run}/events", None),
        ("GET", f"{run}/events?after=1", None),
        ("POST", f"{run}/resume", {"query": "x"}),
        ("POST", f"{run}/cancel", None),
        ("POST", f"{run}/retry", None),
        ("POST", "/api/crew/run", {"query": "x", "run_id": run_id}),
        ("GET", f"/api/crew/stream?q=x&run_id={run_id}", None),
        ("GET", f"/api/crew/runs?after={run_id}", None),
        ("POST", "/api/crew/tickets", {"run_id": run_id}),
    ]


def test_the_runs_of_others_are_not_there(server: ServerProcess):
    """On every door, with the same bytes as a run that does not exist."""
    with client(server) as http:
        mine, missing = start(http, "shop", "ask"), "f" * 32
        for (method, path, body), (_, nowhere, same) in zip(
            endpoints(mine), endpoints(missing), strict=True
        ):
            same = json.loads(json.dumps(same).replace(mine, missing)) if same else same
            answers = [
                http.request(method, address, json=content, headers=as_("other"))
                for address, content in ((path, body), (nowhere, same))
            ]
            assert [one.status_code for one in answers] == [404, 404], path
            assert answers[0].text == answers[1].text.replace(missing, mine), path
        for reconnect in (mine, missing):
            last = {"Last-Event-ID": f"{reconnect}:1"}
            assert http.get("/api/crew/stream", headers=as_("other") | last).status_code == 404
        listed = http.get("/api/crew/runs?limit=500", headers=as_("other")).json()["runs"]
        assert mine not in [run["run_id"] for run in listed]
        for name in ("shop", "boss", "admin"):
            assert http.get(f"/api/crew/runs/{mine}", headers=as_(name)).status_code == 200
            listed = http.get("/api/crew/runs?limit=500", headers=as_(name)).json()["runs"]
            assert mine in [run["run_id"] for run in listed]


@pytest.mark.parametrize(
    ("method", "path", "body", "scope"),
    [
        ("GET", "/api/crew", None, "read"),
        ("GET", "/api/crew/runs", None, "read"),
        ("GET", "/metrics", None, "read"),
        ("GET", "/api/crew/runs/x", None, "read"),
        ("GET", "/api/crew/runs/x/events", None, "read"),
        ("GET", "/api/crew/stream?q=x", None, "run"),
        ("POST", "/api/crew/stream", {"query": "x"}, "run"),
        ("POST", "/api/crew/run", {"query": "x"}, "run"),
        ("POST", "/api/crew/runs/x/cancel", None, "run"),
        ("POST", "/api/crew/runs/x/retry", None, "run"),
        ("POST", "/api/crew/tickets", {}, "run"),
        ("POST", "/api/crew/run", {"query": "x", "run_id": "x"}, "answer"),
        ("POST", "/api/crew/runs/x/resume", {"query": "x"}, "answer"),
        ("POST", "/api/crew/reload", None, "admin"),
    ],
)
def test_a_token_may_do_what_its_scopes_say(
    server: ServerProcess, method: str, path: str, body: Any, scope: str
):
    """Each endpoint with each token of one scope: the others are refused before anything is done."""
    with client(server) as http:
        for name, own in (("reader", "read"), ("starter", "run"), ("answerer", "answer")):
            answer = http.request(method, path, json=body, headers=as_(name))
            assert (answer.status_code == 403) == (own != scope), (name, answer.text)
            if own != scope:
                assert repr(scope) in answer.json()["detail"]
        assert http.request(method, path, json=body, headers=as_("admin")).status_code != 403


def test_a_ticket_starts_one_run_and_follows_it(server: ServerProcess):
    """However often it is shown; it opens nothing else."""
    with client(server) as http:
        made = http.post("/api/crew/tickets", json={}, headers=as_("shop"))
        assert made.status_code == 201
        assert made.headers["cache-control"] == "no-store"
        ticket = {"ticket": made.json()["ticket"]}
        first = sse(http.get("/api/crew/stream", params={"q": "hi", **ticket}).text)
        again = sse(http.get("/api/crew/stream", params={"q": "hi", **ticket}).text)
        assert first[-1]["type"] == "done"
        assert first == again
        run_id, other = first[0]["metadata"]["run_id"], start(http, "shop")
        assert http.get(f"/api/crew/runs/{run_id}", headers=as_("shop")).json()["owner"] == "shop"
        back = {"Last-Event-ID": f"{run_id}:1"}
        rest = http.get("/api/crew/stream", params=ticket, headers=back)
        assert [one["id"] for one in sse(rest.text)] == [one["id"] for one in first[1:]]
        assert http.get(f"/api/crew/runs/{run_id}/events", params=ticket).status_code == 200
        # another question, another run, another door
        assert http.get("/api/crew/stream", params={"q": "no", **ticket}).status_code == 422
        assert http.get(f"/api/crew/runs/{other}/events", params=ticket).status_code == 404
        assert http.get("/api/crew/runs", params=ticket).status_code == 401
        wrong = {"ticket": ticket["ticket"][:-3] + "AAA"}
        assert http.get("/api/crew/stream", params={"q": "x", **wrong}).status_code == 401


def test_a_ticket_for_a_run_starts_none(server: ServerProcess):
    """It reads that run's events, answers it in words, and decides on no call."""
    with client(server) as http:
        run_id = start(http, "shop", "ask")
        body = {"run_id": run_id}
        made = http.post("/api/crew/tickets", json=body, headers=as_("shop")).json()
        ticket = {"ticket": made["ticket"]}
        assert http.get(f"/api/crew/runs/{run_id}/events", params=ticket).status_code == 200
        assert http.get("/api/crew/stream", params={"q": "x", **ticket}).status_code == 403
        other = start(http, "shop", "ask")
        elsewhere = {"q": "x", "run_id": other, **ticket}
        assert http.get("/api/crew/stream", params=elsewhere).status_code == 404
        pays = start(http, "shop", "pay")
        body = {"run_id": pays}
        made = http.post("/api/crew/tickets", json=body, headers=as_("shop")).json()
        answer = {"q": "yes", "run_id": pays, "ticket": made["ticket"]}
        assert http.get("/api/crew/stream", params=answer).status_code == 400
        body = {"run_id": pays, "decision": "approve"}
        decided = http.post("/api/crew/run", params={"ticket": made["ticket"]}, json=body)
        assert decided.status_code == 403
        answer = {"q": "x", "run_id": run_id, **ticket}
        answered = sse(http.get("/api/crew/stream", params=answer).text)
        assert [one["type"] for one in answered][:2] == ["start", "answered"]


def test_the_ticket_that_started_a_run_answers_it(server: ServerProcess):
    """Once; with the scope that its token has."""
    with client(server) as http:
        made = http.post("/api/crew/tickets", json={}, headers=as_("shop")).json()
        ticket = {"ticket": made["ticket"]}
        begun = sse(http.get("/api/crew/stream", params={"q": "ask", **ticket}).text)
        run_id = begun[0]["metadata"]["run_id"]
        answer = {"q": "x", "run_id": run_id, **ticket}
        answers = [sse(http.get("/api/crew/stream", params=answer).text) for _ in range(2)]
        assert answers[0][-1]["type"] == "done"
        assert answers[1] == answers[0]


def test_without_tokens_a_ticket_works_the_same(tmp_path: Path):
    """So that a page needs no other code where it is written."""
    folder = crew(tmp_path)
    with serving(folder) as server, client(server) as http:
        ticket = http.post("/api/crew/tickets", json={}).json()["ticket"]
        asked = {"q": "hi", "ticket": ticket}
        streams = [http.get("/api/crew/stream", params=asked) for _ in range(2)]
        assert sse(streams[0].text) == sse(streams[1].text)
        assert "no token is needed" in server.log.read_text()
    # the server has started again: the page comes back by the same address
    with serving(folder) as server, client(server) as http:
        back = {"Last-Event-ID": sse(streams[0].text)[0]["id"]}
        rest = http.get("/api/crew/stream", params=asked, headers=back)
        assert sse(rest.text) == sse(streams[0].text)[1:]


def test_a_link_decides_nothing(server: ServerProcess):
    """A GET answers a question in words, but not one about calls; a page that is opened starts no run."""
    with client(server) as http:
        run_id = start(http, "shop", "pay")
        for q in (
            "yes",
            json.dumps({"query": "yes", "decision": "approve"}),
            json.dumps({"query": "", "decision": "deny"}),
        ):
            params = {"q": q, "run_id": run_id}
            answer = http.get("/api/crew/stream", params=params, headers=as_("shop"))
            assert answer.status_code == 400, q
        row = http.get(f"/api/crew/runs/{run_id}", headers=as_("shop")).json()
        assert row["status"] == "paused"
        opened = as_("shop") | {"Sec-Fetch-Mode": "navigate"}
        assert http.get("/api/crew/stream?q=x", headers=opened).status_code == 403
        asked = start(http, "shop", "ask")
        words = {"q": "go on", "run_id": asked}
        assert http.get("/api/crew/stream", params=words, headers=as_("shop")).status_code == 200


def test_a_ticket_of_an_admin_follows_the_run_of_another(server: ServerProcess):
    """It was made by one who sees it; `admin` is all scopes, for tickets too."""
    with client(server) as http:
        run_id = start(http, "shop")
        for name in ("admin", "boss"):
            made = http.post("/api/crew/tickets", json={"run_id": run_id}, headers=as_(name)).json()
            ticket = {"ticket": made["ticket"]}
            assert http.get(f"/api/crew/runs/{run_id}/events", params=ticket).status_code == 200
            made = http.post("/api/crew/tickets", json={}, headers=as_(name)).json()
            begun = {"q": "x", "ticket": made["ticket"]}
            assert http.get("/api/crew/stream", params=begun).status_code == 200


def test_a_proxy_says_who_the_client_is(tmp_path: Path):
    """A listed one only; wrong tokens of one client do not slow another."""
    wrong = {"Authorization": "Bearer wrong-wrong-wrong-wrong", "X-Forwarded-For": "203.0.113.9"}
    for proxies, seen in (("127.0.0.0/8", "203.0.113.9"), ("192.0.2.1", "127.0.0.1")):
        folder = crew(tmp_path / seen)
        settings = {"CREW_API_TOKENS": TOKENS["boss"], "CREW_TRUSTED_PROXIES": proxies}
        with serving(folder, **settings) as server, client(server) as http:
            codes = [http.get("/api/crew", headers=wrong).status_code for _ in range(11)]
            assert codes[-1] == 429
            assert f"a wrong token came from {seen}" in server.log.read_text()
            status = http.get("/api/crew", headers=as_("boss")).status_code
            assert status == (200 if seen == "203.0.113.9" else 429)


@pytest.mark.parametrize("page", ["/conversations/a-1", "/runs/b_2", "/inbox", "/conversations"])
def test_who_signs_in_comes_to_the_page(server: ServerProcess, page: str):
    """That the person was on the way to."""
    with client(server) as http:
        form = {"token": TOKENS["boss"], "next": page}
        assert http.post("/session", data=form).headers["location"] == page
