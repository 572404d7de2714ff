"""All that is kept of a person: exported, and erased without a byte left."""

import base64
import json
import subprocess
from pathlib import Path
from typing import Any

import httpx2
import pytest

from tests.end_to_end.test_core_memory import ENTRIES, TOKENS
from tests.support.crews import write_crew
from tests.support.forked import crew
from tests.support.images import data_url, png
from tests.support.processes import (
    BIN,
    clean_environment,
    client,
    serving,
    start_server,
    until,
)

CANARY = "canary-of-{user}-7f3"

RULES: list[dict[str, Any]] = [
    {"helper": "title", "say": '{"title": "A title"}'},
    {"agent": "a", "after": "Remember", "say": "noted"},
    {"agent": "a", "after": "own", "say": "{{result.own}}"},
    {"agent": "a", "hears": "wait", "say": "slowly", "delay_seconds": 600},
    {"agent": "a", "hears": "pay", "calls": [{"tool": "pay", "arguments": {"amount": 1}}]},
    {"agent": "a", "hears": "own", "calls": [{"tool": "own"}]},
    {"agent": "a", "say": "well"},
]
OWN = """
from tools import ToolContext

def own(context: ToolContext) -> str:
    return f"canary-of-{context.user_id}-7f3"

def pay(amount: int) -> str:
    return "paid"
"""
TOOLS = {
    "own": {"kind": "python", "function": "own.py:own", "effect": "read", "cache_seconds": 3600},
    "pay": {
        "kind": "python",
        "function": "own.py:pay",
        "requires_approval": {"remember": ["run", "always"]},
    },
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "crew").mkdir()
    (tmp_path / "crew" / "own.py").write_text(OWN)
    return write_crew(
        tmp_path / "crew",
        {
            "a": {
                "is_terminal": True,
                "tools": ["own", "pay", "Remember"],
                "documents": ["papers", "sent"],
            }
        },
        RULES,
        tools=TOOLS,
        memory={"recall": {}, "core": {"notes": {"description": "notes"}}},
        conversations={"title_after": 1},
        budgets={
            scope: {"scope": scope, "per": "day", "calls": 30, "then": "block"}
            for scope in ("user", "token", "conversation")
        },
        documents={
            "papers": {"description": "of a person", "scope": "user"},
            "sent": {"description": "of a conversation"},
        },
    )


def auth(as_: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {TOKENS[as_]}"}


def ask(http: httpx2.Client, user: str, query: str, **body: Any) -> dict[str, Any]:
    whole = {"query": query, "user_id": user, **body}
    return dict(http.post("/api/crew/run", json=whole, headers=auth("acting")).json())


def fill(http: httpx2.Client, user: str) -> None:
    """Leave something of a user at every place."""
    canary = CANARY.format(user=user)
    ask(http, user, f"own {canary}")
    for conversation in ("c1", "c2"):
        ask(http, user, f"hello {canary}", conversation_id=conversation)
    image = {"image": data_url(png() + canary.encode())}
    ask(http, user, f"own {canary}", conversation_id="c1", attachments=[image])
    ask(http, user, f"pay {canary}")
    headers = auth("acting")
    place = f"/api/crew/users/{user}"
    body = {"text": f"likes {canary}", "key": canary, "topics": [canary]}
    assert http.post(f"{place}/recall", json=body, headers=headers).status_code == 201
    for collection, conversation in (("papers", ""), ("sent", "c1")):
        params = {"user_id": user, "conversation_id": conversation}
        params = {key: value for key, value in params.items() if value}
        address = f"/api/crew/documents/{collection}/{canary}.txt"
        for version in ("one", "two"):
            content = f"{version} {canary} word{canary.replace('-', '')}"
            sent = http.put(address, params=params, content=content.encode(), headers=headers)
            assert sent.status_code == 202, sent.text

        def is_read(address: str = address, params: dict[str, str] = params) -> bool:
            return bool(
                http.get(address, params=params, headers=headers).json()["status"] == "ready"
            )

        until(is_read)
    for text in (f"first {canary}", f"second {canary}"):
        changed = http.put(
            f"{place}/core/notes", json={"value": text}, headers={**headers, "If-Match": "*"}
        )
        assert changed.status_code == 200


def export(http: httpx2.Client, user: str, as_: str = "acting") -> list[dict[str, Any]]:
    answer = http.get(f"/api/crew/users/{user}/export", headers=auth(as_))
    assert answer.status_code == 200, answer.text
    assert answer.headers["content-type"].startswith("application/x-ndjson")
    return [json.loads(line) for line in answer.text.splitlines()]


def export_of(http: httpx2.Client, user: str) -> str:
    return str(http.get(f"/api/crew/users/{user}/export").text)


def bytes_with(folder: Path, word: str) -> list[str]:
    found = (folder / ".crew").rglob("*")
    return [one.name for one in found if one.is_file() and word.encode() in one.read_bytes()]


def test_all_of_a_person_is_exported_and_erased(folder: Path):
    """And nothing of another one: the database, its log and all files are looked through."""
    with serving(folder, CREW_API_TOKENS=",".join(ENTRIES)) as server, client(server) as http:
        for user in ("ann", "eve"):
            fill(http, user)
        lines = export(http, "ann")
        kinds = {line["kind"] for line in lines}
        assert kinds == {
            *("run", "event", "conversation", "exchange", "core", "recall", "document"),
            *("call", "audit", "end"),
        }
        assert "canary-of-eve" not in json.dumps(lines)
        end = lines[-1]["value"]
        assert (end["run"], end["conversation"], end["core"], end["recall"]) == (5, 2, 2, 1)
        documents = [line["value"] for line in lines if line["kind"] == "document"]
        texts = [one["text"] for one in documents if "text" in one]
        assert [text.split()[0] for text in texts] == ["two", "two"]
        (image,) = [one["content"] for one in documents if "content" in one]
        assert base64.b64decode(image) == png() + b"canary-of-ann-7f3"
        assert sum(end.values()) == len(lines) - 1
        for as_, status in (("eve", 403), ("reader", 200), ("admin", 200)):
            answer = http.get("/api/crew/users/ann/export", headers=auth(as_))
            assert answer.status_code == status
        assert http.delete("/api/crew/users/ann", headers=auth("reader")).status_code == 403
        assert http.delete("/api/crew/users/ann", headers=auth("eve")).status_code == 403
        # one that is at work is ended
        body = {"query": "wait", "user_id": "ann"}
        begun = http.post("/api/crew/runs", json=body, headers=auth("acting"))
        assert begun.status_code == 202, begun.text
        answer = http.delete("/api/crew/users/ann", headers=auth("ann"))
        assert answer.status_code == 202
        until(lambda: export(http, "ann", "admin")[-1]["value"] in ({}, {"audit": 1}))
        assert ask(http, "eve", "own")["answer"] == CANARY.format(user="eve")
        assert export(http, "eve")[-1]["value"]["run"] == 6
        assert (
            http.get(f"/api/crew/runs/{begun.json()['run_id']}", headers=auth("admin")).status_code
            == 404
        )
        entries = crew("audit", folder, "--json").stdout
        assert "/users/ann" not in entries
        assert '"action":"erase"' in entries.replace(" ", "")
        # the same id again: nothing old is there
        assert http.get("/api/crew/users/ann/recall", headers=auth("ann")).json()["items"] == []
        http.delete("/api/crew/users/ann", headers=auth("ann"))
        until(lambda: not bytes_with(folder, "canary-of-ann"))
    assert bytes_with(folder, "canary-of-ann") == []
    assert bytes_with(folder, "canary-of-eve") != []


def test_the_id_of_a_person_goes_too(folder: Path):
    """Also where the token has its name: from calls, sums, the audit, and what is left of chores."""
    token = {"Authorization": f"Bearer {'z' * 32}"}
    with serving(folder, CREW_API_TOKENS=f"zq7ann+read+run+answer:{'z' * 32}") as server:
        with client(server, headers=token) as http:
            sent = {"conversation_id": "zq7-talk"}
            paused = http.post("/api/crew/run", json={"query": "pay", **sent}).json()
            decision = {"call_id": "call_1_1", "decision": "approve", "remember": "always"}
            answer = {"query": "so", "run_id": paused["run_id"], "decisions": [decision]}
            assert http.post("/api/crew/run", json=answer).json()["status"] == "completed"
            # approved by what was given in the conversation
            alone = http.post("/api/crew/run", json={"query": "pay"}).json()
            assert alone["status"] == "completed"
            lines = [json.loads(one) for one in export_of(http, "zq7ann").splitlines()]
            assert lines[-1]["value"]["grant"] == 1
            image = {"query": "own", "attachments": [{"image": data_url(png())}], **sent}
            assert http.post("/api/crew/run", json=image).status_code == 200
            costs = http.get("/api/crew/costs", params={"by": "token,conversation"}).json()
            assert {row["token"] for row in costs["rows"]} == {"zq7ann"}
            assert http.delete("/api/crew/users/zq7ann").status_code == 202
            until(lambda: not bytes_with(folder, "zq7"))
            entries = json.loads(crew("audit", folder, "--json").stdout.splitlines()[0])
            assert (entries["action"], entries["name"]) == ("erase", "")


def test_an_erasure_fills_no_budget(folder: Path):
    """Who was erased has used what was used, and is not known by it until they come again."""
    text = (folder / "crew.yaml").read_text()
    (folder / "crew.yaml").write_text(text.replace("calls: 30", "calls: 2"))
    with serving(folder, CREW_API_TOKENS=",".join(ENTRIES)) as server, client(server) as http:
        who = auth("ann")
        for _ in range(2):
            done = http.post("/api/crew/run", json={"query": "hello"}, headers=who)
            assert done.status_code == 200, done.text
        assert http.post("/api/crew/run", json={"query": "hello"}, headers=who).status_code == 402
        assert http.delete("/api/crew/users/ann", headers=who).status_code == 202
        until(lambda: not bytes_with(folder, '"ann"'))
        assert http.post("/api/crew/run", json={"query": "hello"}, headers=who).status_code == 402


def test_a_killed_process_leaves_the_rest_to_the_next(folder: Path):
    server = start_server(folder, CREW_API_TOKENS=",".join(ENTRIES))
    with client(server) as http:
        fill(http, "ann")
        assert http.delete("/api/crew/users/ann", headers=auth("ann")).status_code == 202
    server.kill()
    shown = crew("forget", folder, "--user", "ann").stdout
    assert shown.startswith("Erased ann")
    assert bytes_with(folder, "canary-of-ann") == []


def test_the_command_erases_beside_a_server(folder: Path):
    with serving(folder, CREW_API_TOKENS=",".join(ENTRIES)) as server, client(server) as http:
        fill(http, "ann")
        fill(http, "eve")
        done = subprocess.run(
            [BIN / "crew", "forget", folder, "--user", "ann"],
            capture_output=True,
            text=True,
            env=clean_environment(),
            check=False,
        )
        assert done.returncode in (0, 3), done.stderr
        until(lambda: export(http, "ann", "admin")[-1]["value"] in ({}, {"audit": 1}))
        assert export(http, "eve")[-1]["value"]["run"] == 5
    again = crew("forget", folder, "--user", "ann").stdout
    assert again.startswith("Erased ann")


def test_a_user_beside_one_with_a_longer_id(folder: Path):
    """`ann` is not shown what is kept of `ann:bo`, and pays for none of it."""
    tokens = f"ann+read+run:{'a' * 32},shop+read+run+act_as:{'s' * 32}"
    text = (folder / "crew.yaml").read_text()
    (folder / "crew.yaml").write_text(text.replace("calls: 30", "calls: 3"))
    described = {"helper": "describe", "say": '{"summary": "salaries"}'}
    (folder / "script.yaml").write_text(json.dumps({"rules": [described, *RULES]}))
    with serving(folder, CREW_API_TOKENS=tokens) as server, client(server) as http:
        shop = {"Authorization": f"Bearer {'s' * 32}"}
        place = {"conversation_id": "c1", "user_id": "ann:bo"}
        first = http.post("/api/crew/run", json={"query": "hello", **place}, headers=shop)
        assert first.status_code == 200, first.text
        sent = http.put(
            "/api/crew/documents/sent/salary.txt", params=place, content=b"9000", headers=shop
        )
        assert sent.status_code == 202, sent.text
        until(
            lambda: (
                http.get("/api/crew/documents/sent/salary.txt", params=place, headers=shop).json()[
                    "status"
                ]
                == "ready"
            )
        )
        own = {"Authorization": f"Bearer {'a' * 32}"}
        exported = http.get("/api/crew/users/ann/export", headers=own)
        assert (exported.status_code, "9000" in exported.text) == (200, False)
        for _ in range(3):
            begun = http.post("/api/crew/run", json={"query": "hello"}, headers=own)
            assert (begun.status_code, begun.json()["answer"]) == (200, "well")
