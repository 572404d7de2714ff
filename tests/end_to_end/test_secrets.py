"""Keys, tokens and passwords: in nothing that a crew says, stores or logs."""

import json
import re
import sqlite3
import subprocess
from pathlib import Path
from typing import Any

import anyio
import pytest

from crew import MemoryStore, Query, Runs, load_crew
from tests.server.notices.receivers import receiver
from tests.support import forked
from tests.support.crews import write_crew
from tests.support.model_server import completion, http, model_server
from tests.support.processes import client, serving
from tools.calls import MAX_OUTPUT_BYTES, NOTE_BYTES
from tools.text.server_words import MAX_WORDS

KEY = "sk-literal-0123456789"
AGENT: dict[str, Any] = {"provider": "gateway", "model": "m", "tools": ["look"]}
LOOK = {"look": {"kind": "python", "function": "look.py:look"}}
GATEWAY = {
    "base_url": "http://127.0.0.1:9/v1",
    "api_key": "${GATEWAY_KEY}",
    "headers": {"X-Token": KEY},
}


def leakcheck(folder: Path) -> "subprocess.CompletedProcess[str]":
    keys = {"GATEWAY_KEY": "sk-real-0123456789", "PAGER_TOKEN": "pager-0123456789"}
    return forked.crew("leakcheck", folder, **keys)


def crew(folder: Path, look: str) -> Path:
    written = write_crew(folder / "crew", {"a": AGENT}, tools=LOOK, providers={"gateway": GATEWAY})
    (written / "look.py").write_text(
        f'import os\n\n\ndef look() -> str:\n    """Look."""\n    return ""\n{look}'
    )
    return written


def test_nothing_planted_is_found(tmp_path: Path):
    """With a model that says all it knows; what was not there before is not there after."""
    folder = crew(tmp_path, "")
    done = leakcheck(folder)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "planted secrets: 3, found: none" in done.stdout
    assert not (folder / ".crew").exists()


def test_channels_and_servers_of_the_crew_are_left_alone(tmp_path: Path):
    """Real receivers hear nothing, MCP servers are not started, schedules start nothing; what channels would hear is searched."""
    with receiver() as programs:
        folder = crew(tmp_path, "")
        text = (folder / "crew.yaml").read_text()
        (folder / "crew.yaml").write_text(f"""{text}
notify:
  chat: {{ kind: slack, url: "http://127.0.0.1:{programs.port}/secret-0123456789", on: [done, failed] }}
  mail: {{ kind: email, host: 127.0.0.1, port: 9, sender: a@example.com, to: [b@example.com], on: [done] }}
schedules:
  always: {{ cron: "* * * * *", query: hello }}
""")
        started = tmp_path / "started"
        tools = (folder / "tools.yaml").read_text()
        server = {"kind": "mcp", "command": "/usr/bin/touch", "args": [str(started)]}
        (folder / "tools.yaml").write_text(f"{tools}  far: {json.dumps(server)}\n")
        done = leakcheck(folder)
        assert done.returncode == 0, done.stdout + done.stderr
        assert re.search(r"✓ notices, [1-9][0-9,]* bytes: none", done.stdout), done.stdout
        assert programs.told == []
        assert not started.exists()


@pytest.mark.parametrize(
    "how", ["key", "base64.b64encode(b'x' + key.encode())", "urllib.parse.quote(key, safe='')"]
)
def test_a_leak_is_found(tmp_path: Path, how: str):
    """Of a file of tools that prints a key, also encoded."""
    code = (
        f"import base64, urllib.parse\nkey = os.environ['PAGER_TOKEN']\nprint({how}, flush=True)\n"
    )
    done = leakcheck(crew(tmp_path, code))
    assert done.returncode == 1
    assert "✗ log" in done.stdout
    assert "has PAGER_TOKEN" in done.stdout


@pytest.mark.parametrize("wrong", ["agents: [a, b]\n", "agents: [a\n"])
def test_a_crew_with_errors_is_not_played(tmp_path: Path, wrong: str):
    """Its problems are told."""
    folder = crew(tmp_path, "")
    (folder / "crew.yaml").write_text(wrong)
    done = leakcheck(folder)
    assert done.returncode == 1
    assert "error[" in done.stderr


async def test_a_tool_that_returns_a_key(tmp_path: Path):
    """Neither the next request to the model has it, nor an event, nor the log."""
    token = "pager-0123456789"
    answers = [
        http(200, completion("", [("look", {})])),
        http(200, completion(f"it was {token}")),
    ]
    async with model_server(answers) as model:
        gateway = {**GATEWAY, "base_url": model.url}
        folder = write_crew(
            tmp_path / "crew", {"a": AGENT}, tools=LOOK, providers={"gateway": gateway}
        )
        (folder / "look.py").write_text(
            'import os\n\n\ndef look() -> str:\n    """Look."""\n    return os.environ["PAGER_TOKEN"]\n'
        )

        def ask() -> tuple[str, bytes]:
            environment = {"PAGER_TOKEN": token, "GATEWAY_KEY": "sk-real-0123456789"}
            with serving(folder, CREW_LOG_LEVEL="debug", **environment) as server:
                with client(server) as caller:
                    text = caller.post("/api/crew/stream", json={"query": token}).text
                server.stop()
                kept = b"".join(p.read_bytes() for p in (folder / ".crew").glob("*"))
                return text, kept + server.log.read_bytes()

        text, kept = await anyio.to_thread.run_sync(ask)
    assert '"output":"***"' in text
    assert '"answer":"it was ***"' in text
    assert token not in text
    assert token.encode() not in kept
    assert KEY.encode() not in kept
    assert len(model.asked) == 2
    assert token not in str(model.asked)


@pytest.mark.parametrize("left", [17, 12, 9])
async def test_a_cut_does_not_part_a_key(tmp_path: Path, left: int):
    """Of a long output, and of a long refusal: no larger part of it is shown or stored."""
    token, half = "pager-0123456789-abcd", (MAX_OUTPUT_BYTES - NOTE_BYTES) // 2
    refused = "x" * (MAX_WORDS - left) + token + "x" * 99
    answers = [
        http(200, completion("", [("look", {})])),
        http(401, json.dumps({"error": {"message": refused}})),
    ]
    async with model_server(answers) as model:
        gateway = {**GATEWAY, "base_url": model.url, "api_key": token}
        folder = write_crew(
            tmp_path / "crew", {"a": AGENT}, tools=LOOK, providers={"gateway": gateway}
        )
        output = (
            f'"x" * {half - left} + "{token}" + "x" * {2 * half} + "{token}" + "x" * {half - left}'
        )
        (folder / "look.py").write_text(
            f'def look() -> str:\n    """Look."""\n    return {output}\n'
        )
        async with Runs(load_crew(folder), MemoryStore()) as runs:
            run = await runs.start(Query("go"))
            await run.outcome()
            events = [one async for one in runs.stored(run.id)]
    shown = "".join(one.encoded for one in events) + str(model.asked)
    assert [one.type for one in events][-1] == "error"
    assert "left out" in shown
    assert token[:12] not in shown
    assert token[-12:] not in shown


def test_a_key_in_the_file_is_not_kept_and_may_change(tmp_path: Path):
    """A run that waits goes on with the key of the file as it then is; without one it cannot."""
    rules = [{"say": "what?"}]
    behaviors = {"agent_behaviors": {"a": {"wait_for_signal": True}}}

    def write(name: str, key: str | None) -> Path:
        provider = {"base_url": "http://127.0.0.1:9/v1"} | ({"api_key": key} if key else {})
        return write_crew(
            tmp_path / "crew",
            {"a": {"system_prompt": name}},
            rules,
            providers={"gateway": provider},
            routing=behaviors,
        )

    def start(folder: Path) -> str:
        with serving(folder) as server, client(server) as caller:
            run_id: str = caller.post("/api/crew/run", json={"query": "x"}).json()["run_id"]
            server.stop()
        return run_id

    folder = write("first", KEY)
    first, second = start(folder), start(folder)
    kept = b"".join(path.read_bytes() for path in (folder / ".crew").glob("*"))
    assert KEY.encode() not in kept
    write("second", KEY + "-changed")
    with serving(folder) as server, client(server) as caller:
        answer = caller.post("/api/crew/run", json={"query": "x", "run_id": first})
        assert answer.json()["status"] == "paused", answer.text
        server.stop()
    write("third", None)
    with serving(folder) as server, client(server) as caller:
        answer = caller.post("/api/crew/run", json={"query": "x", "run_id": second})
        assert answer.status_code == 409
        assert "is not kept with runs" in answer.json()["detail"]


def test_kept_files_that_were_changed_are_not_loaded(tmp_path: Path):
    """Somebody has put another prompt into the database."""
    behaviors = {"agent_behaviors": {"a": {"wait_for_signal": True}}}
    folder = write_crew(tmp_path / "crew", {"a": {}}, [{"say": "what?"}], routing=behaviors)
    with serving(folder) as server, client(server) as caller:
        run_id = caller.post("/api/crew/run", json={"query": "x"}).json()["run_id"]
        server.stop()
    with sqlite3.connect(folder / ".crew" / "crew.db") as database:
        changed = "UPDATE revisions SET files = replace(files, 'You are a', 'Obey me')"
        assert database.execute(changed).rowcount == 1
    database.close()
    write_crew(folder, {"a": {"system_prompt": "now"}}, [{"say": "what?"}], routing=behaviors)
    with serving(folder) as server, client(server) as caller:
        answer = caller.post("/api/crew/run", json={"query": "x", "run_id": run_id})
        assert answer.status_code == 409
        assert "were changed there" in answer.json()["detail"]


def test_a_key_in_an_entry_of_a_tool(tmp_path: Path):
    """A warning; not kept with runs, masked, and put back for a run of earlier files."""
    tools = {
        "ticket": {
            "kind": "http",
            "url": "https://tickets.example.com/",
            "headers": {"Authorization": f"Bearer {KEY}"},
        },
        "backup": {"kind": "command", "argv": ["true"], "env": {"BACKUP_PASSWORD": f"{KEY}-2"}},
    }
    folder = write_crew(tmp_path, {"a": {"tools": list(tools)}}, tools=tools)
    loaded = load_crew(folder)
    assert [(one.file, one.code) for one in loaded.warnings] == [
        ("tools.yaml", "literal-secret")
    ] * 2
    assert KEY not in str(loaded.warnings)
    assert KEY.encode() not in b"".join(loaded.sources.files.values())
    assert loaded.secrets.mask(f"Bearer {KEY} and {KEY}-2") == "*** and ***"
    again = loaded.load_other(loaded.sources, None)
    assert again.literals == loaded.literals
    assert again.revision == loaded.revision
