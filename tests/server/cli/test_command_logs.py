"""What a command's tools make it log: without secrets, and nothing that looks like another line."""

import json
import subprocess
from pathlib import Path

import pytest

from tests.support.crews import write_crew
from tests.support.processes import BIN, PROCESS_SECONDS, clean_environment, client, serving

KEY = "CANARYkey02"
CODE = '''
import os
import threading
import warnings


def leak() -> str:
    """Leak."""
    raise RuntimeError("GET https://svc.example/?api_key=" + os.environ["GATEWAY_KEY"] + " failed")


def forge() -> str:
    """Forge."""
    raise ValueError("x \\x1b[2J\\r12:00:00.000 INFO    FORGED\\n12:00:00.000 INFO    FORGED line")


def thread() -> str:
    """Fail in a thread."""
    warnings.warn("the key is " + os.environ["GATEWAY_KEY"])
    failing = threading.Thread(target=leak)
    failing.start()
    failing.join()
    return "done"
'''


def crew_with(folder: Path, tool: str) -> Path:
    """Write a crew of one agent that calls a tool."""
    write_crew(
        folder,
        {"a": {"tools": [tool], "is_terminal": True}},
        [{"after": tool, "say": "over"}, {"say": "I call.", "calls": [tool]}],
        {tool: {"kind": "python", "function": f"t.py:{tool}"}},
        providers={"gw": {"base_url": "http://127.0.0.1:9/v1", "api_key": "${GATEWAY_KEY}"}},
    )
    (folder / "t.py").write_text(CODE)
    return folder


@pytest.mark.parametrize("tool", ["leak", "thread"])
@pytest.mark.parametrize("command", [["run", ".", "go"], ["call", ".", "TOOL"]])
def test_a_key_in_a_traceback_is_masked(tmp_path: Path, tool: str, command: list[str]):
    """On standard error as on standard output, in every command that runs tools."""
    folder = crew_with(tmp_path, tool)
    ended = subprocess.run(
        [BIN / "crew", *(word.replace("TOOL", tool) for word in command)],
        cwd=folder,
        capture_output=True,
        text=True,
        env=clean_environment(GATEWAY_KEY=KEY),
        timeout=PROCESS_SECONDS,
        stdin=subprocess.DEVNULL,
    )
    assert "api_key=***" in ended.stderr
    assert KEY not in ended.stderr + ended.stdout


def test_a_message_of_a_tool_forges_no_line(tmp_path: Path):
    """In a command as in a server: control characters are visible, each line has a mark."""
    folder = crew_with(tmp_path, "forge")
    environment = clean_environment(GATEWAY_KEY=KEY)
    ended = subprocess.run(
        [BIN / "crew", "run", folder, "go"],
        capture_output=True,
        text=True,
        env=environment,
        timeout=PROCESS_SECONDS,
        stdin=subprocess.DEVNULL,
    )
    with serving(folder, CREW_LOG_FORMAT="text", GATEWAY_KEY=KEY) as server:
        with client(server) as http:
            http.post("/api/crew/run", json={"query": "go"})
    for log in (ended.stderr, server.log.read_text()):
        assert "FORGED" in log
        assert "\x1b" not in log
        assert "\r" not in log
        assert not [line for line in log.splitlines() if line.startswith("12:00:00.000")]


@pytest.mark.parametrize(
    ("crew_yaml", "environment", "last"),
    [
        ("providers: {one: {base_url: 'http://127.0.0.1:9'}}\nroutin: {}\n", {}, "crew.yaml:3:1:"),
        ("", {"CREW_DATABASE_URL": "postgresql://127.0.0.1:9/none"}, "cannot be used"),
    ],
)
@pytest.mark.parametrize("command", ["serve", "worker"])
def test_why_a_server_does_not_start_is_in_its_log(
    tmp_path: Path, command: str, crew_yaml: str, environment: dict[str, str], last: str
):
    """One JSON object a line, as all that it logs."""
    write_crew(tmp_path, {"a": {"is_terminal": True}}, [{"say": "done"}])
    (tmp_path / "crew.yaml").write_text(f"agents: [a]\n{crew_yaml}")
    given = {"CREW_DATABASE_URL": "postgresql://127.0.0.1:9/none", **environment}
    ended = subprocess.run(
        [BIN / "crew", command, tmp_path, "--port", "0"],
        capture_output=True,
        text=True,
        check=False,
        timeout=PROCESS_SECONDS,
        env=clean_environment(**given),
    )
    lines = [json.loads(line) for line in ended.stderr.splitlines()]
    assert ended.returncode != 0
    assert lines[-1]["level"] in ("error", "critical")
    assert last in lines[-1]["message"]
    assert all(line["logger"] == "crew.command" for line in lines)
