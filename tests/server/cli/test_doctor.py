"""`crew doctor`: what is good, what may lose or refuse runs, and what must be mended first."""

import asyncio
import sqlite3
import subprocess
from pathlib import Path

import psycopg
import pytest

from tests.support.crews import write_crew
from tests.support.forked import crew
from tests.support.mcp_servers import raw_server
from tests.support.model_server import http, model_server
from tests.support.postgres import Postgres, needs_postgres
from tests.support.processes import BIN, PROCESS_SECONDS, clean_environment


def doctor(folder: Path, *options: str, **environment: str) -> "subprocess.CompletedProcess[str]":
    return crew("doctor", folder, *options, **environment)


def small_crew(folder: Path) -> Path:
    return write_crew(folder, {"a": {"is_terminal": True}}, [{"say": "x"}])


def test_before_the_first_run(tmp_path: Path):
    """Nothing is made by looking."""
    found = doctor(small_crew(tmp_path))
    assert (found.returncode, found.stderr) == (0, "")
    assert "✓ ok: the files have 0 errors and 0 warnings" in found.stdout
    assert "note: no run has been kept yet" in found.stdout
    assert not (tmp_path / ".crew").exists()


def test_a_folder_that_cannot_be_written_to(tmp_path: Path):
    """It is found out before a run is lost."""
    folder = small_crew(tmp_path)
    ended = subprocess.run(
        ["sh", "-c", 'ulimit -f 0; exec "$0" doctor "$1"', BIN / "crew", folder],
        capture_output=True,
        text=True,
        check=False,
        timeout=PROCESS_SECONDS,
        env=clean_environment(),
    )
    assert ended.returncode == 1, ended.stderr
    assert f"error: {folder} cannot be written to" in ended.stdout


def test_a_file(tmp_path: Path):
    """Good, then damaged."""
    path = tmp_path / "x.db"
    url = f"sqlite:///{path}"
    assert crew("run", small_crew(tmp_path), "hello", CREW_DATABASE_URL=url).returncode == 0
    good = doctor(tmp_path, "--database", CREW_DATABASE_URL=url)
    assert (good.returncode, f"✓ ok: {path} can be read and written" in good.stdout) == (0, True)
    assert "the files" not in good.stdout
    with sqlite3.connect(path) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    connection.close()
    content = bytearray(path.read_bytes())
    content[4096 * 2 : 4096 * 4] = b"x" * 8192
    path.write_bytes(content)
    bad = doctor(tmp_path, "--database", CREW_DATABASE_URL=url)
    assert bad.returncode == 1
    assert "error: " in bad.stdout
    assert "Traceback" not in bad.stderr


def test_files_with_errors(tmp_path: Path):
    """They are counted; crew validate shows them."""
    (small_crew(tmp_path) / "crew.yaml").write_text("agents: [nobody]\n")
    found = doctor(tmp_path)
    assert found.returncode == 1
    assert f"✗ error: the files have 1 errors and 1 warnings: see crew validate {tmp_path}" in (
        found.stdout
    )


def test_an_mcp_server_is_started_once(tmp_path: Path):
    """Checking the files lists its tools; making the crew needs no other process."""
    entry = raw_server(tmp_path, "open('starts', 'a').write('x')")
    agents = {"a": {"is_terminal": True, "tools": ["far_t"]}}
    write_crew(tmp_path, agents, [{"say": "x"}], {"far": entry})
    found = doctor(tmp_path)
    assert (found.returncode, found.stderr) == (0, "")
    assert "the files have 0 errors" in found.stdout
    assert (tmp_path / "starts").read_text() == "x"


def test_a_server_that_cannot_be_reached(tmp_path: Path):
    """It says where, without the password."""
    url = "postgresql://me:secret@127.0.0.1:1/db"
    found = doctor(small_crew(tmp_path), "--database", CREW_DATABASE_URL=url)
    assert found.returncode == 1
    assert "error: the database postgresql://127.0.0.1:1/db cannot be used" in found.stdout
    assert "secret" not in found.stdout + found.stderr


@needs_postgres
@pytest.mark.parametrize(
    ("setting", "said"),
    [
        ("synchronous_commit = off", "⚠ warning: synchronous_commit is off"),
        ("statement_timeout = 500", "⚠ warning: statement_timeout is 500 ms"),
        ("application_name = 'x'", "· note: no synchronous standby"),
    ],
)
def test_settings_of_a_server(postgres: Postgres, tmp_path: Path, setting: str, said: str):
    """Those that lose commits or refuse runs."""
    url = postgres.database()
    with psycopg.connect(url, autocommit=True) as connection:
        (name,) = connection.execute("SELECT current_database()").fetchone() or ("",)
        connection.execute(f"ALTER DATABASE {name} SET {setting}")
    found = doctor(small_crew(tmp_path), "--database", CREW_DATABASE_URL=url)
    assert said in found.stdout
    # the server of the tests is quick, and may lose everything
    assert found.returncode == 1
    assert "✗ error: fsync is off" in found.stdout
    assert "✓ ok" not in found.stdout


async def examined(folder: Path, url: str) -> str:
    """What doctor says of a crew whose provider is at this address."""
    providers = {"mine": {"base_url": url, "api_key": "sk-doctor-0123456789"}}
    rules = [{"agent": "b", "say": "[ONE]"}]
    signals = {"b": [{"signal": "[ONE]", "target": None}, {"signal": "[TWO]", "target": None}]}
    agents = {"a": {"provider": "mine", "handoff_targets": ["b"]}, "b": {}}
    write_crew(folder, agents, rules, providers=providers, routing={"signals": signals})
    found = await asyncio.to_thread(doctor, folder)
    assert "sk-doctor" not in found.stdout + found.stderr
    assert (found.returncode == 1) == ("✗" in found.stdout)
    return found.stdout


async def test_providers_are_asked(tmp_path: Path):
    """With their key: one that answers, also without a list of models; refuses; fails; is away."""
    answers = {
        200: "mine: http://127.0.0.1",
        404: "answers",
        401: "refuses the key (401)",
        500: "answers with 500",
    }
    for status, told in answers.items():
        body = {"object": "list", "data": []} if status == 200 else {"error": {"message": "no"}}
        async with model_server([http(status, body)]) as server:
            shown = await examined(tmp_path, server.url)
            assert told in shown
            assert (f"ok: mine: {server.url} answers" in shown) == (status in (200, 404))
            assert "GET /v1/models" in server.headers[0]
            assert "sk-doctor-0123456789" in server.headers[0]
    assert f"{server.url} does not answer" in await examined(tmp_path, server.url)


async def test_the_script_is_looked_at(tmp_path: Path):
    """Which signals it never says; and what a person must set first."""
    async with model_server([http(200, {"object": "list", "data": []})]) as server:
        shown = await examined(tmp_path, server.url)
    assert "note: script.yaml never says b [TWO]" in shown
    assert "ok: its keys are there" in shown
    assert "file descriptors" in shown
    folder = write_crew(tmp_path / "keyless", {"a": {"provider": "openai"}})
    found = doctor(folder)
    assert (found.returncode, "set OPENAI_API_KEY" in found.stdout) == (1, True)


@pytest.mark.parametrize("command", ["doctor", "validate", "tools"])
def test_a_tool_gets_no_token_while_files_are_checked(tmp_path: Path, command: str):
    """Its module is imported, without the tokens of a server."""
    (tmp_path / "peek.py").write_text(
        "import os\nfrom pathlib import Path\n"
        "names = [name for name in os.environ if 'TOKEN' in name]\n"
        "Path(__file__).with_name('seen').write_text(' '.join(names))\n"
        "def peek() -> str:\n    'Peek.'\n"
    )
    tools = {"peek": {"kind": "python", "function": "peek.py:peek", "effect": "read"}}
    folder = write_crew(tmp_path, {"a": {"tools": ["peek"]}}, [{"say": "x"}], tools)
    tokens = {"CREW_API_TOKENS": f"admin:{'t' * 24}", "CREW_TOKEN": "u" * 24}
    assert crew(command, folder, **tokens, OTHER_TOKEN="v").returncode == 0
    assert (tmp_path / "seen").read_text() == "OTHER_TOKEN"
