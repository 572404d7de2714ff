"""What runs and files say cannot command a terminal; what is kept is private; tools are the crew's own."""

from pathlib import Path
from typing import Any

import pytest

from tests.support.crews import write_crew
from tests.support.forked import crew
from tools.text.texts import map_texts, visible

# clears the screen, sets the title, writes the clipboard; turns text around; a C1 that begins a command
COMMANDS = "\x1b[2J\x1b]0;title\x07\x1b]52;c;x\x07 \u202eevil\u2066 \x9b31m"
UNSAFE = ("\x1b", "\x07", "\u202e", "\u2066", "\x9b")


def test_a_run_cannot_command_the_terminal(tmp_path: Path):
    """Agents, tools' outputs, arguments and names of agents; in lists too."""
    tell = f"def tell(about: str) -> str:\n    return about + {COMMANDS!r}\n"
    rules: list[dict[str, Any]] = [
        {"after": "tell", "say": f"said {COMMANDS}"},
        {"say": "", "calls": [{"tool": "tell", "arguments": {"about": COMMANDS}}]},
    ]
    tools = {"tell": {"kind": "python", "function": "acts.py:tell"}}
    folder = write_crew(tmp_path, {"a": {"tools": ["tell"]}}, rules, tools)
    (folder / "acts.py").write_text(tell)
    shown = crew("run", folder, "hello \u202ethere")
    assert shown.returncode == 0
    assert "\\x1b[2J" in shown.stdout
    for text in (shown.stdout, shown.stderr, crew("runs", folder).stdout):
        assert not [unsafe for unsafe in UNSAFE if unsafe in text]


def test_a_file_cannot_command_the_terminal(tmp_path: Path):
    """The line of YAML that a problem shows."""
    folder = write_crew(tmp_path, {"a": {}})
    with (folder / "crew.yaml").open("a") as file:
        file.write(f"nonsense: 'x {COMMANDS[-20:]}'\n".replace("\x1b", "").replace("\x07", ""))
    shown = crew("validate", folder)
    assert shown.returncode == 1
    for text in (shown.stdout, shown.stderr):
        assert not [unsafe for unsafe in UNSAFE if unsafe in text]


def test_what_is_visible_stays():
    """Tabs and lines, every script, and what stands in JSON."""
    text = "một\tline\n✅ שלום"
    assert visible(text) == text
    assert visible("\x1b\u202e") == "\\x1b\\u202e"
    assert map_texts({"\x1b": ["\x07", 1, None]}, visible) == {"\\x1b": ["\\x07", 1, None]}


def test_what_runs_say_is_private(tmp_path: Path):
    """For the owner only, also where it was not; and in no version control."""
    folder = write_crew(tmp_path, {"a": {}})
    kept = folder / ".crew"
    kept.mkdir(mode=0o755)
    (kept / "crew.db").touch(mode=0o644)
    assert crew("run", folder, "hello").returncode == 0
    assert kept.stat().st_mode & 0o777 == 0o700
    assert {file.stat().st_mode & 0o777 for file in kept.glob("crew.db*")} == {0o600}
    assert (kept / ".gitignore").read_text() == "*\n"


@pytest.mark.parametrize("link", [False, True])
def test_a_tool_outside_the_crews_folder_is_refused(tmp_path: Path, link: bool):
    """By its path, or by a link; the operator can allow a folder."""
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "acts.py").write_text("def act() -> str:\n    return 'acted'\n")
    place = "acts.py" if link else "../elsewhere/acts.py"
    tools = {"act": {"kind": "python", "function": f"{place}:act"}}
    folder = write_crew(tmp_path / "crew", {"a": {"tools": ["act"]}}, None, tools)
    if link:
        (folder / "acts.py").symlink_to(elsewhere / "acts.py")
    refused = crew("validate", folder)
    assert refused.returncode == 1
    assert "is outside the crew's folder; CREW_TOOL_FOLDERS can allow" in refused.stdout
    allowed = crew("validate", folder, CREW_TOOL_FOLDERS=f"/nowhere:{elsewhere}")
    assert allowed.returncode == 0


@pytest.mark.parametrize("name", ["crew.yaml", "tools.yaml", "agents/l.yaml", "script.yaml"])
def test_a_link_out_of_the_folder_is_refused(tmp_path: Path, name: str):
    """None of the other file's text is shown; links that stay inside are followed."""
    outside = tmp_path / "outside.yaml"
    outside.write_text("CANARY: [unclosed\nCANARYkey02\n")
    folder = write_crew(tmp_path / "crew", {"a": {}})
    (folder / name).unlink(missing_ok=True)
    (folder / name).symlink_to(outside)
    ended = crew("validate", folder)
    assert ended.returncode == 1
    assert f"{name}:1:1: error[outside-folder]: it is a link to a file outside" in ended.stdout
    assert "CANARY" not in ended.stdout + ended.stderr


def test_links_within_the_folder_are_followed(tmp_path: Path):
    """As a mounted ConfigMap has them."""
    folder = write_crew(tmp_path, {"a": {}})
    (folder / "..2026").mkdir()
    (folder / "crew.yaml").rename(folder / "..2026" / "crew.yaml")
    (folder / "..data").symlink_to("..2026")
    (folder / "crew.yaml").symlink_to("..data/crew.yaml")
    ended = crew("validate", folder)
    assert ended.returncode == 0, ended.stdout
