"""`crew init --from` a file of another program: a crew that validates, and what became of each part."""

import copy
import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from crew import check
from crew.config.problems import has_failed
from server.cli.imports.detect import crew_of_file
from server.cli.imports.foreign import Foreign
from tests.server.cli.test_tools import API
from tests.support.commands import needs_linux
from tests.support.foreign_files import AGENTS, CLIENT, TASKS, TEAM, WORKFLOW
from tests.support.forked import crew
from tests.support.mcp_servers import raw_server
from tools.errors import ToolDefinitionError


def imported(folder: Path, file: Path | str) -> tuple[dict[str, Any], list[str], str]:
    """What is written, by file name without its folder; what is told; the table."""
    made = crew("init", folder, "--from", file)
    assert made.returncode == 0, made
    assert "--provider scripted" in made.stdout
    valid = crew("validate", folder)
    assert valid.returncode == 0, valid
    played = crew("run", folder, "go", "--provider", "scripted")
    assert played.returncode in (0, 3), played
    rehearsed = crew("test", folder)
    assert (rehearsed.returncode, rehearsed.stdout[:18]) == (0, "2 passed, 0 failed"), rehearsed
    files = [folder / "crew.yaml", *(folder / "agents").iterdir()]
    files += [one for one in (folder / "tools.yaml",) if one.exists()]
    found = {one.stem: yaml.safe_load(one.read_text()) for one in files}
    return found, made.stderr.splitlines(), (folder / "imported.md").read_text()


def test_agents_and_tasks(tmp_path: Path):
    """crewAI: an agent for each task, in order; a review by a person waits; nothing is lost."""
    (tmp_path / "agents.yaml").write_text(AGENTS)
    (tmp_path / "tasks.yaml").write_text(TASKS)
    for number, source in enumerate(("agents.yaml", "tasks.yaml", "")):
        found, told, table = imported(tmp_path / f"crew{number}", tmp_path / source)
        assert found["crew"]["agents"] == ["look", "review", "tell"]
        assert found["crew"]["routing"]["defaults"] == {"look": "review"}
        assert found["crew"]["routing"]["agent_behaviors"] == {"review": {"wait_for_signal": True}}
        assert found["crew"]["routing"]["signals"]["review"][0]["target"] == "tell"
        assert (found["look"]["provider"], found["look"]["model"]) == ("groq", "llama-3.3-70b")
        assert found["crew"]["providers"]["groq"]["api_key"] == "${GROQ_API_KEY:-none}"
        assert found["tell"]["is_terminal"] is True
        assert "Your task: Look for <topic>." in found["look"]["system_prompt"]
        assert found["look"]["role"] == "Researcher of <topic>"
        assert (
            "agents.yaml:7: left out: researcher.tools: it stands in that program's"
            in "\n".join(told)
        )
        for part in ("idle", "researcher.verbose", "review.async_execution", "tell.output_file"):
            assert any(f"left out: {part}: " in one for one in told), (part, told)
        for part in ("tell.context", "review.human_input", "look.description"):
            assert any(f"changed: {part}: " in one for one in told), (part, told)
        assert "| tasks.yaml:9 | `review.human_input` | changed | the run waits" in table
        assert "| tasks.yaml:4 | `look.agent` | taken |  |" in table


def test_agents_without_tasks(tmp_path: Path):
    """Each is an agent, in the order of the file."""
    (tmp_path / "agents.yaml").write_text(AGENTS)
    found, _, _ = imported(tmp_path / "crew", tmp_path / "agents.yaml")
    assert found["crew"]["agents"] == ["researcher", "writer", "idle"]
    (tmp_path / "agents.yaml").unlink()
    (tmp_path / "tasks.yaml").write_text(TASKS.replace("  agent: researcher\n", ""))
    found, _, _ = imported(tmp_path / "other", tmp_path / "tasks.yaml")
    assert found["crew"]["agents"] == ["look", "review", "tell"]


def test_a_team(tmp_path: Path):
    """cagent: the root hands over by signals, members give the word back; the person is asked."""
    (tmp_path / "team.yaml").write_text(TEAM)
    found, told, _ = imported(tmp_path / "crew", tmp_path / "team.yaml")
    routing = found["crew"]["routing"]
    assert [(one["signal"], one["target"]) for one in routing["signals"]["root"]] == [
        ("[DESIGNER]", "designer"),
        ("[CLOSER]", "closer"),
        ("[DONE]", None),
    ]
    assert (routing["defaults"], found["closer"]["is_terminal"]) == ({"designer": "root"}, True)
    own = found["crew"]["providers"]["openai_own"]
    assert own == {"base_url": "https://api.groq.com/openai/v1", "api_key": "${GROQ_API_KEY:-none}"}
    assert (found["root"]["provider"], found["root"]["temperature"]) == ("openai_own", 0.4)
    assert found["designer"]["provider"] == "anthropic"
    assert (
        "((braces))" in found["root"]["system_prompt"]
        or "<braces>" in found["root"]["system_prompt"]
    )
    assert found["root"]["system_prompt"].endswith("Today is {{today}}.")
    for part in (
        "team.yaml:4: left out: models.fast.thinking_budget",
        "team.yaml:12: left out: agents.root.sub_agents.1: it is no agent",
        "team.yaml:16: left out: agents.root.toolsets.0: crewline runs no shell",
        "team.yaml:17: left out: agents.root.toolsets.1: docker:kubernetes is of Docker's",
        "team.yaml:18: left out: agents.root.toolsets.2: it did not start",
    ):
        assert any(one.startswith(part) for one in told), (part, told)


def test_a_workflow(tmp_path: Path):
    """conductor: conditions become signals, groups stay groups, gates ask a person."""
    (tmp_path / "flow.yaml").write_text(WORKFLOW)
    found, told, _ = imported(tmp_path / "crew", tmp_path / "flow.yaml")
    made = found["crew"]
    assert (made["name"], made["description"]) == ("research", "Looks things up")
    assert (made["entry_point"], made["routing"]["defaults"]) == ("start", {"start": "both"})
    # behind the script that is left out
    assert made["routing"]["parallel_groups"]["both"]["next_agent"] == "writer"
    ways = made["routing"]["signals"]
    assert [(one["signal"], one["target"]) for one in ways["writer"]] == [
        ("[GATE]", "gate"),
        ("[WRITER]", "writer"),
    ]
    assert ways["writer"][0]["description"] == "output.ready"
    assert [(one["signal"], one["target"]) for one in ways["gate"]] == [
        ("[APPROVED]", None),
        ("[CHANGES]", "writer"),
    ]
    assert made["routing"]["agent_behaviors"]["gate"] == {"wait_for_signal": True}
    assert made["settings"] == {"max_handoffs": 15, "timeout_seconds": 600}
    prompt = found["writer"]["system_prompt"]
    assert "Write about <topic>.\n- <one>\n" in prompt
    assert "- report: all of it" in prompt
    for part in ("agents.2", "for_each.0", "output", "workflow.runtime.temperature"):
        assert any(f"left out: {part}: " in one for one in told), (part, told)
    for part in ("parallel.0.failure_mode", "agents.3.input", "agents.3.routes.0"):
        assert any(f"changed: {part}: " in one for one in told), (part, told)


@needs_linux
def test_servers_of_a_client(tmp_path: Path):
    """Those that start are pinned, and their secrets stand in no file; with comments and tabs."""
    entry = raw_server(tmp_path, "")
    server = {
        "command": entry["command"],
        "args": [*entry["args"], "--api-key", "sk-arg-1", "MY_TOKEN=tok-2", "-v"],
        "env": {"SERVICE_KEY": "sk-env-3", "MODE": "fast", "OTHER": "${env:HOME}"},
        "timeout": 30_000,
        "autoApprove": ["t"],
    }
    (tmp_path / "client.json").write_text(CLIENT % json.dumps(server))
    found, told, table = imported(tmp_path / "crew", tmp_path / "client.json")
    made = found["tools"]["tools"]["notes"]
    assert made["requires_approval"] is True
    assert made["timeout_seconds"] == 30
    assert made["args"][-4:] == ["--api-key", "${API_KEY:-}", "MY_TOKEN=${MY_TOKEN:-}", "-v"]
    assert made["env"] == {"SERVICE_KEY": "${SERVICE_KEY:-}", "MODE": "fast", "OTHER": "${HOME:-}"}
    assert found["operator"]["tools"] == ["notes"]
    assert list((tmp_path / "crew").glob("*lock*"))
    written = "".join(
        one.read_text()
        for one in (tmp_path / "crew").rglob("*")
        if one.is_file() and one.suffix != ".db"
    )
    for secret in ("sk-arg-1", "tok-2", "sk-env-3", "sk-1"):
        assert secret not in written
        assert secret not in "".join(told)
    for part in (
        "client.json:5: left out: mcpServers.far: it did not start",
        "client.json:6: left out: mcpServers.off: it is disabled there",
        "client.json:7: left out: mcpServers.empty: it has neither command nor url",
        "client.json:10: left out: theme: crewline has nothing like it",
        "client.json:4: changed: mcpServers.notes.env.SERVICE_KEY: a secret",
    ):
        assert any(one.startswith(part) for one in told), (part, told)
    assert '"allow_private"' in table
    listed = [
        json.loads(line) for line in crew("tools", "--json", tmp_path / "crew").stdout.splitlines()
    ]
    assert [(one["tool"], one["pin"]) for one in listed] == [("notes_t", "locked")]


@needs_linux
def test_a_server_that_repeats_its_secret_and_one_that_two_agents_have(tmp_path: Path):
    """What it says is shown without the secret; the other is one entry."""
    told = "import os, sys; sys.exit('bad key ' + os.environ['A_KEY'])"
    failing = {"command": "python3", "args": ["-c", told], "env": {"A_KEY": "sk-repeated-123"}}
    (tmp_path / "client.json").write_text(json.dumps({"mcpServers": {"a": failing}}))
    made = crew("init", tmp_path / "one", "--from", tmp_path / "client.json")
    assert (made.returncode, "did not start" in made.stderr) == (0, True)
    assert "sk-repeated-123" not in made.stderr + (tmp_path / "one" / "imported.md").read_text()
    reads = "def listed(request):\n    reads = {**TOOL, 'annotations': {'readOnlyHint': True}}\n    result(request, tools=[reads])\n"
    entry = raw_server(tmp_path, reads)
    server = {"type": "mcp", "command": entry["command"], "args": entry["args"]}
    agents = {
        name: {"model": "openai/x", "instruction": "Do.", "toolsets": [server]}
        for name in ("root", "b")
    }
    agents["root"]["sub_agents"] = ["b"]
    (tmp_path / "team.yaml").write_text(yaml.safe_dump({"agents": agents}))
    found, _, _ = imported(tmp_path / "two", tmp_path / "team.yaml")
    assert len(found["tools"]["tools"]) == 1
    assert found["root"]["tools"] == found["b"]["tools"]


def test_an_openapi_document_by_its_name(tmp_path: Path):
    """As with `--from openapi`."""
    (tmp_path / "api.yaml").write_text(f"{API}info: {{ title: Users }}\n")
    made = crew("init", tmp_path / "crew", "--from", tmp_path / "api.yaml")
    assert (made.returncode, made.stdout.endswith("--dry\n")) == (0, True), made
    assert crew("validate", tmp_path / "crew").returncode == 0


@pytest.mark.parametrize(
    ("name", "content", "told"),
    [
        ("x.json", '{"mcpServers": {"a": 1}', "x.json:1:"),
        ("x.yaml", "a: 1\n", "is of no program that is known"),
        ("x.yaml", "agents:\n  a: {}\n  a: {}\n", "x.yaml:3:3: duplicate key 'a'"),
        ("x.yaml", "", "the file is empty"),
        ("x.json", "\udcff", "x.json"),
        ("none.yaml", None, "cannot be read"),
    ],
)
def test_a_file_that_is_none(tmp_path: Path, name: str, content: str | None, told: str):
    """Refused with the place; nothing is written."""
    if content is not None:
        (tmp_path / name).write_bytes(content.encode("utf-8", "surrogateescape"))
    refused = crew("init", tmp_path / "crew", "--from", tmp_path / name)
    assert (refused.returncode, told in refused.stderr) == (2, True), refused
    assert "Traceback" not in refused.stderr
    assert not (tmp_path / "crew").exists()


SAMPLES = {"agents.yaml": AGENTS, "tasks.yaml": TASKS, "team.yaml": TEAM, "flow.yaml": WORKFLOW}
ODD = st.sampled_from(
    [
        None,
        True,
        0,
        -1,
        1e9,
        "",
        "x",
        "a b/c",
        "{{ x | y }}",
        "${A}",
        [],
        [None],
        {},
        {"a": None},
        {"": 1},
    ]
)


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The paths of all that stands within a document."""
    pairs = (
        value.items()
        if isinstance(value, dict)
        else enumerate(value)
        if isinstance(value, list)
        else ()
    )
    return [one for key, inner in pairs for one in [(*path, key), *places(inner, (*path, key))]]


@settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(name=st.sampled_from(sorted(SAMPLES)), data=st.data())
def test_odd_files_make_valid_crews_or_say_why(
    tmp_path_factory: pytest.TempPathFactory, name: str, data: st.DataObject
):
    """Whatever stands somewhere in a file: no other error, a crew without errors, a whole table."""
    document = yaml.safe_load(SAMPLES[name].replace("no-such-program-here", '""'))
    for _ in range(data.draw(st.integers(0, 3))):
        where = data.draw(st.sampled_from(places(document) or [()]))
        if not where:
            continue
        holder = document
        for key in where[:-1]:
            holder = holder[key]
        holder[where[-1]] = copy.deepcopy(data.draw(ODD))
    folder = tmp_path_factory.mktemp("odd")
    (folder / name).write_text(yaml.safe_dump(document, sort_keys=False))
    try:
        made = crew_of_file(folder / name)
    except ToolDefinitionError:
        return
    assert made is not None
    for file, text in made.files.items():
        (folder / "crew" / file).parent.mkdir(parents=True, exist_ok=True)
        (folder / "crew" / file).write_text(text)
    problems = check(folder / "crew").problems
    assert not has_failed(problems), [str(one) for one in problems]


def test_the_table_is_whole():
    """What nothing is said of is left out, as a whole where nothing below it is known."""
    foreign = Foreign("x.yaml", b"a:\n  b: 1\n  c: { d: 2, e: 3 }\nf: [1]\n")
    foreign.taken("a", "b")
    foreign.changed("a", "c", "d", why="so")
    told = [re.sub(r": crewline.*", "", str(part)) for part in foreign.table()]
    assert told == [
        "x.yaml:2: taken: a.b",
        "x.yaml:3: changed: a.c.d: so",
        "x.yaml:3: left out: a.c.e",
        "x.yaml:4: left out: f",
    ]
