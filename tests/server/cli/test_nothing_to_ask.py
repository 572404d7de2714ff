"""Commands that ask no model need no key; what has nothing to list says so; a server is looked at."""

from pathlib import Path

import pytest

from tests.server.cli.test_run import PAUSING
from tests.support.crews import write_crew
from tests.support.forked import crew
from tests.support.processes import client, serving

TOKEN = "boss-0123456789abcdef"


@pytest.mark.parametrize("command", ["tools", "schedules"])
def test_no_key_is_needed(tmp_path: Path, command: str):
    """Of a crew whose models need one."""
    folder = write_crew(
        tmp_path,
        {"a": {"provider": "openai", "model": "gpt-4o-mini", "tools": ["GetSystemInfo"]}},
        schedules={"s": {"cron": "0 6 * * *", "query": "x"}},
    )
    ended = crew(command, folder)
    assert ended.returncode == 0, ended.stderr
    called = crew("call", folder, "GetSystemInfo")
    assert called.returncode == 0, called.stderr


LISTS = ("runs", "inbox", "conversations", "schedules", "grants", "audit")


@pytest.mark.parametrize("command", LISTS)
def test_nothing_to_list_is_said(tmp_path: Path, command: str):
    """In one line on standard error; not beside --json; also once there is a database."""
    folder = write_crew(tmp_path, {"a": {}}, conversations={})
    for _ in range(2):
        ended = crew(command, folder)
        assert (ended.returncode, ended.stdout) == (0, "")
        assert len(ended.stderr.splitlines()) == 1
        as_json = crew(command, folder, "--json")
        assert (as_json.stdout, as_json.stderr) == ("", "")
        if command in ("runs", "audit"):
            return
        crew("run", folder, "x")


def test_the_runs_of_a_server(tmp_path: Path):
    """Listed, shown and waiting, by a token of the environment; each mistake in words."""
    folder = write_crew(tmp_path, {"a": {}}, [{"say": "tell me \x1b[31m more"}], **PAUSING)
    with serving(folder, CREW_API_TOKENS=TOKEN) as server:
        options = ["--server", server.url]
        none = crew("runs", *options, CREW_TOKEN=TOKEN)
        assert "no run yet" in none.stderr
        with client(server, headers={"Authorization": f"Bearer {TOKEN}"}) as http:
            run_id = http.post("/api/crew/run", json={"query": "help"}).json()["run_id"]
        listed = crew("runs", *options, CREW_TOKEN=TOKEN)
        assert f"{run_id}  " in listed.stdout
        assert "paused     help" in listed.stdout
        shown = crew("runs", run_id[:-2], *options, CREW_TOKEN=TOKEN)
        assert "tell me \\x1b[31m more" in shown.stdout
        assert "paused: a waits for your answer" in shown.stdout
        waits = crew("inbox", *options, CREW_TOKEN=TOKEN)
        assert f"{server.url}/runs/{run_id}" in waits.stdout
        wrong = crew("runs", *options, CREW_TOKEN="x" * 20)
        assert (wrong.returncode, "CREW_TOKEN" in wrong.stderr) == (1, True)
    gone = crew("runs", *options, CREW_TOKEN=TOKEN)
    assert (gone.returncode, "does not answer" in gone.stderr) == (1, True)


@pytest.mark.parametrize("url", ["crew.example.com", "http://crew.example.com", "ftp://x"])
def test_a_token_is_shown_to_nobody_else(url: str):
    """Nor in the clear to another machine."""
    ended = crew("runs", "--server", url, CREW_TOKEN=TOKEN)
    assert ended.returncode == 2
    assert TOKEN not in ended.stderr
