"""A tool that ignores its cancellation: its call ends in time, and so does the process."""

import subprocess
from pathlib import Path

import pytest

from tests.support.crews import write_crew
from tests.support.processes import BIN, clean_environment, client, serving

STUBBORN = """
import asyncio


async def stay() -> str:
    \"\"\"Stay.\"\"\"
    while True:
        try:
            await asyncio.sleep(3600)
        except asyncio.CancelledError:
            pass
"""
# less than the tool stays
SECONDS = 60


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = write_crew(
        tmp_path,
        {"a": {"tools": ["stay"], "is_terminal": True}},
        [{"after": "stay", "say": "it stays"}, {"say": "", "calls": ["stay"]}],
        tools={"stay": {"kind": "python", "function": "own.py:stay", "timeout_seconds": 0.1}},
    )
    (folder / "own.py").write_text(STUBBORN)
    return folder


@pytest.mark.parametrize(
    ("words", "said"),
    [(["run", ".", "go"], "it stays"), (["call", ".", "stay", "--yes"], "no result within")],
)
def test_a_command_ends(folder: Path, words: list[str], said: str):
    ended = subprocess.run(
        [BIN / "crew", *words],
        cwd=folder,
        env=clean_environment(),
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    assert said in ended.stdout + ended.stderr
    assert "Task was destroyed" not in ended.stderr


def test_a_server_ends(folder: Path):
    with serving(folder) as server:
        with client(server) as http:
            assert http.post("/api/crew/run", json={"query": "go"}).json()["answer"] == "it stays"
        assert server.stop() == 0
    assert "Task was destroyed" not in server.log.read_text()
