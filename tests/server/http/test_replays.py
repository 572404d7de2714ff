"""What today's crew would do with a run, what a reload would come to, and a gate that refuses one."""

import json
import subprocess
from pathlib import Path
from typing import Any

import httpx2
import pytest
from playwright.sync_api import Browser, expect

from tests.crew.rehearsal.test_replays import edit
from tests.support.browser import NEEDS_CHROMIUM, opened_page
from tests.support.crews import copy_example
from tests.support.processes import BIN, ServerProcess, client, serving


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return copy_example("routing", tmp_path)


def ran(server: ServerProcess, query: str) -> str:
    with client(server) as http:
        run_id: str = http.post("/api/crew/run", json={"query": query}).json()["run_id"]
        return run_id


def test_what_todays_crew_would_do(folder: Path):
    with serving(folder) as server, client(server) as http:
        run_id = ran(server, "Where is my money?")
        revision = http.get("/api/crew").json()["config"]["revision"]
        address = f"/api/crew/runs/{run_id}/replay"
        same = http.post(address, json={}).json()
        assert (same["verdict"], same["steps_then"]) == ("same", same["steps_now"])
        assert same["steps_then"] == ["[BILLING] → billing", "end: terminal"]
        edit(folder, "crew.yaml", {"routing.signals.desk.0.target": "technician"})
        assert http.post("/api/crew/reload").json()["changed"]
        other = http.post(address, json={"on": "current"}).json()
        assert (other["verdict"], other["step"]) == ("other way", 1)
        assert other["steps_now"][0] == "[BILLING] → technician"
        assert other["source_now"].startswith("crew.yaml:")
        assert http.post(address, json={"on": revision}).json()["verdict"] == "same"
        assert http.post(address, json={"on": "0" * 16}).status_code == 404
        assert http.post(address, json={"on": "main"}).status_code == 400
        assert http.post("/api/crew/runs/nix/replay", json={}).status_code == 404
        metrics = http.get("/metrics").text
        assert 'crew_replays_total{verdict="same"} 2.0' in metrics
        assert len(http.get("/api/crew/runs").json()["runs"]) == 1, "a replay stores nothing"


def test_the_run_of_another_person_is_not_there(folder: Path):
    """Neither its replay nor its file; in the same bytes as one that does not exist."""
    tokens = {name: f"{name}-0123456789abcdef" for name in ("ann", "eve")}
    entries = ",".join(f"{name}:{token}" for name, token in tokens.items())
    with serving(folder, CREW_API_TOKENS=entries) as server, client(server) as http:

        def call(name: str, method: str, path: str, **more: Any) -> httpx2.Response:
            headers = {"Authorization": f"Bearer {tokens[name]}"}
            return http.request(method, f"/api/crew/{path}", headers=headers, **more)

        run_id = call("ann", "POST", "run", json={"query": "money"}).json()["run_id"]
        assert call("ann", "POST", f"runs/{run_id}/replay", json={}).status_code == 200
        for method, path in (("POST", "replay"), ("GET", "cassette")):
            body: dict[str, Any] = {"json": {}} if method == "POST" else {}
            hidden = call("eve", method, f"runs/{run_id}/{path}", **body)
            absent = call("eve", method, f"runs/{'0' * len(run_id)}/{path}", **body)
            assert (hidden.status_code, absent.status_code) == (404, 404)
            shown = absent.text.replace("0" * len(run_id), run_id)
            assert hidden.text == shown


@NEEDS_CHROMIUM
def test_the_page_of_a_run_shows_both_ways(browser: Browser, folder: Path):
    """And marks where they part, with the line that has led there."""
    with serving(folder) as server, opened_page(browser) as page, client(server) as http:
        run_id = ran(server, "Where is my money?")
        page.goto(f"{server.url}/runs/{run_id}")
        ask = page.get_by_role("button", name="What would today's crew do?")
        ask.click()
        expect(page.locator(".replay .verdict")).to_have_text("the same")
        expect(page.locator(".replay .parts")).to_have_count(0)
        edit(folder, "crew.yaml", {"routing.signals.desk.0.target": "technician"})
        http.post("/api/crew/reload")
        ask.click()
        expect(page.locator(".replay .verdict")).to_have_text("another way, for certain")
        expect(page.locator(".replay .parts")).to_have_text(
            ["[BILLING] → billing", "[BILLING] → technician"]
        )
        expect(page.locator(".replay code")).to_contain_text("crew.yaml:")
        with page.expect_download() as download:
            page.get_by_role("link", name="Keep as a rehearsal").click()
        assert download.value.suggested_filename == f"{run_id}.yaml"
        assert "- name: Where is my money?" in Path(download.value.path()).read_text()


def test_a_run_is_kept_as_a_file(folder: Path):
    """Of the crew's tests, and as a cassette; not before it has ended."""
    with serving(folder) as server, client(server) as http:
        run_id = ran(server, "Where is my money? jo@example.com")
        rehearsal = http.get(f"/api/crew/runs/{run_id}/rehearsal")
        cassette = http.get(f"/api/crew/runs/{run_id}/cassette")
        assert http.get("/api/crew/runs/nix/cassette").status_code == 404
    assert rehearsal.headers["content-type"] == "application/yaml"
    assert rehearsal.headers["content-disposition"] == f'attachment; filename="{run_id}.yaml"'
    assert "jo@example.com" not in rehearsal.text + cassette.text
    header, *lines = [json.loads(line) for line in cassette.text.splitlines()]
    assert (header["v"], header["run"]) == (1, run_id)
    types = [one["type"] for one in lines]
    assert types == ["segment", "asked", "answered", "asked", "answered"]
    (folder / "tests" / "kept.yaml").write_text(rehearsal.text)
    command: list[str | Path] = [BIN / "crew", "test", folder, "tests/kept.yaml"]
    assert subprocess.run(command, capture_output=True).returncode == 0


def test_what_a_reload_would_come_to(folder: Path):
    with serving(folder) as server, client(server) as http:
        ran(server, "Where is my money?")
        nothing = http.post("/api/crew/reload?check=1").json()
        assert (nothing["problems"], nothing["diff"]) == ([], [])
        assert nothing["rehearsals"]["failed"] == 0
        assert nothing["replays"]["verdicts"] == {"same": 1}
        edit(folder, "crew.yaml", {"routing.signals.desk.0.target": None})
        found = http.post("/api/crew/reload?check=1").json()
        assert found["diff"][0]["text"] == "route desk [BILLING] → the end (was billing)"
        assert found["rehearsals"] is None, "its files have a mistake"
        assert found["replays"]["other_way"] == 1
        (folder / "crew.yaml").write_text("agents: [nix]\n")
        broken = http.post("/api/crew/reload?check=1").json()
        assert broken["problems"][0]["code"] == "missing-agent"
        assert (broken["rehearsals"], broken["replays"]) == (None, None)
        config = http.get("/api/crew").json()["config"]
        assert config["last_reload"]["successful"], "nothing was changed"


def test_a_gate_refuses_what_rehearsals_or_replays_refuse(folder: Path):
    edit(
        folder,
        "crew.yaml",
        {"reload_gate": {"rehearsals": True, "replay": {"at_most": "10%", "seconds": 120}}},
    )
    with serving(folder) as server, client(server) as http:
        ran(server, "Where is my money?")
        served = http.get("/api/crew").json()["config"]["revision"]
        edit(folder, "agents/desk.yaml", {"system_prompt": "Be quick."})
        assert http.post("/api/crew/reload").json()["changed"], (
            "the same way, if models say the same"
        )
        served = http.get("/api/crew").json()["config"]["revision"]
        edit(folder, "crew.yaml", {"routing.signals.desk.0.target": None})
        refused = http.post("/api/crew/reload")
        assert refused.status_code == 422
        texts = [one["message"] for one in refused.json()["problems"]]
        assert [one.partition(" ")[0] for one in texts] == ["tests/desk.yaml:9:", "100%"]
        assert "nothing leads from desk to billing" in texts[0]
        assert "1 runs go another way, more than 10%: step 1: end: signal" in texts[1]
        config = http.get("/api/crew").json()["config"]
        assert (config["revision"], config["last_reload"]["successful"]) == (served, False)
        assert http.post("/api/crew/reload?force=1").json()["changed"]
        forced = http.get("/api/crew").json()["config"]["revision"]
    command: list[str | Path] = [BIN / "crew", "audit", folder, "--json", "--action", "reload"]
    entries = subprocess.run(command, capture_output=True, check=True).stdout.splitlines()
    details = {json.loads(one)["detail"] for one in entries}
    assert details == {served, f"{forced}, forced"}


@NEEDS_CHROMIUM
def test_the_page_of_the_crew_shows_what_rehearsals_check(browser: Browser, tmp_path: Path):
    """Ways that none takes stay grey; what is never checked is listed, and failures, and mistakes of the files."""
    folder = copy_example("on-call", tmp_path)
    with serving(folder) as server, opened_page(browser) as page, client(server) as http:
        page.goto(f"{server.url}/crew")
        play = page.get_by_role("button", name="Play the rehearsals")
        play.click()
        counts = page.locator(".rehearsals .counts")
        expect(counts).to_contain_text("14 passed, 0 failed")
        expect(counts).to_contain_text("routes 6/6, people 5/5")
        expect(page.locator(".graph .way.covered").first).to_be_attached()
        expect(page.locator(".graph .way.never")).to_have_count(0)
        path = folder / "tests" / "restart.yaml"
        path.write_text(
            "rehearsals: [{ name: one, query: hello, says: { triage: [hm] }, expect: { end: paused } }]\n"
        )
        play.click()
        expect(counts).to_contain_text("1 passed")
        expect(page.locator(".graph .way.never").first).to_be_attached()
        page.locator("summary", has_text="never checked").click()
        expect(page.locator(".rehearsals li").first).to_contain_text("crew.yaml:")
        path.write_text("rehearsals: [{ name: one, query: hello, expect: { pth: [a] } }]\n")
        play.click()
        expect(page.get_by_role("alert")).to_contain_text("tests/restart.yaml:1")
        assert http.post("/api/crew/rehearsals", json={"x": 1}).status_code == 400
        assert http.get("/api/crew/replays").json() == {"newest": None}
