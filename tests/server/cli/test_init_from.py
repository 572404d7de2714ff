"""`crew init --from`: a crew with the tools of an API, or of an MCP server."""

import json
import shlex
from pathlib import Path

from tests.server.cli.test_tools import API
from tests.support.commands import needs_linux
from tests.support.forked import crew
from tests.support.mcp_servers import raw_server


def test_a_crew_of_a_document(tmp_path: Path):
    """What reads is free, what acts is asked about; what cannot be a tool is named."""
    document = tmp_path / "users.yaml"
    document.write_text(
        API + "info: { title: My Users! }\nservers: [{ url: https://u.example.com/v1 }]\n"
    )
    folder = tmp_path / "crew"
    made = crew("init", folder, document, "--from", "openapi")
    assert (made.returncode, "POST /upload" in made.stderr) == (0, True), made
    valid = crew("validate", "--strict", folder)
    assert (valid.returncode, valid.stderr) == (0, ""), valid
    shown = [json.loads(line) for line in crew("tools", "--json", folder).stdout.splitlines()]
    assert [(one["tool"], one["requires_approval"], one["reaches"]) for one in shown] == [
        ("my_users_findUser", False, ["u.example.com"]),
        ("my_users_removeUser", True, ["u.example.com"]),
    ]
    # the script rehearses one call that reads, and one that a person approves
    rehearsed = crew("run", folder, "What can you do?", "--dry")
    assert rehearsed.returncode == 0
    for part in (
        "→ my_users_findUser",
        "⚠ not called: DELETE",
        "my_users_removeUser was rehearsed",
    ):
        assert part in rehearsed.stdout
    for source, told in (
        (("openapi", tmp_path / "none.json"), "cannot be read"),
        (("openapi", folder / "crew.yaml"), "no key openapi"),
        (("other", "x"), "openapi FILE, mcp COMMAND"),
        (("other",), "the file of a runbook"),
        (("openapi",), "needs the document's file"),
        ((tmp_path / "none.md",), "cannot be read"),
    ):
        kind, *named = source
        refused = crew("init", tmp_path / "other", *named, "--from", kind)
        assert (refused.returncode, told in refused.stderr) == (2, True), refused
        assert not (tmp_path / "other").exists()


@needs_linux
def test_a_crew_of_a_server(tmp_path: Path):
    """Pinned from the start."""
    code = (
        "def listed(request):\n    reads = {**TOOL, 'name': 'r', 'annotations': {'readOnlyHint': True}}\n"
        "    result(request, tools=[TOOL, reads])\n"
    )
    entry = raw_server(tmp_path, code)
    folder = tmp_path / "crew"
    command = shlex.join([entry["command"], *entry["args"]])
    made = crew("init", folder, command, "--from", "mcp")
    assert made.returncode == 0, made
    valid = crew("validate", "--strict", folder)
    assert (valid.returncode, valid.stderr) == (0, ""), valid
    shown = [json.loads(line) for line in crew("tools", "--json", folder).stdout.splitlines()]
    assert "server_t was rehearsed" in crew("run", folder, "hello", "--dry").stdout
    told = [(one["tool"], one["effect"], one["requires_approval"], one["pin"]) for one in shown]
    assert told == [("server_r", "read", False, "locked"), ("server_t", "once", True, "locked")]
    none = crew("init", tmp_path / "none", "no-such-program", "--from", "mcp")
    assert (none.returncode, "no program no-such-program" in none.stderr) == (2, True)
