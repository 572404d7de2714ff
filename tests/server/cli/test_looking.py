"""Commands that only look need no secret, and start or import nothing of the crew's tools."""

import shutil
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.support.crews import write_crew
from tests.support.forked import crew

AGENTS: dict[str, Any] = {"a": {"is_terminal": True, "tools": ["now", "files"]}}
# a shell has none of these variables, and the server does
CREW: dict[str, Any] = {
    "conversations": {},
    "memory": {"recall": {}},
    "providers": {
        "one": {"base_url": "${MODELS_URL}", "api_key": "${MODELS_KEY}"},
        "two": {"base_url": "https://${MODELS_HOST}:${MODELS_PORT}/v1", "api_key": "${OTHER_KEY}"},
    },
    "notify": {
        "team": {"kind": "slack", "url": "${SLACK_URL}"},
        "page": {
            "kind": "webhook",
            "url": "${PAGER_URL}/alerts",
            "headers": {"Authorization": "Bearer ${PAGER_TOKEN}"},
        },
    },
}
TOOLS: dict[str, Any] = {
    "now": {"kind": "python", "function": "clock:now"},
    "files": {"kind": "mcp", "command": "${FILES_SERVER}", "env": {"TOKEN": "${FILES_TOKEN}"}},
    "page": {"kind": "http", "description": "A page.", "url": "${SITE}/page"},
}


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A crew of which a run is kept, and that got tools since then that do not load here."""
    made = write_crew(
        tmp_path_factory.mktemp("looking"), {"a": {"is_terminal": True}}, [{"say": "done"}]
    )
    crew("run", made, "look")
    write_crew(made, AGENTS, [{"say": "done"}], **CREW)
    (made / "tools.yaml").write_text(yaml.safe_dump({"tools": TOOLS}))
    (made / "clock.py").write_text("raise SystemExit('this file is run')\n")
    return made


@pytest.fixture
def folder(kept: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(kept, tmp_path / "crew"))


@pytest.mark.parametrize(
    "words",
    [
        *(("why", ".", "last"), ("show", "last"), ("export", "last"), ("search", "look")),
        *(("budgets",), ("costs",), ("schedules",), ("revisions",), ("inbox",), ("audit",)),
        *(("compare", "last", "last"), ("memory", ".", "--user", "ann"), ("runs",)),
        *(("conversations", ".", "--user", "ann"), ("forget", ".", "--user", "ann")),
        *(("delete", "last", "--yes"), ("backup", ".", "kept.crewbackup")),
    ],
    ids=lambda words: words[0],
)
def test_no_variable_is_needed(folder: Path, words: tuple[str, ...]):
    ran = crew(*words, cwd=folder)
    assert ran.returncode == 0, ran.stderr
    assert "error" not in ran.stderr


def test_to_look_at_files_needs_none(folder: Path, tmp_path: Path):
    """Their graph, what differs, and what the tools may do, for which they are looked at."""
    assert crew("graph", cwd=folder).returncode == 0
    (folder / "clock.py").write_text('def now() -> str:\n    """The time."""\n    return "now"\n')
    tools = {"now": {"kind": "python", "function": "clock.py:now"}, "page": TOOLS["page"]}
    (folder / "tools.yaml").write_text(yaml.safe_dump({"tools": tools}))
    agent = (folder / "agents" / "a.yaml").read_text()
    (folder / "agents" / "a.yaml").write_text(agent.replace("- files\n", ""))
    done = crew("tools", folder)
    assert (done.returncode, "now" in done.stdout) == (0, True), done.stderr
    other = shutil.copytree(folder, tmp_path / "other")
    done = crew("diff", other, folder)
    assert (done.returncode, done.stdout) == (0, "nothing differs\n"), done.stderr


def test_to_end_a_run_needs_none(folder: Path):
    ran = crew("cancel", "last", cwd=folder)
    assert "is completed" in ran.stderr


def test_to_run_needs_them(folder: Path):
    ran = crew("run", ".", "again", cwd=folder)
    assert ran.returncode == 1
    assert "unset-variable" in ran.stderr


@pytest.mark.parametrize("command", [("hooks",), ("revisions",), ("search", "zz"), ("schedules",)])
def test_where_nothing_is_kept_yet(command: tuple[str, ...], tmp_path: Path):
    """What the files have is listed, else one line says that there is nothing; no database is made."""
    hooks = {"tickets": {"kind": "json", "query": "go {/a}"}}
    schedules = {"often": {"cron": "* * * * *", "query": "well?"}}
    made = write_crew(
        tmp_path, {"a": {"is_terminal": True}}, [{"say": "x"}], hooks=hooks, schedules=schedules
    )
    ran = crew(*command, cwd=made)
    assert ran.returncode == 0, ran.stderr
    shown = {"hooks": "tickets", "schedules": "often"}.get(command[0])
    assert (shown in ran.stdout) if shown else len(ran.stderr.splitlines()) == 1
    assert shown or crew(*command, "--json", cwd=made).stderr == ""
    assert not (made / ".crew" / "crew.db").exists()
