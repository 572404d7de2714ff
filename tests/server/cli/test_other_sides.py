"""What is no crew's server, and what is no address or argument: said in a line, never as a traceback."""

import asyncio
import json
from pathlib import Path

import pytest

from tests.support.crews import write_crew
from tests.support.forked import crew
from tests.support.model_server import http, model_server
from tests.support.processes import client, serving

COMMANDS = ("runs", "show", "doctor", "run")


@pytest.mark.parametrize("answer", ["[1, 2]", '"x"', "null", "{}", "<html>", "[" * 100_000])
async def test_another_server(answer: str):
    """It answers all, and is none of ours."""
    async with model_server(lambda _: http(200, answer.encode())) as server:
        url = server.url.removesuffix("/v1")
        for name in COMMANDS:
            words = {"show": ["last"], "run": ["hello"], "search": ["word"]}.get(name, [])
            ended = await asyncio.to_thread(crew, name, *words, "--server", url)
            assert ended.returncode == 1, (name, ended.stdout, ended.stderr)
            assert "Traceback" not in ended.stderr
            assert len(ended.stderr.splitlines()) <= 3, ended.stderr


@pytest.mark.parametrize(
    "address",
    [
        "https://[::1",
        "http://127.0.0.1:abc",
        "http://127.0.0.1:99999",
        "http://127.0.0.1:80?",
        "http://127.0.0.1:80/#x",
        "http://127.0.0.1:80/\x07",
    ],
)
def test_no_addresses(address: str):
    for command in (["runs", "--server", address], ["profile", "add", "one", address]):
        ended = crew(*command)
        assert (ended.returncode, "Traceback" in ended.stderr) == (2, False), ended.stderr
        assert "address" in ended.stderr


def test_a_profile_that_cannot_be_used(tmp_path: Path):
    """A command with a NUL, and certificates that are not there or are none."""
    (tmp_path / "no.pem").write_text("no certificate")
    profiles = {
        "nul": {"url": "https://crew.example.com", "token_command": ["a\0b"]},
        "away": {"url": "https://crew.example.com", "ca": str(tmp_path / "away.pem")},
        "none": {"url": "https://crew.example.com", "ca": str(tmp_path / "no.pem")},
    }
    (tmp_path / "crewline").mkdir()
    path = tmp_path / "crewline" / "profiles.yaml"
    path.write_text(json.dumps({"profiles": profiles}))
    path.chmod(0o600)
    for name in profiles:
        ended = crew("runs", "--profile", name, XDG_CONFIG_HOME=str(tmp_path))
        assert (ended.returncode, "Traceback" in ended.stderr) == (2, False), ended.stderr
        assert f"profile {name}" in ended.stderr


def test_files_that_a_crew_cannot_lose_or_read(tmp_path: Path):
    """crew.yaml itself, and its twin with the other ending."""
    folder = write_crew(tmp_path, {"a": {"is_terminal": True}}, [{"say": "x"}])
    with serving(folder, CREW_EDIT="1") as server, client(server) as http_:
        base = http_.get("/api/crew/files").json()["base"]
        body = {"base": base, "files": {}, "delete": ["crew.yaml"], "why": "a reason"}
        refused = http_.put("/api/crew/files", json=body)
        assert (refused.status_code, "crew.yaml" in refused.text) == (400, True), refused.text
        checked = http_.post("/api/crew/files/check", json={"files": {}, "delete": ["crew.yaml"]})
        assert checked.status_code == 400
        twin = {"base": base, "files": {"crew.yml": "name: x"}, "delete": [], "why": "a reason"}
        refused = http_.put("/api/crew/files", json=twin)
        assert (refused.status_code, "beside crew.yaml" in refused.text) == (400, True), (
            refused.text
        )
    assert not (folder / "crew.yml").exists()


def test_a_dry_deletion_says_what_would_happen(tmp_path: Path):
    routing = {"agent_behaviors": {"a": {"wait_for_signal": True}}}
    folder = write_crew(tmp_path, {"a": {}}, [{"say": "which?"}], routing=routing)
    crew("run", folder, "hello")
    run_id = json.loads(crew("runs", folder, "--json").stdout)["run_id"]
    ended = crew("delete", "last", folder, "--dry")
    assert (ended.returncode, "cancel it first" in ended.stderr) == (1, True), ended.stderr
    crew("cancel", run_id, folder)
    ended = crew("delete", "last", "last", folder, "--dry")
    assert ended.stdout.count("would delete") == 1
    assert crew("backup", folder, f"{tmp_path}/copies/", "--keep", "2").returncode == 0
    assert len(list((tmp_path / "copies").iterdir())) == 1
