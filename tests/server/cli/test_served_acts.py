"""`talk`, `fork` and `doctor` at a server: as for a folder, and what a server alone can say."""

import http.server
import os
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx2
import pytest

from tests.server.cli.test_served import AGENTS, CREW
from tests.support.crews import copy_example, write_crew
from tests.support.forked import crew
from tests.support.processes import BIN, clean_environment, client, serving
from tests.support.served_crew import RULES

TOKEN = "ann-0123456789abcdef"
ENTRY = f"ann+read+run+answer:{TOKEN}"


def typed(text: str, *words: str) -> "subprocess.CompletedProcess[str]":
    """A command that is given lines."""
    return subprocess.run(
        [BIN / "crew", *words],
        input=text,
        capture_output=True,
        text=True,
        env=clean_environment(CREW_TOKEN=TOKEN),
        timeout=120,
    )


def test_a_talk(tmp_path: Path):
    """Each line knows the ones before; how to go on is said, and works; who it is stands first."""
    folder = copy_example("conversation", tmp_path)
    with serving(folder, CREW_API_TOKENS=ENTRY) as server:
        where = ("--server", server.url)
        first = typed("my order 1702\nthe frame has cracked\n", "talk", *where)
        assert first.returncode == 0, first.stderr
        assert first.stderr.splitlines()[0] == f"{server.url}, as ann"
        assert "covered for two years" in first.stdout
        again = first.stderr.splitlines()[-1].split()
        more = typed("can I send it back?\n", *again[1:])
        assert "Order 1702 with the cracked frame" in more.stdout
        documents = typed("hello\n", "talk", "--json", *where).stdout
        assert '"type":"done"' in documents
        assert crew("talk", *where, "--provider", "openai", CREW_TOKEN=TOKEN).returncode == 2
        with client(server) as http:
            shown = {"Authorization": f"Bearer {TOKEN}"}
            kept = http.get("/api/crew/conversations", headers=shown).json()["conversations"]
            assert len(kept) == 2


def test_a_talk_with_a_crew_that_keeps_none(tmp_path: Path):
    """The first line is refused, and the command ends with 1."""
    with serving(write_crew(tmp_path, {"a": {}})) as server:
        ended = typed("hello\nhello\n", "talk", "--server", server.url)
    assert (ended.returncode, ended.stderr.count("keeps no conversations")) == (1, 1)


PAY = 'def pay(to: str) -> str:\n    """Pay."""\n    return f"paid {to}"\n'


def paying(folder: Path) -> Path:
    """A crew that pays, once, what a person approves."""
    rules = [
        {"after": "pay", "say": "it is paid"},
        {"agent": "a", "hears": "pay", "calls": [{"tool": "pay", "arguments": {"to": "bob"}}]},
        {"say": "nothing to do"},
    ]
    tool = {
        "kind": "python",
        "function": "acts.py:pay",
        "effect": "once",
        "requires_approval": True,
    }
    written = write_crew(folder, {"a": {"tools": ["pay"]}}, rules, {"pay": tool})
    (written / "acts.py").write_text(PAY)
    return written


def test_a_fork(tmp_path: Path):
    """Its numbers; other words of an agent; another answer; what may act again needs a --yes."""
    folder = paying(tmp_path / "crew")
    with serving(folder) as server:
        where = ("--server", server.url)
        crew("run", "pay bob", *where)
        wrong = crew("answer", "last", "--decision", "retry", *where)
        assert (wrong.returncode, "retry" in wrong.stderr) == (2, True), wrong.stderr
        crew("answer", "last", "--decision", "approve", *where)
        listed = crew("fork", "last", *where)
        assert listed.returncode == 0, listed.stderr
        numbers = {line.split()[1]: int(line.split()[0]) for line in listed.stdout.splitlines()}
        run_id = httpx2.get(f"{server.url}/api/crew/runs").json()["runs"][0]["run_id"]
        asked = ("fork", run_id, "--at", str(numbers["pause"]))
        refused = crew(*asked, "--decision", "deny", *where)
        assert (refused.returncode, "pay(" in refused.stderr) == (2, True)
        denied = crew(*asked, "--decision", "deny", "--yes", *where)
        assert denied.returncode == 0, denied.stderr

        other = crew("fork", run_id, "--at", "3", "--say", "Nothing is paid.", "--yes", *where)
        assert other.returncode == 0, other.stderr
        newest = httpx2.get(f"{server.url}/api/crew/runs").json()["runs"][0]
        assert (newest["answer"], newest["source"]) == ("Nothing is paid.", "fork")
        for option in (("--dry",), ("--set", "settings.max_rounds=3"), ("--on", "HEAD")):
            ended = crew("fork", run_id, "--at", "3", *option, *where)
            assert (ended.returncode, "go with a folder" in ended.stderr) == (2, True), option


def test_a_doctor(tmp_path: Path):
    """What a server says of itself; files that were refused; a token that may not much."""
    folder = write_crew(tmp_path / "crew", {"a": {}})
    entries = f"{ENTRY},boss+admin:boss-{TOKEN}"
    with serving(folder, CREW_API_TOKENS=entries) as server:
        found = crew("doctor", "--server", server.url, CREW_TOKEN=TOKEN)
        assert found.returncode == 0, found.stdout + found.stderr
        for text in ("as this command", "clock and this one agree", "ann may answer, read, run"):
            assert text in found.stdout
        (folder / "agents" / "a.yaml").write_text("id: a\nmodell: x\n")
        boss = {"CREW_TOKEN": f"boss-{TOKEN}"}
        assert crew("reload", "--server", server.url, **boss).returncode == 1
        found = crew("doctor", "--server", server.url, **boss)
        assert found.returncode == 1
        assert "the newest files were refused" in found.stdout
        assert "agents/a.yaml:2:1" in found.stdout
        wrong = crew("doctor", "--server", server.url, CREW_TOKEN="wrong-0123456789abcdef")
        assert (wrong.returncode, "401" in wrong.stderr) == (1, True)
    gone = crew("doctor", "--server", server.url)
    assert (gone.returncode, "does not answer" in gone.stderr) == (1, True)


class Older(http.server.BaseHTTPRequestHandler):
    """A server of an earlier version, the clock of which is an hour late."""

    def do_GET(self) -> None:
        found = self.path in ("/health", "/api/crew")
        text = '{"status": 404, "detail": "GET /api/crew/compare: Not Found"}'
        if found:
            text = '{"version": "0.0.1", "caller": {"name": "old", "scopes": []}}'
        self.send_response_only(200 if found else 404)
        self.send_header("Date", "Sun, 29 Nov 2026 00:00:00 GMT")
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text.encode())

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


@contextmanager
def older() -> Iterator[str]:
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Older) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()


def test_an_older_server():
    """What it does not know is said in one line, with both versions."""
    with older() as url:
        ended = crew("compare", "a", "b", "--server", url)
    assert ended.returncode == 1
    assert ended.stderr.splitlines()[0] == f"{url}, as old"
    assert "the server is 0.0.1, and this command is of" in ended.stderr
    assert len(ended.stderr.splitlines()) == 2


@pytest.mark.skipif("FAKETIME" in os.environ, reason="the clock is another one already")
def test_a_clock_that_is_apart():
    """By an hour: said, with the way it goes."""
    from server.cli.served.api import opened_api
    from server.cli.served.examining import _clock
    from server.client.targets import Target

    with older() as url, opened_api(Target(url, ""), Path()) as api:
        found = _clock(api)
    assert found.level == "warning"
    assert "its clock is" in found.text


def test_runs_are_deleted_and_revisions_brought_back(tmp_path: Path):
    folder = write_crew(tmp_path / "crew", AGENTS, RULES, **CREW)
    with serving(folder, CREW_EDIT="1") as server:
        options = ["--server", server.url]
        for _ in range(2):
            crew("run", *options, "what now?")
        assert crew("delete", "--status", "completed", *options).returncode == 2, "nobody agrees"
        dry = crew("delete", "--status", "completed", "--dry", *options)
        assert dry.stdout == "2 runs match\n"
        assert "deleted" in crew("delete", "last", *options).stdout
        gone = crew("delete", "--status", "completed", "--yes", *options)
        assert gone.stdout == "deleted 1 runs\n"
        desk = folder / "agents" / "a.yaml"
        before = desk.read_text()
        desk.write_text(before.replace("You are a.", "You are another."))
        assert "new runs get it" in crew("reload", *options).stdout
        # a folder that was taken back is not served until a reload
        local = crew("rollback", "1", folder, "--why", "by hand", "--yes")
        assert local.returncode == 0, local.stderr
        with client(server) as http:
            served = http.get("/api/crew").json()["config"]["revision"]
            loads = http.get("/api/crew/revisions").json()["revisions"]
            assert [one["hash"] for one in loads if one["current"]] == [served]
            assert loads[0]["current"] is False
            number = next(one["number"] for one in loads if one["current"])
            assert http.get(f"/api/crew/revisions/{number}").json()["current"]
        desk.write_text(before.replace("You are a.", "You are another."))
        back = crew("rollback", "1", "--why", "it was worse", "--yes", *options)
        assert back.returncode == 0, back.stderr
        assert "+system_prompt: You are a." in back.stdout
        assert desk.read_text() == before
    desk.write_text(before.replace("You are a.", "You are a third."))
    crew("run", folder, "what now?")
    local = crew("rollback", "1", folder, "--why", "once more", "--yes")
    assert local.returncode == 0, local.stderr
    assert desk.read_text() == before
    assert "rollback by os:" in crew("revisions", folder).stdout
