"""Conversations over HTTP: whose they are, one run at a time on any machine, nothing left of a deleted one."""

import json
import subprocess
from pathlib import Path
from typing import Any

import httpx2
import pytest

from tests.support import forked
from tests.support.crews import write_crew
from tests.support.processes import client, serving, until

API = "/api/crew/conversations"
TOKENS = {name: f"{name}-0123456789abcdef" for name in ("ann", "eve", "app", "reader")}
ENTRIES = (
    f"ann:{TOKENS['ann']}",
    f"eve:{TOKENS['eve']}",
    f"app+run+read+answer+act_as:{TOKENS['app']}",
    f"reader+read:{TOKENS['reader']}",
)
TITLE = json.dumps({"title": "Shares of FPT"})
SUMMARY = json.dumps(
    {
        "summary": "Shares.",
        "facts": [{"text": "owns FPT", "quote": "I own FPT", "exchange": 1}],
    }
)
RULES: list[dict[str, Any]] = [
    {"helper": "title", "say": TITLE},
    {"helper": "summary", "say": SUMMARY},
    {"hears": "slow", "say": "at last", "delay_seconds": 1.5},
    {"hears": "I own", "say": "Noted."},
    {"seen": "owns FPT", "say": "You own FPT."},
    {"say": "Which share do you mean?"},
]
CONTEXT = {
    "blocks": [
        {"kind": "summary", "every": 1, "keep": 1},
        {"kind": "history", "exchanges": 1},
    ]
}


def crew(folder: Path, rules: list[dict[str, Any]] = RULES, **more: Any) -> Path:
    made = {"conversations": {"title_after": 2}, "context": CONTEXT, **more}
    return write_crew(folder, {"a": {"is_terminal": True}}, rules, **made)


def ask(http: httpx2.Client, text: str, of: str = "c1", **more: Any) -> httpx2.Response:
    return http.post("/api/crew/run", json={"query": text, "conversation_id": of, **more})


def as_token(name: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {TOKENS[name]}"}


def test_a_conversation_from_its_start_to_its_end(tmp_path: Path):
    """Asked, named, summarised, listed, searched, changed, forked, exported, deleted."""
    with serving(crew(tmp_path)) as server, client(server) as http:
        begun = http.post(API, json={"user_id": "ann", "metadata": {"from": "test"}})
        assert begun.status_code == 201
        id_ = begun.json()["conversation_id"]
        assert begun.headers["location"] == f"{API}/{id_}"
        for text in ("I own FPT", "hello"):
            assert ask(http, text, id_, user_id="ann").json()["status"] == "completed"

        def conversation() -> Any:
            return http.get(f"{API}/{id_}", params={"user_id": "ann"}).json()

        until(lambda: conversation()["summary"] is not None)
        until(lambda: conversation()["title"] == "Shares of FPT")
        assert ask(http, "so?", id_, user_id="ann").json()["answer"] == "You own FPT."
        found = conversation()
        assert [one["query"] for one in found["exchanges"]] == ["I own FPT", "hello", "so?"]
        assert (found["exchange_count"], found["metadata"]) == (3, {"from": "test"})
        assert found["summary"]["facts"][0]["quote"] == "I own FPT"
        ask(http, "another one", "c2", user_id="ann")
        listed = http.get(API, params={"user_id": "ann", "limit": 1}).json()
        assert [one["conversation_id"] for one in listed["conversations"]] == ["c2"]
        rest = http.get(API, params={"user_id": "ann", "after": listed["next"]}).json()
        assert [one["exchanges"] for one in rest["conversations"]] == [3]
        found = http.get(API, params={"user_id": "ann", "q": "OWN fpt"}).json()
        assert [one["conversation_id"] for one in found["conversations"]] == [id_]
        changed = http.patch(f"{API}/{id_}", json={"title": "Mine", "user_id": "ann"}).json()
        assert changed["title"] == "Mine"
        fork = http.post(f"{API}/{id_}/fork", json={"through": 1, "user_id": "ann"})
        assert fork.status_code == 201
        copy = http.get(fork.headers["location"], params={"user_id": "ann"}).json()
        assert [one["query"] for one in copy["exchanges"]] == ["I own FPT"]
        beyond = http.post(f"{API}/{id_}/fork", json={"through": 4, "user_id": "ann"})
        assert beyond.status_code == 409
        assert "through is 0 to 3" in beyond.json()["detail"]
        params = {"user_id": "ann", "format": "md"}
        text = http.get(f"{API}/{id_}/export", params=params).text
        assert text.startswith("# Mine\n\n## 1. ")
        assert "> I own FPT\n\n**A:** Noted." in text
        whole = http.get(f"{API}/{id_}/export", params={"user_id": "ann"}).json()
        assert len(whole["exchanges"]) == 3
        params = {"user_id": "ann"}
        assert http.delete(f"{API}/{id_}", params=params).status_code == 204
        assert http.get(f"{API}/{id_}", params=params).status_code == 404
        assert http.delete(f"{API}/{id_}", params=params).status_code == 404


def test_whose_they_are(tmp_path: Path):
    """A token is its owner; only one that may act for others names another user."""
    with (
        serving(crew(tmp_path), CREW_API_TOKENS=",".join(ENTRIES)) as server,
        client(server) as http,
    ):

        def call(name: str, method: str, path: str, **more: Any) -> httpx2.Response:
            return http.request(method, path, headers=as_token(name), **more)

        mine = {"query": "I own FPT", "conversation_id": "c1"}
        assert call("ann", "POST", "/api/crew/run", json=mine).status_code == 200
        assert call("ann", "GET", f"{API}/c1").json()["user_id"] == "ann"
        other = call("ann", "GET", f"{API}/c1", params={"user_id": "eve"})
        assert (other.status_code, "act_as" in other.json()["detail"]) == (403, True)
        named = {**mine, "user_id": "eve"}
        assert call("ann", "POST", "/api/crew/run", json=named).status_code == 403
        # as if it were not there, in the same bytes
        for path in (f"{API}/c1", f"{API}/c1/export"):
            hidden = call("eve", "GET", path)
            absent = call("eve", "GET", path.replace("c1", "c0"))
            assert (hidden.status_code, hidden.content.replace(b"c1", b"c0")) == (
                404,
                absent.content,
            )
        assert call("eve", "DELETE", f"{API}/c1").status_code == 404
        assert call("eve", "PATCH", f"{API}/c1", json={"title": "x"}).status_code == 404
        assert call("eve", "GET", API).json()["conversations"] == []
        # the same id is another conversation
        answer = call("eve", "POST", "/api/crew/run", json={**mine, "query": "what?"}).json()
        assert answer["answer"] == "Which share do you mean?"
        # a service acts for its users
        found = call("app", "GET", f"{API}/c1", params={"user_id": "ann"})
        assert found.json()["exchange_count"] == 1
        assert call("app", "GET", API).json()["conversations"] == []
        assert call("app", "GET", API, params={"user_id": ""}).status_code == 400
        assert call("reader", "DELETE", f"{API}/c1").status_code == 403
        assert call("reader", "POST", API, json={}).status_code == 403


@pytest.mark.parametrize(
    ("body", "status", "said"),
    [
        ({"history": [{"role": "user", "content": "x"}]}, 400, "history: is that of the convers"),
        ({"conversation_id": "a/b"}, 400, "conversation_id"),
        ({"conversation_id": ""}, 400, "conversation_id"),
        ({"user_id": ""}, 400, "user_id"),
        ({"user_id": "a\u202eb"}, 400, "printable characters"),
        ({"user_id": "x" * 257}, 400, "user_id"),
        ({"run_id": "r1"}, 400, "conversation_id"),
    ],
)
def test_what_is_refused(
    tmp_path_factory: pytest.TempPathFactory, body: dict[str, Any], status: int, said: str
):
    """With the field and why."""
    folder = crew(tmp_path_factory.mktemp("crew"))
    with serving(folder) as server, client(server) as http:
        answer = http.post("/api/crew/run", json={"query": "x", "conversation_id": "c1", **body})
        assert (answer.status_code, said in answer.json()["detail"]) == (status, True), answer.text


def test_a_crew_without_conversations(tmp_path: Path):
    """A query that names one says what to write; the addresses are not there."""
    folder = write_crew(tmp_path, {"a": {"is_terminal": True}})
    with serving(folder) as server, client(server) as http:
        answer = ask(http, "x")
        assert answer.status_code == 400
        assert "conversations: {}" in answer.json()["detail"]
        assert http.get(API).status_code == 404


def test_a_copy_has_what_has_ended(tmp_path: Path):
    """An exchange that is under way is in none: it would be lost without a word."""
    rules: list[dict[str, Any]] = [
        {"hears": "late", "say": "late", "delay_seconds": 30},
        {"say": "well"},
    ]
    with serving(crew(tmp_path, rules)) as server, client(server) as http:
        ask(http, "one")
        http.post("/api/crew/runs", json={"query": "late", "conversation_id": "c1"})
        refused = http.post(f"{API}/c1/fork", json={"through": 2})
        assert (refused.status_code, "2 has not ended" in refused.text) == (409, True)
        copy = http.post(f"{API}/c1/fork", json={"through": 1})
        found = http.get(copy.headers["location"]).json()
        assert [one["query"] for one in found["exchanges"]] == ["one"]


@pytest.mark.parametrize("cancels", [False, True])
def test_a_busy_one_is_not_deleted_unless_it_is_ended(tmp_path: Path, cancels: bool):
    """409 with its run; with `cancel=1` the run ends first."""
    rules = [{"say": "late", "delay_seconds": 30}]
    with serving(crew(tmp_path, rules)) as server, client(server) as http:
        run = http.post("/api/crew/runs", json={"query": "x", "conversation_id": "c1"})
        params = {"cancel": "1"} if cancels else {}
        answer = http.delete(f"{API}/c1", params=params)
        if cancels:
            assert answer.status_code == 204
            assert http.get(run.headers["location"]).status_code == 404
        else:
            assert answer.status_code == 409
            assert answer.json()["url"] == run.headers["location"]


def test_no_byte_is_left(tmp_path: Path):
    """Of a deleted conversation: in no file of the store, nor in any answer."""
    canary = "zxcanary7391"
    # the script is a file of the crew, which is kept: it has another form of the word
    hidden = canary.replace("c", "\\u0063")
    rules: list[dict[str, Any]] = [
        {"helper": "title", "say": f'{{"title": "{hidden} title"}}'},
        {"helper": "summary", "say": f'{{"summary": "{hidden} summary", "facts": []}}'},
        {"say": "{{heard}}"},
    ]
    notify = {"hook": {"kind": "webhook", "url": "http://127.0.0.1:1/x", "on": ["done"]}}
    folder = crew(tmp_path / "crew", rules, notify=notify)
    with serving(folder) as server, client(server) as http:
        for number in range(200):
            answer = ask(http, f"{canary} {number} {'text ' * 40}")
            assert answer.status_code == 200, answer.text
        until(lambda: (http.get(f"{API}/c1").json()["summary"] or {}).get("through") == 199)
        other = ask(http, "what stays", "c2").json()
        store = folder / ".crew"
        assert canary in http.get(f"{API}/c1").json()["title"]
        assert canary in http.get(f"{API}/c1").json()["summary"]["summary"]
        assert any(canary.encode() in path.read_bytes() for path in store.iterdir())
        assert http.delete(f"{API}/c1").status_code == 204
        for path in store.iterdir():
            assert canary.encode() not in path.read_bytes(), path
        assert canary not in http.get("/api/crew/runs", params={"limit": 500}).text
        assert canary not in http.get(API).text
        assert http.get(f"/api/crew/runs/{other['run_id']}").json()["answer"] == "what stays"


def test_a_helper_that_hangs_holds_up_no_run(tmp_path: Path):
    """`done` comes as soon as without one; the chore waits, and a server that stops leaves it."""
    rules: list[dict[str, Any]] = [
        {"helper": "title", "say": TITLE, "delay_seconds": 3600},
        {"say": "ok"},
    ]
    folder = crew(tmp_path, rules, conversations={"title_after": 1})
    with serving(folder) as server, client(server) as http:
        for number in range(5):
            assert ask(http, f"q{number}").json()["status"] == "completed"
        assert 'crew_chores_waiting{kind="title"} 1.0' in http.get("/metrics").text


def test_the_commands(tmp_path: Path):
    """talk, conversations, run --conversation: what one began, the others know."""
    folder = crew(tmp_path)

    def command(*words: str | Path, text: str = "") -> "subprocess.CompletedProcess[str]":
        return forked.crew(*words, given=text)

    talked = command(
        "talk", folder, "--user", "ann", "--conversation", "c1", text="I own FPT\n\nhello\n"
    )
    assert talked.returncode == 0, talked
    assert "Noted." in talked.stdout
    assert f"crew talk {folder} --conversation c1 --user ann" in talked.stderr
    listed = command("conversations", folder, "--user", "ann")
    assert "c1  " in listed.stdout
    assert "2 exchanges  Shares of FPT" in listed.stdout
    more = command("run", folder, "so?", "--conversation", "c1", "--user", "ann")
    assert "You own FPT." in more.stdout
    shown = command("conversations", folder, "c1", "--user", "ann")
    assert shown.stdout.startswith("# Shares of FPT")
    exported = command(
        "conversations", folder, "c1", "--user", "ann", "--export", tmp_path / "c1.json"
    )
    assert exported.returncode == 0, exported
    assert len(json.loads((tmp_path / "c1.json").read_text())["exchanges"]) == 3
    assert command("conversations", folder, "c1").returncode == 1
    gone = command("conversations", folder, "c1", "--user", "ann", "--delete")
    assert gone.stdout == "Deleted c1.\n"
    assert command("conversations", folder, "c1", "--user", "ann").returncode == 1
    # a list that seems to be empty says whose it is
    assert "--user ID lists a user's" in command("conversations", folder).stderr
    for option, text in (("--conversation", "a/b"), ("--user", "a\tb")):
        for words in (("talk", folder), ("run", folder, "so?")):
            refused = command(*words, option, text, text="so?\n")
            assert (refused.returncode, refused.stdout) == (2, ""), refused
            assert f"Invalid value for '{option}'" in refused.stderr
    plain = write_crew(tmp_path / "plain", {"a": {}})
    refused = command("talk", plain, text="x\n")
    assert (refused.returncode, "conversations: {}" in refused.stderr) == (2, True)
