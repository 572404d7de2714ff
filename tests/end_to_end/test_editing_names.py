"""Names in files that are edited: where they stand, and another one for them, over HTTP."""

from pathlib import Path
from typing import Any

from tests.end_to_end.test_editing import SECRET, put, texts_of
from tests.support.crews import copy_example, write_crew
from tests.support.processes import client, serving


def test_names_are_found_and_changed(tmp_path: Path):
    """In files that are not written; secrets stay hidden, and what is not possible is said."""
    routing = {"signals": {"desk": [{"signal": "[GO]", "target": "closer"}]}}
    providers = {"lab": {"base_url": "http://127.0.0.1:9/v1", "api_key": SECRET}}
    agents: dict[str, Any] = {"desk": {}, "closer": {"is_terminal": True}}
    folder = write_crew(tmp_path / "crew", agents, routing=routing, providers=providers)
    with serving(folder, CREW_EDIT="1") as server, client(server) as http:
        base, texts = texts_of(http)
        lines = texts["crew.yaml"].splitlines()
        line = next(number for number, one in enumerate(lines, 1) if one.strip() == "- desk")
        place = {"path": "crew.yaml", "line": line, "column": lines[line - 1].index("desk") + 1}
        found = http.post("/api/crew/files/names", json=place).json()
        assert (found["kind"], found["name"]) == ("agent", "desk")
        made = [one["path"] for one in found["places"] if one["is_made"]]
        assert made == ["agents/desk.yaml"]
        assert {one["path"] for one in found["places"]} == {"crew.yaml", "agents/desk.yaml"}
        nothing = http.post("/api/crew/files/names", json={**place, "line": 10_000}).json()
        assert nothing == {"kind": None, "name": None, "places": []}
        for wrong, words in (("closer", "closer"), ("a b", "is no id of an agent")):
            refused = http.post("/api/crew/files/rename", json={**place, "name": wrong})
            assert (refused.status_code, words in refused.text) == (422, True), refused.text
        renamed = http.post("/api/crew/files/rename", json={**place, "name": "front"})
        assert SECRET not in renamed.text
        changed = {one["path"]: one["text"] for one in renamed.json()["files"]}
        assert renamed.json()["delete"] == ["agents/desk.yaml"]
        assert changed.keys() == {"crew.yaml", "agents/front.yaml"}
        saved = put(http, base, files=changed, delete=["agents/desk.yaml"])
        assert saved.status_code == 200, saved.text
    assert SECRET in (folder / "crew.yaml").read_text()


def test_rehearsals_are_changed_on_the_machine(tmp_path: Path):
    """Those that have the name that was fail when they are played with the draft."""
    folder = copy_example("routing", tmp_path)
    with serving(folder, CREW_EDIT="1") as server, client(server) as http:
        _, texts = texts_of(http)
        lines = texts["crew.yaml"].splitlines()
        line = next(number for number, one in enumerate(lines, 1) if one.startswith("agents:"))
        place = {"path": "crew.yaml", "line": line, "column": lines[line - 1].index("billing") + 1}
        renamed = http.post("/api/crew/files/rename", json={**place, "name": "till"}).json()
        files = {one["path"]: one["text"] for one in renamed["files"]}
        assert "tests" not in {path.split("/")[0] for path in files}
        draft = {"files": files, "delete": renamed["delete"]}
        played = http.post("/api/crew/files/rehearsals", json=draft)
        assert "billing" in played.text, played.text
        assert played.json().get("failed") or played.status_code == 422
