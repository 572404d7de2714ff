"""A running server reads its files again: new runs get a good edit, older runs keep what they began with, a broken edit is reported."""

import shutil
import signal
from pathlib import Path
from typing import Any

import httpx2
import pytest

from tests.support.crews import write_crew
from tests.support.processes import client, serving, until

ASKING = {
    "agent_behaviors": {"a": {"wait_for_signal": True}},
    "signals": {"a": [{"signal": "[E]"}]},
}


def crew(folder: Path, word: str, **keys: Any) -> Path:
    """A crew that asks, then ends; `word` shows which edition answered."""
    rules = [
        {"hears": "slow", "say": f"{word} [E]", "delay_seconds": 3600},
        {"hears": "end", "say": f"{word} [E]"},
        {"say": f"{word}?"},
    ]
    return write_crew(folder / "crew", {"a": {}}, rules, routing=ASKING, **keys)


def run(http: httpx2.Client, query: str) -> dict[str, Any]:
    answer: dict[str, Any] = http.post("/api/crew/run", json={"query": query}).json()
    return answer


def resume(http: httpx2.Client, run_id: str, query: str) -> dict[str, Any]:
    answer: dict[str, Any] = http.post(
        "/api/crew/run", json={"query": query, "run_id": run_id}
    ).json()
    return answer


def config(http: httpx2.Client) -> dict[str, Any]:
    found: dict[str, Any] = http.get("/ready").json()["config"]
    return found


def metric(http: httpx2.Client) -> str:
    return next(
        line
        for line in http.get("/metrics").text.splitlines()
        if line.startswith("crew_config_last_reload_successful ")
    )


def test_the_provider_of_the_command_may_be_gone(tmp_path: Path):
    """`--provider` names one that the edit removes: the edit is refused like any broken one."""
    local = {"local": {"base_url": "http://127.0.0.1:9"}}
    folder = crew(tmp_path, "first", providers=local)
    with serving(folder, "--provider", "local") as server, client(server) as http:
        crew(tmp_path, "second")
        answer = http.post("/api/crew/reload")
        assert answer.status_code == 422
        assert "there is no provider 'local'" in answer.json()["detail"]
        assert config(http)["last_reload"]["successful"] is False
        assert metric(http).endswith(" 0.0")


def test_edits_are_for_new_runs(tmp_path: Path):
    """Watched: a good edit, a broken one, one that fixes it; a paused run ends with the crew it began with."""
    folder = crew(tmp_path, "first")
    with serving(folder, "--reload") as server, client(server) as http:
        before = run(http, "hello")
        assert (before["status"], before["answer"]) == ("paused", "first?")
        was = config(http)
        crew(tmp_path, "second")
        until(lambda: config(http)["revision"] != was["revision"])
        assert run(http, "hello")["answer"] == "second?"
        assert resume(http, before["run_id"], "end")["answer"] == "first [E]"

        # a file that is written in place may be read while it is empty
        (folder / "new").write_text("agents: [a]\nsetings: {}\n")
        (folder / "new").replace(folder / "crew.yaml")
        until(lambda: not config(http)["last_reload"]["successful"])
        assert metric(http).endswith(" 0.0")
        assert http.get("/ready").status_code == 200
        problem = http.get("/api/crew").json()["config"]["last_reload"]["problems"][0]
        assert (problem["file"], problem["line"], problem["suggestion"]) == (
            "crew.yaml",
            2,
            "settings",
        )
        assert "crew.yaml:2:1: error[unknown-key]" in server.log.read_text()
        assert run(http, "hello")["answer"] == "second?"

        crew(tmp_path, "third")
        until(lambda: config(http)["last_reload"]["successful"])
        assert metric(http).endswith(" 1.0")
        assert run(http, "hello")["answer"] == "third?"


def test_agents_that_are_gone_still_end_their_runs(tmp_path: Path):
    """A run under way keeps an agent that the newest files no longer have."""
    folder = crew(tmp_path, "first")
    with serving(folder) as server, client(server) as http:
        before = run(http, "hello")
        shutil.rmtree(folder / "agents")
        write_crew(folder, {"b": {}}, [{"say": "b"}])
        assert http.post("/api/crew/reload").json()["changed"] is True
        assert [agent["id"] for agent in http.get("/api/crew").json()["agents"]] == ["b"]
        assert resume(http, before["run_id"], "end")["answer"] == "first [E]"
        assert run(http, "hello")["answer"] == "b"
        assert http.get("/metrics").status_code == 200


@pytest.mark.parametrize("how", ["post", "hup"])
def test_reload_when_asked_to(how: str, tmp_path: Path):
    """Over HTTP with an answer, or by SIGHUP; without watching nothing changes unasked."""
    folder = crew(tmp_path, "first")
    with serving(folder) as server, client(server) as http:
        was = config(http)
        crew(tmp_path, "second")
        assert run(http, "hello")["answer"] == "first?"
        if how == "post":
            received = http.post("/api/crew/reload")
            assert (
                received.status_code,
                received.json()["changed"],
                received.json()["warnings"],
            ) == (
                200,
                True,
                [],
            )
            assert http.post("/api/crew/reload").json()["changed"] is False
        else:
            server.process.send_signal(signal.SIGHUP)
            until(lambda: config(http)["revision"] != was["revision"])
        assert run(http, "hello")["answer"] == "second?"
        (folder / "agents" / "a.yaml").write_text("id: a\n")
        if how == "post":
            refused = http.post("/api/crew/reload")
            assert (refused.status_code, refused.headers["content-type"]) == (
                422,
                "application/problem+json",
            )
            assert refused.json()["problems"][0]["file"] == "agents/a.yaml"
            assert "agents/a.yaml:1:1" in refused.json()["detail"]
        else:
            server.process.send_signal(signal.SIGHUP)
            until(lambda: not config(http)["last_reload"]["successful"])
        assert run(http, "hello")["answer"] == "second?"


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGKILL])
def test_a_run_keeps_its_configuration_over_a_restart(how: int, tmp_path: Path):
    """One that is paused and one under way, after an orderly end and a sudden one."""
    folder = crew(tmp_path, "first")
    with serving(folder, CREW_DRAIN_SECONDS="0") as server, client(server) as http:
        paused = run(http, "hello")
        with http.stream("POST", "/api/crew/stream", json={"query": "slow"}) as stream:
            begun = next(line for line in stream.iter_lines() if line.startswith("id: "))
        server.process.send_signal(how)
        server.process.wait(20)
    crew(tmp_path, "second")
    with serving(folder) as server, client(server) as http:
        assert resume(http, paused["run_id"], "end")["answer"] == "first [E]"
        assert run(http, "end")["answer"] == "second [E]"
        slow = begun.removeprefix("id: ").partition(":")[0]
        assert http.get(f"/api/crew/runs/{slow}").json()["status"] == "running"
        assert http.post(f"/api/crew/runs/{slow}/cancel").status_code == 202


def test_a_configuration_that_is_lost_is_reported(tmp_path: Path):
    """Its Python tool is gone: the run stays paused and says what is missing; it can be cancelled, and goes on once it is back."""
    tools = {"look": {"kind": "python", "function": "look.py:look"}}
    folder = write_crew(
        tmp_path / "crew",
        {"a": {"tools": ["look"]}},
        [{"hears": "end", "say": "[E]"}, {"say": "?"}],
        tools,
        routing=ASKING,
    )
    code = "def look() -> str: ...\n"
    (folder / "look.py").write_text(code)

    with serving(folder) as server, client(server) as http:
        one, two = run(http, "hello"), run(http, "hello")
    (folder / "look.py").unlink()
    (folder / "tools.yaml").unlink()
    crew(tmp_path, "second")
    with serving(folder) as server, client(server) as http:
        refused = http.post(f"/api/crew/runs/{one['run_id']}/resume", json={"query": "end"})
        assert refused.status_code == 409
        assert "tools.yaml" in refused.json()["detail"]
        assert "look.py" in refused.json()["detail"]
        assert http.post(f"/api/crew/runs/{two['run_id']}/cancel").status_code == 202
        assert http.get(f"/api/crew/runs/{two['run_id']}").json()["status"] == "cancelled"
        (folder / "look.py").write_text(code)
        assert resume(http, one["run_id"], "end")["answer"] == "[E]"


def test_python_tools_are_read_again(tmp_path: Path):
    """An edit of a tool's file alone is one of the crew."""
    tools = {"look": {"kind": "python", "function": "look.py:look"}}
    rules = [{"after": "look", "say": "{{result.look}}"}, {"say": "", "calls": ["look"]}]
    folder = write_crew(tmp_path / "crew", {"a": {"tools": ["look"]}}, rules, tools)
    (folder / "look.py").write_text("def look() -> str:\n    return 'old'\n")
    with serving(folder, "--reload") as server, client(server) as http:
        assert run(http, "x")["answer"] == "old"
        was = config(http)["loaded_at"]
        (folder / "look.py").write_text("def look() -> str:\n    return 'new'\n")
        until(lambda: config(http)["loaded_at"] != was)
        assert run(http, "x")["answer"] == "new"


def test_a_mounted_folder_that_is_swapped(tmp_path: Path):
    """As Kubernetes does it: the files are links into a folder that is itself a link, which changes at once."""
    mount = tmp_path / "mount"
    mount.mkdir()
    for word in ("first", "second"):
        crew(mount / f"..{word}", word)
    (mount / "..data").symlink_to("..first/crew")
    for name in ("crew.yaml", "script.yaml", "agents"):
        (mount / name).symlink_to(Path("..data") / name)
    with serving(mount, "--reload", CREW_DATABASE_URL="memory:") as server, client(server) as http:
        was = config(http)["revision"]
        (mount / "..data_tmp").symlink_to("..second/crew")
        (mount / "..data_tmp").replace(mount / "..data")
        until(lambda: config(http)["revision"] != was)
        assert run(http, "hello")["answer"] == "second?"


def test_a_reload_gives_no_new_budget(tmp_path: Path):
    """What an agent has used today counts on, in every edition of it."""
    limits = {"max_tokens_per_day": 1, "block_on_cost_exceed": True}
    folder = write_crew(tmp_path / "crew", {"a": {"cost_limits": limits}}, [{"say": "x"}])
    with serving(folder) as server, client(server) as http:
        assert run(http, "x")["status"] == "completed"
        assert run(http, "x")["status"] == "failed"
        assert http.post("/api/crew/reload").status_code == 200
        assert run(http, "x")["status"] == "failed"


@pytest.mark.parametrize("lost", [False, True])
def test_runs_of_a_crew_with_another_name(tmp_path: Path, *, lost: bool):
    """They are resumed under the new name; one whose configuration is lost can at least be cancelled."""
    tools = {"look": {"kind": "python", "function": "look.py:look"}}
    rules = [{"say": "late", "delay_seconds": 2}]
    folder = write_crew(tmp_path / "crew", {"a": {"tools": ["look"]}}, rules, tools, name="old")
    (folder / "look.py").write_text("def look() -> str: ...\n")
    with serving(folder) as server, client(server) as http:
        with http.stream("POST", "/api/crew/stream", json={"query": "x"}) as stream:
            begun = next(line for line in stream.iter_lines() if line.startswith("id: "))
        server.kill()
    run_id = begun.removeprefix("id: ").partition(":")[0]
    if lost:
        (folder / "look.py").unlink()
        (folder / "tools.yaml").unlink()
    write_crew(folder, {"a": {}}, rules, name="new")
    with serving(folder) as server, client(server) as http:
        if lost:
            events = f"/api/crew/runs/{run_id}/events"
            # its second event may not have been stored
            with http.stream("GET", events, params={"after": 1}) as stream:
                told = next(line for line in stream.iter_lines() if "unplayable" in line)
            assert "no process that has tried can play this run" in told
            assert http.get("/ready").json()["runs_unplayable"] == 1
            assert "cannot be resumed" in server.log.read_text()
            assert http.post(f"/api/crew/runs/{run_id}/cancel").status_code == 202
        until(
            lambda: (
                http.get(f"/api/crew/runs/{run_id}").json()["status"]
                == ("cancelled" if lost else "completed")
            )
        )


def test_the_watch_outlives_files_that_cannot_be_read(tmp_path: Path):
    """And files that come and go."""
    folder = crew(tmp_path, "first")
    (folder / "odd.py").symlink_to("/proc/self/mem")
    (folder / "gone.py").symlink_to("nowhere.py")
    with serving(folder, "--reload") as server, client(server) as http:
        was = config(http)["revision"]
        for number in range(30):
            (folder / f"t{number}.py").write_text("x = 1\n")
            (folder / f"t{number}.py").unlink()
        crew(tmp_path, "second")
        until(lambda: config(http)["revision"] != was)
        assert run(http, "hello")["answer"] == "second?"


def test_tools_that_change_within_a_second_are_read_anew(tmp_path: Path):
    """Though their files have the same size."""
    tools = {"look": {"kind": "python", "function": "look.py:look"}}
    folder = write_crew(
        tmp_path / "crew",
        {"a": {"tools": ["look"]}},
        [{"after": "look", "say": "{{result.look}}"}, {"say": "", "calls": ["look"]}],
        tools,
    )
    (folder / "look.py").write_text("def look() -> str:\n    return 'ONE'\n")
    with serving(folder) as server, client(server) as http:
        for word in ("TWO", "SIX", "TEN"):
            (folder / "look.py").write_text(f"def look() -> str:\n    return '{word}'\n")
            assert http.post("/api/crew/reload").status_code == 200
            assert run(http, "x")["answer"] == word


def test_sighup_before_it_serves_is_no_end(tmp_path: Path):
    """A supervisor may be early."""
    folder = crew(tmp_path, "first")
    (folder / "slow.py").write_text(
        "import os, signal\nos.kill(os.getpid(), signal.SIGHUP)\n\n\ndef look() -> str: ...\n"
    )
    write_crew(
        folder,
        {"a": {"tools": ["look"]}},
        [{"say": "here"}],
        {"look": {"kind": "python", "function": "slow.py:look"}},
    )
    with serving(folder) as server, client(server) as http:
        assert run(http, "hello")["answer"] == "here"
