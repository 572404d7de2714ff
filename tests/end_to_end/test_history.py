"""Stored runs are searched, compared, exported and deleted through the server."""

from pathlib import Path
from typing import Any

import pytest

from tests.support.crews import write_crew
from tests.support.processes import client, serving
from tests.support.served_crew import until_status

ADMIN, ANN, BOB = "an-admin-token-0001", "a-token-of-ann-0001", "a-token-of-bob-0001"
TOKENS = f"olga+admin:{ADMIN},ann:{ANN},bob:{BOB}"
SCRIPT = "<script>alert(1)</script> ```"
RULES: list[dict[str, Any]] = [
    {"agent": "desk", "hears": "wait", "say": "what exactly?"},
    {"agent": "desk", "hears": "loud", "say": f"a loud answer {SCRIPT} [LOUD]"},
    {"agent": "desk", "say": "a quiet answer"},
    {"agent": "loud", "after": "GetMemoryUsage", "say": "Xong rồi: ĐĨA ĐẦY"},
    {"agent": "loud", "say": "", "calls": ["GetMemoryUsage"]},
]
CREW: dict[str, Any] = {
    "routing": {
        "signals": {"desk": [{"signal": "[LOUD]", "target": "loud"}]},
        "agent_behaviors": {"desk": {"wait_for_signal": True}},
    },
    "conversations": {},
}
AGENTS = {"desk": {}, "loud": {"is_terminal": True, "tools": ["GetMemoryUsage"]}}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write_crew(tmp_path / "crew", AGENTS, RULES, **CREW)


def as_who(server: Any, token: str):
    return client(server, headers={"Authorization": f"Bearer {token}"})


def ran(http: Any, query: str, **more: Any) -> str:
    run_id: str = http.post("/api/crew/run", json={"query": query, **more}).json()["run_id"]
    return run_id


def test_words_are_found_where_they_were_said(folder: Path):
    """Of runs that are there for the caller, newest first, with the place."""
    with serving(folder, CREW_API_TOKENS=TOKENS) as server:
        with as_who(server, ANN) as ann, as_who(server, BOB) as bob:
            first, second = ran(ann, "loud please"), ran(ann, "LOUD again")
            other = ran(bob, "loud, too")

            def found(http: Any, words: str, **more: Any) -> dict[str, Any]:
                document: dict[str, Any] = http.get(
                    "/api/crew/search", params={"q": words, **more}
                ).json()
                return document

            hits = found(ann, "đĩa đầy")["hits"]
            assert [(one["run_id"], one["kind"]) for one in hits] == [
                (second, "answer"),
                (second, "agent"),
                (first, "answer"),
                (first, "agent"),
            ]
            for one in hits:
                assert one["text"][one["start"] : one["end"]] == "ĐĨA ĐẦY"
            assert [one["kind"] for one in found(ann, "again")["hits"]] == ["question"]
            assert {one["run_id"] for one in found(bob, "loud")["hits"]} == {other}
            assert len(found(ann, "đĩa đầy", limit=1)["hits"]) == 1, "of two in one run"
            page = found(ann, "please", limit=1)
            assert page["hits"][0]["run_id"] == first
            assert found(ann, "nothing like it") == {
                "hits": [],
                "next": None,
                "reached": page["reached"],
            }
            assert ann.get("/api/crew/search?q=a").status_code == 400
            assert ann.get("/api/crew/search").status_code == 400
        with as_who(server, ADMIN) as admin:
            found_by_all = {one["run_id"] for one in found(admin, "loud answer")["hits"]}
            assert found_by_all == {first, second, other}


def test_totals_and_filters(folder: Path):
    with serving(folder) as server, client(server) as http:
        for query in ("loud", "loud", "wait"):
            ran(http, query)
        whole = http.get("/api/crew/runs", params={"totals": 1, "limit": 1}).json()
        totals = whole["totals"]
        assert (len(whole["runs"]), totals["count"], totals["has_more"]) == (1, 3, False)
        assert totals["statuses"] == {"completed": 2, "paused": 1}
        assert 0 < totals["p50_seconds"] <= totals["p95_seconds"]
        assert totals["tokens"] > 0
        ended = http.get("/api/crew/runs", params={"reason": "terminal", "totals": 1}).json()
        assert (len(ended["runs"]), ended["totals"]["count"]) == (2, 2)
        run_id = ended["runs"][0]["run_id"]
        by_id = http.get("/api/crew/runs", params={"prefix": run_id[:20]}).json()["runs"]
        assert run_id in [one["run_id"] for one in by_id]
        assert http.get("/api/crew/runs", params={"cost_over": "0.01"}).json()["runs"] == []
        waits = http.get("/api/crew/runs", params={"waiting": "words", "totals": 1}).json()
        assert [one["status"] for one in waits["runs"]] == ["paused"]
        assert waits["totals"]["count"] == 1
        assert http.get("/api/crew/runs", params={"waiting": "decision"}).json()["runs"] == []
        for wrong in (
            {"cost_over": "much"},
            {"totals": "yes"},
            {"colour": "red"},
            {"waiting": "x"},
        ):
            assert http.get("/api/crew/runs", params=wrong).status_code == 400


def test_two_runs_side_by_side(folder: Path):
    with serving(folder) as server, client(server) as http:
        loud, quiet, again = ran(http, "loud"), ran(http, "wait"), ran(http, "loud")
        same = http.get("/api/crew/compare", params={"a": loud, "b": again}).json()
        assert (same["first"], same["same_revision"]) == (None, True)
        other = http.get("/api/crew/compare", params={"a": loud, "b": quiet}).json()
        assert other["first"] == 2
        assert other["steps"][0]["diff"].startswith("--- a")
        assert other["steps"][1]["a"]["what"] == "desk → loud by [LOUD]"
        assert other["steps"][1]["a"]["source"].startswith("crew.yaml:")
        assert other["steps"][1]["b"]["what"] == "desk waits for a person"
        assert other["apart"]["tokens"] < 0
        assert http.get("/api/crew/compare", params={"a": loud}).status_code == 400
        assert http.get("/api/crew/compare", params={"a": loud, "b": "x"}).status_code == 404


def test_a_run_is_exported(folder: Path):
    """The page has no script in it, whatever the answer was."""
    with serving(folder) as server, client(server) as http:
        run_id = ran(http, "wait")
        http.post(f"/api/crew/runs/{run_id}/resume", json={"query": "be loud"})
        until_status(server, run_id, "completed")
        address = f"/api/crew/runs/{run_id}/export"
        document = http.get(address).json()
        assert document["run"]["run_id"] == run_id
        assert [one["text"] for one in document["decisions"]] == ["be loud"]
        assert [one["action"] for one in document["audit"]] == ["start", "answer"]
        assert document["events"][-1]["type"] == "done"
        page = http.get(address, params={"format": "html"})
        assert page.headers["content-disposition"] == f'attachment; filename="{run_id}.html"'
        assert "default-src 'none'" in page.headers["content-security-policy"]
        assert "<script" not in page.text
        assert "&lt;script&gt;alert(1)" in page.text
        text = http.get(address, params={"format": "md"}).text
        assert "````text" in text, "the fence is longer than the one in the answer"


def test_runs_that_have_called_a_tool(tmp_path: Path):
    """While they wait for a person, too; another owner's are not counted."""
    rules = [
        {"after": "GetSystemInfo", "say": "done"},
        {"hears": "look", "calls": ["GetSystemInfo"]},
        {"say": "hi"},
    ]
    folder = write_crew(tmp_path / "crew", {"a": {"tools": ["GetSystemInfo"]}}, rules)
    with serving(folder) as server, client(server) as http:
        looked, _ = ran(http, "look"), ran(http, "hello")
        found = http.get("/api/crew/runs", params={"tool": "GetSystemInfo", "totals": 1}).json()
        assert [(one["run_id"], one["tools"]) for one in found["runs"]] == [
            (looked, ["GetSystemInfo"])
        ]
        assert found["totals"]["count"] == 1
        assert http.get("/api/crew/runs", params={"tool": "GetSystem"}).json()["runs"] == []
        assert http.get("/api/crew/runs", params={"tool": 'a"b'}).status_code == 400


def test_runs_that_match_are_cancelled(folder: Path):
    """Those that have not ended, of the caller, if there are as many as were seen."""
    with serving(folder, CREW_API_TOKENS=TOKENS) as server:
        with as_who(server, ANN) as ann, as_who(server, BOB) as bob:
            mine = [ran(ann, "wait"), ran(ann, "wait")]
            ended, theirs = ran(ann, "loud"), ran(bob, "wait")
            address = "/api/crew/runs/cancel"
            assert ann.post(address, json={"filter": {}, "dry": True}).json() == {
                "count": 2,
                "cancelled": 0,
            }
            refused = ann.post(address, json={"filter": {}, "expect": 3})
            assert (refused.status_code, refused.json()["count"]) == (409, 2)
            done = ann.post(
                address, json={"filter": {"text": "WAIT", "waiting": "words"}, "expect": 2}
            )
            assert done.json() == {"count": 2, "cancelled": 2}
            states = {
                one["run_id"]: one["status"] for one in ann.get("/api/crew/runs").json()["runs"]
            }
            assert states == dict.fromkeys(mine, "cancelled") | {ended: "completed"}
            assert bob.get(f"/api/crew/runs/{theirs}").json()["status"] == "paused"
            assert ann.post(address, json={"filter": {"colour": "red"}}).status_code == 400
        with as_who(server, ADMIN) as admin:
            entries = admin.get("/api/crew/audit", params={"action": "cancel"}).json()["entries"]
            assert {one["run_id"] for one in entries} == set(mine)
            # a whole second is before all that was done within it
            second = max(one["at"] for one in entries)[:19] + "Z"
            for field, is_there in (("since", True), ("until", False)):
                bounds = {"action": "cancel", field: second}
                found = admin.get("/api/crew/audit", params=bounds).json()["entries"]
                by_second = {one["at"][:19] for one in found}
                assert (second[:19] in by_second) == is_there, field
            assert admin.get("/api/crew/audit", params={"since": "2025-02-29"}).status_code == 400


def test_runs_are_deleted(folder: Path):
    """By their owner or an admin; their words stand in no file of the database any more."""
    with serving(folder, CREW_API_TOKENS=TOKENS) as server:
        with as_who(server, ANN) as ann, as_who(server, BOB) as bob:
            secret = ran(ann, "loud: the word is Zwetschgenknoedel")
            waiting = ran(ann, "wait")
            talked = ran(ann, "loud", conversation_id="c1", user_id="ann")
            theirs = ran(bob, "loud")
            assert bob.delete(f"/api/crew/runs/{secret}").status_code == 404
            busy = ann.delete(f"/api/crew/runs/{waiting}")
            assert (busy.status_code, "paused" in busy.text) == (409, True)
            of_talk = ann.delete(f"/api/crew/runs/{talked}")
            assert (of_talk.status_code, of_talk.json()["conversation_id"]) == (409, "c1")
            assert ann.delete(f"/api/crew/runs/{secret}").status_code == 204
            assert ann.get(f"/api/crew/runs/{secret}").status_code == 404
            wrong = {"filter": {"status": "completed", "text": "loud"}, "expect": 7}
            refused = ann.post("/api/crew/runs/delete", json=wrong)
            assert (refused.status_code, refused.json()["count"]) == (409, 1)
            with_talk = ann.post("/api/crew/runs/delete", json={**wrong, "expect": 1})
            assert with_talk.status_code == 409
            # another owner's are not meant by one's own
            for wanted in ({"owner": "bob"}, {"owner": "bob", "text": "loud"}):
                others = ann.post("/api/crew/runs/delete", json={"filter": wanted, "expect": 1})
                assert (others.status_code, "admin" in others.text) == (403, True)
                assert ann.get("/api/crew/runs", params=wanted).status_code == 403
            assert ann.get("/api/crew/runs", params={"owner": "ann"}).status_code == 200
            gone = bob.post("/api/crew/runs/delete", json={"filter": {}, "expect": 1})
            assert gone.json() == {"count": 1, "deleted": 1}
            assert bob.get(f"/api/crew/runs/{theirs}").status_code == 404
            assert ann.get("/api/crew/audit").status_code == 403
        with as_who(server, ADMIN) as admin:
            entries = admin.get("/api/crew/audit", params={"action": "delete"}).json()["entries"]
            assert {(one["name"], one["run_id"]) for one in entries} == {
                ("ann", secret),
                ("bob", theirs),
            }
        server.stop()
    files = [path.read_bytes() for path in (folder / ".crew").iterdir() if path.is_file()]
    assert not [one for one in files if b"Zwetschgenknoedel" in one]
