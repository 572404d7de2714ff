"""A crew's files are edited through the server, and taken back to an earlier revision."""

import subprocess
from pathlib import Path
from threading import Thread
from typing import Any

import httpx2
import pytest
import yaml

from tests.support.crews import write_crew
from tests.support.processes import client, serving, until

ADMIN = "an-admin-token-0001"
READER = "a-reader-token-0001"
TOKENS = f"olga+admin:{ADMIN},rita+read:{READER}"
SECRET = "sk-live-1234567890abcdef"
AGENTS = {"desk": {"tools": ["disk"]}, "closer": {"is_terminal": True}}
CREW: dict[str, Any] = {
    "routing": {"signals": {"desk": [{"signal": "[DONE]", "target": "closer"}]}},
    "providers": {"lab": {"base_url": "http://127.0.0.1:9/v1", "api_key": SECRET}},
    "settings": {"show_prompts": False},
}
TOOLS = {
    "disk": {
        "kind": "command",
        "argv": ["df"],
        "description": "Says what is free.",
        "requires_approval": True,
    }
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write_crew(tmp_path / "crew", AGENTS, tools=TOOLS, **CREW)


def as_admin(server: Any, **headers: str) -> httpx2.Client:
    return client(server, headers={"Authorization": f"Bearer {ADMIN}", **headers})


def texts_of(http: httpx2.Client) -> tuple[str, dict[str, str]]:
    found = http.get("/api/crew/files").json()
    return found["base"], {one["path"]: one["text"] for one in found["files"]}


def put(http: httpx2.Client, base: str, why: str = "a good reason", **more: Any) -> httpx2.Response:
    return http.put("/api/crew/files", json={"base": base, "why": why, **more})


def test_files_are_edited_and_taken_back(folder: Path):
    """The literal secret of a provider is never shown, and stands in the file as before."""
    before = {path: path.read_bytes() for path in folder.rglob("*.yaml")}
    with serving(folder, CREW_API_TOKENS=TOKENS, CREW_EDIT="1") as server, as_admin(server) as http:
        base, texts = texts_of(http)
        assert SECRET not in str(texts)
        assert 'api_key: "***"' in texts["crew.yaml"]
        files = {
            "agents/desk.yaml": texts["agents/desk.yaml"].replace("You are desk.", "You are kind."),
            "crew.yaml": texts["crew.yaml"].replace("[DONE]", "[READY]"),
        }
        checked = http.post("/api/crew/files/check", json={"files": files}).json()
        assert "literal-secret" in [one["code"] for one in checked["problems"]]
        assert checked["refused"] == []
        texts_of_diff = [one["text"] for one in checked["diff"]]
        assert "route desk [READY] → closer is new" in texts_of_diff
        assert "agent desk: system_prompt, 1 line" in texts_of_diff
        assert "[READY]" in [one["label"] for one in checked["graph"]["edges"]]
        assert before == {path: path.read_bytes() for path in folder.rglob("*.yaml")}
        saved = put(http, base, files=files).json()
        assert (saved["number"], saved["changed"]) == (2, True)
        assert http.get("/api/crew").json()["config"]["revision"] == saved["revision"] != base
        written = (folder / "crew.yaml").read_text()
        assert written == before[folder / "crew.yaml"].decode().replace("[DONE]", "[READY]")
        assert SECRET in written
        assert put(http, base, files={}).status_code == 409, "the base is not served any more"
        stale = http.post("/api/crew/revisions/1/rollback", json={"reason": "back", "base": base})
        assert stale.status_code == 409
        assert {"path", "base_text", "text"} == set(stale.json()["files"][0])
        back = http.post("/api/crew/revisions/1/rollback", json={"reason": "it was better"}).json()
        assert (back["revision"], back["number"], back["others"]) == (base, 3, [])
        assert before == {path: path.read_bytes() for path in folder.rglob("*.yaml")}
        listed = http.get("/api/crew/revisions?limit=2").json()
        told = [
            (one["number"], one["source"], one["by"], one["why"]) for one in listed["revisions"]
        ]
        assert told == [
            (3, "rollback", "olga", "it was better"),
            (2, "edit", "olga", "a good reason"),
        ]
        assert (listed["next"], [one["current"] for one in listed["revisions"]]) == (
            2,
            [True, False],
        )
        rest = http.get("/api/crew/revisions", params={"after": 2}).json()["revisions"]
        assert [(one["number"], one["source"], one["current"]) for one in rest] == [
            (1, "start", False)
        ]
        diff = http.get("/api/crew/revisions/2/diff").json()
        assert (diff["from"]["number"], diff["to"]["hash"]) == (2, base)
        assert SECRET not in str(diff)
        assert [one["path"] for one in diff["files"]] == ["agents/desk.yaml", "crew.yaml"]
        shown = http.get(f"/api/crew/revisions/{base[:6]}").json()
        assert shown["number"] == 3, "of one hash the newest"
        assert SECRET not in str(shown)
        assert {one["path"]: one["text"] for one in shown["files"]} == texts
        assert http.get("/api/crew/revisions/99").status_code == 404
    audit = subprocess.run(
        [Path(".venv/bin/crew"), "audit", folder], capture_output=True, text=True, check=True
    ).stdout
    assert "it was better" in audit


def test_a_secret_of_the_environment_stays_in_a_prompt(folder: Path):
    """Where a text has it: it is hidden as it is everywhere, and not lost by a save."""
    prompt = "The password of the lab is\ncorrect-horse-battery\nand nothing else.\n"
    desk = folder / "agents" / "desk.yaml"
    data = yaml.safe_load(desk.read_text()) | {"system_prompt": prompt}
    desk.write_text(yaml.safe_dump(data, sort_keys=False))
    given = {"CREW_EDIT": "1", "LAB_PASSWORD": "correct-horse-battery"}
    with serving(folder, **given) as server, client(server) as http:
        base, texts = texts_of(http)
        text = texts["agents/desk.yaml"]
        assert "correct-horse" not in text
        edited_text = text.replace("nothing else", "no more")
        assert put(http, base, files={"agents/desk.yaml": edited_text}).status_code == 200
        assert "correct-horse-battery" in desk.read_text()
        assert "no more" in desk.read_text()
        base, texts = texts_of(http)
        line = next(one for one in texts["agents/desk.yaml"].splitlines() if "***" in one)
        changed = texts["agents/desk.yaml"].replace(line, f"{line} now")
        lost = put(http, base, files={"agents/desk.yaml": changed})
        assert (lost.status_code, lost.json()["problems"][0]["code"]) == (422, "unset-variable")


def test_what_a_reader_sees(folder: Path):
    """Prompts only where `show_prompts` allows; nothing is changed without `admin`."""
    with serving(folder, CREW_API_TOKENS=TOKENS, CREW_EDIT="1") as server:
        reader = {"Authorization": f"Bearer {READER}"}
        with client(server, headers=reader) as http:
            shown = http.get("/api/crew/revisions/1").json()
            texts = {one["path"]: one["text"] for one in shown["files"]}
            assert texts["agents/desk.yaml"] is None
            assert "[DONE]" in texts["crew.yaml"]
            assert http.get("/api/crew/files").status_code == 403
            back = http.post("/api/crew/revisions/1/rollback", json={"reason": "why not"})
            assert back.status_code == 403
        with client(server, headers={"Authorization": f"Bearer {ADMIN}"}) as http:
            foreign = http.get("/api/crew/files", headers={"Origin": "https://evil.example"})
            assert foreign.status_code == 403
            base, files = texts_of(http)
            blocks = "context: { blocks: [history, { kind: text, text: Be brief. }] }\n"
            saved = put(http, base, files={"crew.yaml": files["crew.yaml"] + blocks})
            assert saved.status_code == 200, saved.text
        with client(server, headers=reader) as http:
            # a file that is shown of one revision alone is not one that was deleted
            diff = http.get("/api/crew/revisions/1/diff").json()
            assert diff["files"] == []
            assert "Be brief" not in str(diff)


def test_it_is_off_unless_it_is_allowed(folder: Path):
    with serving(folder) as server, client(server) as http:
        for answer in (
            http.get("/api/crew/files"),
            http.post("/api/crew/files/check", json={}),
            put(http, "0" * 16),
            http.post("/api/crew/revisions/1/rollback", json={"reason": "why not"}),
        ):
            assert (answer.status_code, answer.json()["code"]) == (403, "editing-off")
        assert http.get("/api/crew/revisions").json()["revisions"][0]["source"] == "start"


def edited(text: str, path: str, value: Any) -> str:
    data = yaml.safe_load(text)
    inner = data
    *parents, last = path.split(".")
    for part in parents:
        inner = inner[part]
    if value is None:
        del inner[last]
    else:
        inner[last] = value
    return yaml.safe_dump(data, sort_keys=False)


WIDER = {
    "another program": ("tools.yaml", "tools.disk.argv", ["cat", "/etc/passwd"]),
    "network": ("tools.yaml", "tools.disk.network", True),
    "a folder that it may write": ("tools.yaml", "tools.disk.write", ["."]),
    "no approval": ("tools.yaml", "tools.disk.requires_approval", None),
    "a tool more": (
        "tools.yaml",
        "tools.post",
        {"kind": "http", "url": "https://evil.example/", "description": "Posts."},
    ),
    "another model": ("crew.yaml", "providers.lab.base_url", "https://evil.example/v1"),
    "a secret that it reads": ("crew.yaml", "providers.lab.api_key", "${AWS_SECRET_ACCESS_KEY}"),
    "prompts that all see": ("crew.yaml", "settings.show_prompts", True),
}


def test_what_lets_the_server_do_more_is_refused(folder: Path):
    """With its line; also where an alias or a merge of YAML hides it."""
    environment = {"CREW_EDIT": "1", "AWS_SECRET_ACCESS_KEY": "the-key-of-the-cloud"}
    with serving(folder, **environment) as server, client(server) as http:
        base, texts = texts_of(http)
        for file, path, value in WIDER.values():
            files = {file: edited(texts[file], path, value)}
            refused = put(http, base, files=files)
            assert (refused.status_code, refused.json().get("code")) == (403, "wider-reach"), path
            line = refused.json()["refused"][0]
            assert (line["source_now"] or line["source_then"] or "").startswith(file), path
            assert http.post("/api/crew/files/check", json={"files": files}).json()["refused"]
        hidden = texts["tools.yaml"].replace("requires_approval: true", "<<: &free {}")
        assert hidden != texts["tools.yaml"]
        assert put(http, base, files={"tools.yaml": hidden}).json()["code"] == "wider-reach"
        narrower = edited(texts["tools.yaml"], "tools.disk.retries", 1)
        assert put(http, base, files={"tools.yaml": narrower}).status_code == 200
    with serving(folder, **{**environment, "CREW_EDIT": "all"}) as server, client(server) as http:
        base, texts = texts_of(http)
        files = {"tools.yaml": edited(texts["tools.yaml"], "tools.disk.network", True)}
        assert put(http, base, files=files).status_code == 200


WRONG_NAMES = (
    *("../crew.yaml", "/etc/crew.yaml", "agents/../crew.yaml", "agents/%2e%2e/x.yaml", "a\0.yaml"),
    *(".crew/x.yaml", "agents/.hidden.yaml", "Crew.yaml", "AGENTS/desk.yaml", "agents/Desk.yaml"),
    *(
        "shop.py",
        "mcp.lock.json",
        "prices.json",
        "agents",
        "more/desk.yaml",
        "notes.txt",
        "agents/x",
    ),
)


def test_other_files_are_not_written(folder: Path):
    with serving(folder, CREW_EDIT="all") as server, client(server) as http:
        (folder / "more").symlink_to(folder / "agents")
        base, texts = texts_of(http)
        for name in WRONG_NAMES:
            answer = put(http, base, files={name: texts["agents/desk.yaml"]})
            assert answer.status_code == 400, name
        linked = put(http, base, files={"more/desk.yaml": "name: x"})
        assert "leads over a link" in linked.json()["detail"]
        gone = put(http, base, delete=["nothing.yaml"])
        assert (gone.status_code, gone.json()["errors"][0]["field"]) == (400, "nothing.yaml")
        assert put(http, base, why="x", files={}).status_code == 400
        assert put(http, base, why="   \n  ", files={}).status_code == 400
        assert put(http, base, files={"crew.yaml": "name: ["}).status_code == 422
        renamed = texts["crew.yaml"].replace("  lab:", "  labs:")
        unknown = put(http, base, files={"crew.yaml": renamed})
        assert unknown.status_code == 422
        assert unknown.json()["problems"][0]["code"] == "unset-variable"
        assert SECRET in (folder / "crew.yaml").read_text()
        assert put(http, base, files={}).status_code == 200, "nothing has changed"
        (folder / "agents" / "desk.yaml").write_text(texts["agents/desk.yaml"] + "# by hand\n")
        between = put(http, base, files={})
        assert (between.status_code, between.json()["files"][0]["path"]) == (
            409,
            "agents/desk.yaml",
        )


def test_a_save_passes_the_gate_first(folder: Path):
    (folder / "tests").mkdir()
    case = {"name": "one", "query": "hello", "says": {"desk": "bye [DONE]", "closer": "closed"}}
    case["expect"] = {"path": ["desk", "closer", "end"]}
    (folder / "tests" / "one.yaml").write_text(yaml.safe_dump({"rehearsals": [case]}))
    text = (folder / "crew.yaml").read_text()
    (folder / "crew.yaml").write_text(text + "reload_gate: {rehearsals: true}\n")
    with serving(folder, CREW_EDIT="1") as server, client(server) as http:
        base, texts = texts_of(http)
        ends = [{"signal": "[DONE]", "target": None}]
        broken = {"crew.yaml": edited(texts["crew.yaml"], "routing.signals.desk", ends)}
        refused = put(http, base, files=broken)
        assert refused.status_code == 422
        assert "reload-gate" in refused.text
        assert "target: closer" in (folder / "crew.yaml").read_text()
        good = {"agents/desk.yaml": texts["agents/desk.yaml"].replace("You are", "You may be")}
        saved = put(http, base, files=good)
        assert saved.status_code == 200, saved.text


def test_two_saves_at_once(folder: Path):
    """One is written, the other learns what came between."""
    with serving(folder, CREW_EDIT="1") as server, client(server) as http:
        base, texts = texts_of(http)
        found: list[httpx2.Response] = []

        def save(word: str) -> None:
            text = texts["agents/desk.yaml"].replace("You are desk.", f"You are {word}.")
            with client(server) as other:
                found.append(put(other, base, files={"agents/desk.yaml": text}))

        both = [Thread(target=save, args=(word,)) for word in ("one", "two")]
        for one in both:
            one.start()
        until(lambda: len(found) == 2)
        assert sorted(one.status_code for one in found) == [200, 409]


def test_rehearsals_of_a_draft_call_no_tool(tmp_path: Path):
    """A draft brings no rehearsal that calls a real tool, and no tool that may be called again by itself."""
    code = 'from pathlib import Path\n\n\ndef pay(to: str) -> str:\n    """Pay."""\n    Path(__file__).with_name("PAID").write_text(to)\n    return to\n'
    tool = {
        "kind": "python",
        "function": "acts.py:pay",
        "effect": "once",
        "requires_approval": True,
    }
    folder = write_crew(tmp_path / "crew", {"a": {"tools": ["pay"]}}, [{"say": "x"}], {"pay": tool})
    (folder / "acts.py").write_text(code)
    agent = yaml.safe_load((folder / "agents" / "a.yaml").read_text())
    agent["context"] = {"blocks": [{"kind": "text", "file": "tests/evil.yaml"}, "history"]}
    evil = {
        "rehearsals": [
            {
                "name": "evil",
                "query": "pay",
                "says": {"a": [{"calls": [{"tool": "pay", "arguments": {"to": "mallory"}}]}, "x"]},
                "returns": {"pay": {"real": True}},
                "answers": [{"approve": True}],
                "expect": {"answer": "x"},
            }
        ]
    }
    again = yaml.safe_load((folder / "tools.yaml").read_text())
    again["tools"]["pay"]["effect"] = "idempotent"
    changed = {"tools.yaml": yaml.safe_dump(again)}
    with serving(folder, CREW_EDIT="1") as server, client(server) as http:
        files = {"agents/a.yaml": yaml.safe_dump(agent), "tests/evil.yaml": yaml.safe_dump(evil)}
        refused = http.post("/api/crew/files/rehearsals", json={"files": {**files, **changed}})
        assert (refused.status_code, "rehearsal" in refused.text) == (400, True), refused.text
        (folder / "tests").mkdir()
        (folder / "tests" / "real.yaml").write_text(yaml.safe_dump(evil))
        refused = http.post("/api/crew/files/rehearsals", json={"files": changed})
        assert (refused.status_code, refused.json()["code"]) == (403, "wider-reach")
        assert "effect is idempotent" in refused.text
        # as it is, it is not called
        http.post("/api/crew/files/rehearsals", json={})
        base, _ = texts_of(http)
        assert put(http, base, files=changed).status_code == 403
    assert not (folder / "PAID").exists()
