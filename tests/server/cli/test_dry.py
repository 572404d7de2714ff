"""`crew run --dry`: what reads is called, what acts is shown."""

import json
from pathlib import Path
from typing import Any

from tests.support.crews import write_crew
from tests.support.forked import crew

TOOLS: dict[str, Any] = {
    "look": {"kind": "python", "function": "mine.py:look", "effect": "read"},
    "note": {"kind": "python", "function": "mine.py:note"},
    "restart": {
        "kind": "http",
        "method": "POST",
        "url": "http://127.0.0.1:1/hosts/{host}/restart",
        "requires_approval": True,
    },
    "touch": {"kind": "command", "argv": ["touch", "{file}"]},
}
CODE = """
from pathlib import Path

def look() -> str:
    "Look."
    return "seen"

def note(text: str) -> str:
    "Note."
    (Path(__file__).parent / "noted").write_text(text)
    return "noted"
"""
RULES = [
    {"after": "touch", "say": "{{result.look}} | {{result.note}} | {{result.restart}}"},
    {
        "say": "I work.",
        "calls": [
            {"tool": "look", "arguments": {}},
            {"tool": "note", "arguments": {"text": "x"}},
            {"tool": "restart", "arguments": {"host": "web 1"}},
            {"tool": "touch", "arguments": {"file": "touched"}},
        ],
    },
]


def folder(path: Path) -> Path:
    write_crew(path, {"a": {"tools": list(TOOLS)}}, RULES, TOOLS)
    (path / "mine.py").write_text(CODE)
    script = path / "script.yaml"
    script.write_text(script.read_text() + "results: { restart: web 1 restarted }\n")
    return path


def test_only_what_reads_is_called(tmp_path: Path):
    """Nobody is asked, nothing is kept, and each call is told as it would be made."""
    made = folder(tmp_path)
    played = crew("run", "--dry", "--json", made, "go")
    events = [json.loads(line) for line in played.stdout.splitlines()]
    assert (played.returncode, events[-1]["type"]) == (0, "done"), played
    told = [e["content"] for e in events if e["metadata"].get("code") == "dry_run"]
    assert told == [
        'not called: note({"text": "x"})',
        "not called: POST http://127.0.0.1:1/hosts/web%201/restart",
        "not called: /usr/bin/touch touched",
    ]
    answers = [e["content"] for e in events if e["type"] == "agent_response"]
    assert answers[-1] == "seen | dry run: not called | web 1 restarted"
    assert not (made / "noted").exists()
    assert not (made / "touched").exists()
    assert not (made / ".crew" / "crew.db").exists()
    shown = crew("run", "--dry", made, "go")
    assert (shown.returncode, "POST http://127.0.0.1:1/hosts/web%201/restart" in shown.stdout) == (
        0,
        True,
    ), shown


def test_a_dry_run_is_one_of_its_own(tmp_path: Path):
    """It takes up no other; a name in `results` that no tool has is a warning."""
    made = folder(tmp_path)
    refused = crew("run", "--dry", "--answer", "abc", made, "yes")
    assert (refused.returncode, "a dry run is one of its own" in refused.stderr) == (2, True)
    script = made / "script.yaml"
    script.write_text(script.read_text().replace("{ restart:", "{ restrat:"))
    found = crew("validate", made)
    assert "warning[script-tool]" in found.stdout
    assert "did you mean 'restart'?" in found.stdout
