"""Nothing that a crew's files or a run say commands a terminal, whichever command shows it."""

import json
import re
import subprocess
from pathlib import Path

import pytest

from server.cli.hints import shell_quoted
from tests.support.crews import write_crew
from tests.support.forked import crew
from tools.text.texts import UNSAFE, visible_json

EVIL = "x\u202e\u009b31m\x7f"
COMMANDS = [
    ("validate",),
    ("validate", "--json"),
    ("graph",),
    ("graph", "--format", "mermaid"),
    ("graph", "--format", "dot"),
    ("graph", "--format", "json"),
    ("tools",),
    ("tools", "--json"),
    ("run", "QUERY"),
    ("run", "--json", "QUERY"),
    ("runs",),
    ("runs", "--json"),
    ("inbox",),
    ("inbox", "--json"),
    ("audit",),
    ("audit", "--json"),
    ("doctor",),
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    routing = {
        "signals": {"a": [{"signal": f"[B{EVIL}]", "target": "b", "description": EVIL}]},
        "agent_behaviors": {"a": {"wait_for_signal": True}},
    }
    agents = {"a": {"role": EVIL, "description": EVIL}, "b": {"is_terminal": True}}
    place = tmp_path_factory.mktemp("crews") / f"crew{EVIL}"
    write_crew(place, agents, [{"say": f"say {EVIL}"}], routing=routing, description=EVIL)
    assert crew("run", place, EVIL.replace("\u009b", "").replace("\x7f", "")).returncode == 3
    return place


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_nothing_commands_the_terminal(folder: Path, command: tuple[str, ...]):
    """As text and as JSON, which says the same."""
    name, *options = command
    words = ["hello \u202e" if one == "QUERY" else one for one in options]
    arguments = (folder, *words) if name == "run" else (*words, folder)
    done = crew(name, *arguments)
    found = UNSAFE.search(done.stdout + done.stderr)
    assert found is None, repr((done.stdout + done.stderr)[found.start() - 40 : found.end() + 40])
    assert done.returncode in (0, 1, 3), done


def test_what_is_to_be_pasted_means_the_same():
    """A shell reads it as it was, though it shows nothing that hides."""
    for text in (EVIL, "it's", "a\\b \u202e'", "$(reboot)"):
        shown = shell_quoted(text)
        assert UNSAFE.search(shown) is None
        said = subprocess.run(["bash", "-c", f"printf %s {shown}"], capture_output=True, check=True)
        assert said.stdout.decode() == text


def test_json_means_the_same():
    """Though other characters are in it."""
    document = {"a\u202e": ["\u009b", "\x85", "plain é", "\\u202e"]}
    text = visible_json(json.dumps(document, ensure_ascii=False))
    assert json.loads(text) == document
    assert re.search(r"[\x80-\x9f\u202e]", text) is None
