"""What an edit of a crew's files may never reach: programs, hidden files, what keeps tools in bounds."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.end_to_end.test_editing import edited, put, texts_of
from tests.support.crews import copy_example, write_crew
from tests.support.processes import client, serving

CHECK = {"kind": "command", "argv": ["/bin/cat", "bin/check"], "description": "Checks."}
READS = {"kind": "command", "argv": ["/bin/cat", "notes.txt"], "description": "Reads notes."}
LISTS = {
    "kind": "command",
    "argv": ["/bin/ls", "data", "--by=conf/c.yaml"],
    "description": "Lists.",
}
BESIDE = {"kind": "command", "argv": ["/bin/cat", "b.txt"], "cwd": "bin", "description": "Reads."}
PLAN = {"workers": ["worker"], "approve": True}


RUN = ("bin/check", "notes.txt", "data/x.txt", "conf/c.yaml", "bin/b.txt")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    tools = {"check": CHECK, "notes": READS, "lists": LISTS, "beside": BESIDE}
    folder = write_crew(tmp_path / "crew", {"a": {"tools": [*tools]}}, tools=tools)
    for name in (*RUN, ".env"):
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text("DB_PASSWORD=hunter2\n")
    return folder


@pytest.mark.parametrize("name", RUN)
def test_what_a_tool_runs_is_not_written(folder: Path, name: str):
    """Also where the same request names it as a text for a prompt."""
    with serving(folder, CREW_EDIT="1") as server, client(server) as http:
        base, texts = texts_of(http)
        blocks = ["history", {"kind": "text", "file": name}]
        agent = edited(texts["agents/a.yaml"], "context", {"blocks": blocks})
        files = {"agents/a.yaml": agent, name: "echo owned"}
        refused = put(http, base, files=files)
        assert (refused.status_code, "on the machine only" in refused.text) == (400, True)
        assert (folder / name).read_text() == "DB_PASSWORD=hunter2\n"
        # nor deleted, where an agent reads it as well
        (folder / "agents" / "a.yaml").write_text(agent)
        assert http.post("/api/crew/reload").status_code == 200
        base, texts = texts_of(http)
        assert put(http, base, delete=[name]).status_code == 400
        # a text of its own may come with the agent that reads it
        blocks = ["history", {"kind": "text", "file": "rules.md"}]
        agent = edited(texts["agents/a.yaml"], "context", {"blocks": blocks})
        done = put(http, base, files={"agents/a.yaml": agent, "rules.md": "Be kind."})
        assert done.status_code == 200, done.text


@pytest.mark.parametrize("name", [".env", ".crew/x.md", "docs/.secret.md", "link.md"])
def test_hidden_files_are_not_read(folder: Path, name: str):
    """No prompt gets them, and so nobody who reads the files."""
    (folder / name).parent.mkdir(exist_ok=True)
    if name == "link.md":
        (folder / name).symlink_to(".env")
    (folder / name).write_text("DB_PASSWORD=hunter2\n")
    (folder / "rules.md").write_text("Be kind.")
    with serving(folder, CREW_EDIT="1") as server, client(server) as http:
        base, texts = texts_of(http)
        blocks = ["history", {"kind": "text", "file": name}]
        agent = edited(texts["agents/a.yaml"], "context", {"blocks": blocks})
        refused = put(http, base, files={"agents/a.yaml": agent})
        is_said = any(one in refused.text for one in ("is hidden", "there is no file link.md"))
        assert (refused.status_code, is_said) == (422, True), refused.text
        checked = http.post("/api/crew/files/check", json={"files": {"agents/a.yaml": agent}})
        assert "hunter2" not in checked.text + str(texts_of(http))
        # a dot alone, or two, hide nothing
        blocks = ["history", {"kind": "text", "file": "./rules.md"}]
        agent = edited(texts["agents/a.yaml"], "context", {"blocks": blocks})
        done = put(http, base, files={"agents/a.yaml": agent})
        assert done.status_code == 200, done.text


SERVER = {
    "command": "python3",
    "kind": "mcp",
    "args": ["runbook.py"],
    "deny": ["drop_*"],
    "allow": ["find_step", "see_*"],
    "pin": True,
    "tools": {"find_step": {"requires_approval": True}},
}
PYTHON = {"kind": "python", "function": "own.py:pay", "isolate": "process"}
WEAKER = {
    "an MCP tool without its approval": ("tools.yaml", "tools.runbook.tools", None),
    "a plan that nobody approves": ("agents/lead.yaml", "plan.approve", False),
    "a plan without the key": ("agents/lead.yaml", "plan", {"workers": ["worker"]}),
    "a server that is not pinned": ("tools.yaml", "tools.runbook.pin", False),
    "one allowed more": (
        "tools.yaml",
        "tools.runbook.allow",
        ["find_step", "see_*", "end_*"],
    ),
    "all allowed": ("tools.yaml", "tools.runbook.allow", None),
    "what was denied": ("tools.yaml", "tools.runbook.deny", None),
    "what a server says of its tools": ("tools.yaml", "tools.runbook.trust_annotations", True),
    "a tool in the server's own process": ("tools.yaml", "tools.pay.isolate", None),
}
STRONGER = {
    "one denied more": ("tools.yaml", "tools.runbook.deny", ["drop_*", "find_step"]),
    "fewer allowed": ("tools.yaml", "tools.runbook.allow", ["find_step"]),
    "no plan": ("agents/lead.yaml", "plan", None),
}


def test_what_keeps_tools_in_bounds_stays(tmp_path: Path):
    """It is refused to take it away, not to add to it, and the difference marks it."""
    source = copy_example("tools-without-code", tmp_path)
    agents: dict[str, Any] = {
        "lead": {"plan": PLAN, "tools": ["runbook"]},
        "worker": {"is_terminal": True, "tools": ["pay"]},
    }
    tools = {"runbook": SERVER, "pay": PYTHON}
    folder = write_crew(tmp_path / "crew", agents, tools=tools)
    for name in ("runbook.py", "mcp.lock.json"):
        (folder / name).write_bytes((source / name).read_bytes())
    (folder / "own.py").write_text('def pay() -> str:\n    """Pay."""\n    return "ok"\n')
    with serving(folder, CREW_EDIT="1") as server, client(server) as http:
        base, texts = texts_of(http)

        def change(file: str, path: str, value: Any) -> dict[str, str]:
            return {file: edited(texts[file], path, value)}

        for name, weaker in WEAKER.items():
            refused = put(http, base, files=change(*weaker))
            assert (refused.status_code, refused.json().get("code")) == (403, "wider-reach"), name
        for name, stronger in STRONGER.items():
            checked = http.post("/api/crew/files/check", json={"files": change(*stronger)}).json()
            assert not checked["refused"], (name, checked)
        assert yaml.safe_load(texts["tools.yaml"])["tools"]["pay"]["isolate"] == "process"


NAMES = {"type": "object", "properties": {"of": {"type": "string", "enum": ["a", "b"]}}}
LIST: dict[str, Any] = {"kind": "command", "argv": ["/bin/ls", "{of}"], "description": "Lists."}
LIST |= {"parameters": NAMES}
LAB = {"base_url": "http://127.0.0.1:9/v1"}
ELSEWHERE = {
    "an argument without its list": (
        "tools.yaml",
        "tools.list.parameters.properties.of.enum",
        None,
    ),
    "a longer list": ("tools.yaml", "tools.list.parameters.properties.of.enum", ["a", "b", "c"]),
    "a request that writes": ("tools.yaml", "tools.book.method", "DELETE"),
    "a provider that nobody used": ("agents/a.yaml", "provider", "openai"),
    "no provider, and so OpenAI": ("agents/a.yaml", "provider", None),
    "a backup elsewhere": ("agents/a.yaml", "backup", {"model": "m", "provider": "anthropic"}),
    "no gate": ("crew.yaml", "reload_gate", None),
    "a gate without rehearsals": ("crew.yaml", "reload_gate.rehearsals", False),
    "more that may go another way": ("crew.yaml", "reload_gate.replay.at_most", 1),
}
SAME = {
    "a shorter list": ("tools.yaml", "tools.list.parameters.properties.of.enum", ["a"]),
    "a request that only asks": ("tools.yaml", "tools.book.method", "HEAD"),
    "a provider of the crew": ("agents/a.yaml", "provider", "scripted"),
    "a key of a body": ("crew.yaml", "models.fast.body", {"provider": ["azure"]}),
    "another one of the files": ("agents/a.yaml", "provider", "other"),
}


def test_what_is_sent_goes_nowhere_else(tmp_path: Path):
    """To no other provider, by no request that writes; and what files must pass is passed."""
    book = {"kind": "http", "url": "http://127.0.0.1:9/", "description": "Looks."}
    folder = write_crew(
        tmp_path / "crew",
        {"a": {"tools": ["book", "list"], "provider": "lab", "model": "m"}},
        tools={"book": book, "list": LIST},
        models={"fast": {"provider": "lab", "model": "f", "body": {"provider": {}}}},
        providers={"lab": LAB, "other": {"base_url": "http://127.0.0.1:8/v1"}},
        reload_gate={"rehearsals": True, "replay": {"at_most": 0.05}},
    )
    with serving(
        folder, CREW_EDIT="1", OPENAI_API_KEY="a-key", ANTHROPIC_API_KEY="a-key"
    ) as server:
        with client(server) as http:
            base, texts = texts_of(http)

            def change(file: str, path: str, value: Any) -> dict[str, str]:
                return {file: edited(texts[file], path, value)}

            for name, wider in ELSEWHERE.items():
                refused = put(http, base, files=change(*wider))
                found = refused.status_code, refused.json().get("code")
                assert found == (403, "wider-reach"), (name, refused.text)
            for name, same in SAME.items():
                checked = http.post("/api/crew/files/check", json={"files": change(*same)}).json()
                assert not checked["refused"], (name, checked)
