"""examples/tools-without-code, with its API and its MCP server."""

import json
import subprocess
import sys
from pathlib import Path

from tests.support.commands import needs_landlock
from tests.support.crews import copy_example
from tests.support.forked import crew


@needs_landlock
def test_a_person_changes_the_restart(tmp_path: Path):
    """The changed arguments reach the API, and the events show who changed what."""
    folder = copy_example("tools-without-code", tmp_path)
    # any free port: the example's own may be taken
    command = [sys.executable, str(folder / "api.py"), "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        try:
            assert server.stdout is not None
            port = server.stdout.readline().split("/")[2].rpartition(":")[2]
            entries = folder / "tools.yaml"
            entries.write_text(entries.read_text().replace("9123", port))
            paused = crew("run", "--json", folder, "web-1 is slow")
            events = [json.loads(line) for line in paused.stdout.splitlines()]
            assert (paused.returncode, events[-1]["type"]) == (3, "done"), paused
            pause = next(event for event in events if event["type"] == "pause")
            (asked,) = pause["metadata"]["calls"]
            assert asked["where"] == f"POST http://127.0.0.1:{port}/hosts/web-1/restart"
            changed = json.dumps({"host": "web-1", "delay_seconds": 60})
            decision = f"{asked['call_id']}=approve={changed}"
            ended = crew(
                "run",
                "--json",
                folder,
                "--answer",
                events[0]["metadata"]["run_id"],
                "--call",
                decision,
            )
            events = [json.loads(line) for line in ended.stdout.splitlines()]
            said = [event["content"] for event in events if event["type"] == "agent_response"]
            assert '"in_seconds": 60' in said[-1], ended
            assert "A person changed the arguments" in said[-1]
        finally:
            server.kill()
