"""One mistake hides no other one, causes no second one, and is never a traceback."""

import os
from pathlib import Path

import pytest

from crew import ConfigurationError, check, load_crew
from crew.config.problems import has_failed
from tests.support.problems import AGENT, CREW, places, problems

B = AGENT.replace("id: a", "id: b")
TWO = "agents: [a, b]\n"

# files, then the place and code of each problem
CASES: dict[str, tuple[dict[str, str], list[str]]] = {
    "a duplicate key beside unknown names": (
        {
            "crew": "agents: [a]\nentry_point: zz\nsettings: {language: vi, language: en}\n"
            "routing: {defaults: {a: bb}, parallel_groups: {g: {agents: [nobody]}}}\n"
        },
        [
            "crew.yaml:2:14 e unknown-agent",
            "crew.yaml:3:26 e duplicate-key",
            "crew.yaml:4:25 e unknown-agent",
            "crew.yaml:4:61 e unknown-agent",
        ],
    ),
    "a tag beside an unknown name": (
        {"crew": "agents: [a]\nname: !x y\nentry_point: zz\n"},
        ["crew.yaml:2:7 e tag", "crew.yaml:3:14 e unknown-agent"],
    ),
    "a duplicate key in tools.yaml beside an unknown tool": (
        {
            "tools": "x-a: 1\nx-a: 2\ntools: {}\n",
            "agents.a": AGENT + "tools: [Nopey]\n",
        },
        ["agents/a.yaml:6:9 e unknown-tool", "tools.yaml:2:1 e duplicate-key"],
    ),
    "a wrong list of agents beside unknown names": (
        {
            "crew": "agents: [a, 'b c']\nentry_point: zz\nrouting: {defaults: {a: nobody}}\n",
        },
        [
            "crew.yaml:1:13 e bad-name",
            "crew.yaml:2:14 e unknown-agent",
            "crew.yaml:3:25 e unknown-agent",
        ],
    ),
    "a group without a value that is used": (
        {"crew": CREW + "routing: {parallel_groups: {g: }, defaults: {a: g}}\n"},
        ["crew.yaml:2:29 e missing-key"],
    ),
    "a key that must be there, misspelt": (
        {"crew": CREW + "memory: {core: {b: {descripton: x}}}\n"},
        ["crew.yaml:2:21 e unknown-key (description)"],
    ),
    "a provider that is a text": (
        {
            "crew": CREW + "providers: {p: http://x/v1}\n",
            "agents.a": AGENT.replace("scripted", "p"),
        },
        ["crew.yaml:2:16 e wrong-type"],
    ),
    "a tool without a value that is used": (
        {"tools": "tools: {t: }\n", "agents.a": AGENT + "tools: [t]\n"},
        ["tools.yaml:1:9 e missing-key"],
    ),
    "an agent of an ignored name": (
        {"crew": "agents: [a, x-b]\n", "agents.x-b": AGENT.replace("id: a", "id: x-b")},
        ["crew.yaml:1:13 e bad-value", "agents/x-b.yaml:1:5 e bad-value"],
    ),
    "a group of an ignored name": (
        {"crew": CREW + "routing: {parallel_groups: {x-g: {agents: [a]}}, defaults: {a: x-g}}\n"},
        ["crew.yaml:2:64 e unknown-agent"],
    ),
    "a limit that is no number": (
        {
            "agents.a": AGENT + "cost_limits: {max_tokens_per_day: 5k, alert_threshold: 0.5, "
            "block_on_cost_exceed: true}\n"
        },
        ["agents/a.yaml:6:35 e wrong-type"],
    ),
    "a prompt that is no text": (
        {"agents.a": AGENT.replace("You are a.", "{x: y}")},
        ["agents/a.yaml:5:16 e wrong-type"],
    ),
    "tools that are no list": (
        {"agents.a": AGENT.replace("You are a.", "'{{tools}}'") + "tools: {x: y}\n"},
        ["agents/a.yaml:6:8 e wrong-type"],
    ),
    "an address that is no address": (
        {
            "crew": CREW + "providers: {p: {base_url: [x]}}\n",
            "agents.a": AGENT.replace("scripted", "p"),
        },
        ["crew.yaml:2:27 e wrong-type"],
    ),
    "arguments that are no mapping": (
        {
            "agents.a": AGENT + "tools: [PingHost]\n",
            "script": "rules: [{say: x, calls: [{tool: PingHost, arguments: 5}]}]\n",
        },
        ["script.yaml:1:54 e wrong-type"],
    ),
    "two agents whose files have each other's names": (
        {"crew": TWO, "agents.a": B, "agents.b": AGENT + "is_terminal: true\n"},
        [
            "crew.yaml:1:10 w unreachable",
            "agents/a.yaml:1:5 w file-name",
            "agents/b.yaml:1:5 w file-name",
        ],
    ),
    "a name with a space in a mapping": (
        {"crew": CREW + "routing:\n  parallel_groups:\n    my group: {agents: [a]}\n"},
        ["crew.yaml:4:5 e bad-name"],
    ),
    "a key without a colon": (
        {"crew": "agents: [a]\nrouting\nname: x\n"},
        ["crew.yaml:2:1 e syntax"],
    ),
    "a character that YAML does not allow": (
        {"crew": "agents: [a]\n\0name: x\n"},
        ["crew.yaml:2:1 e syntax"],
    ),
    "a conflict of git": (
        {"crew": "agents: [a]\n<<<<<<< HEAD\nname: x\n=======\nname: y\n>>>>>>> other\n"},
        ["crew.yaml:2:1 e syntax"],
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_only_what_is_wrong_is_reported(name: str, tmp_path: Path):
    """And a crew with an error does not load."""
    files, expected = CASES[name]
    found = problems(tmp_path, **files)
    assert places(found) == expected
    if has_failed(found):
        with pytest.raises(ConfigurationError):
            load_crew(tmp_path, environment={})


def test_a_byte_order_mark_before_a_wrong_byte(tmp_path: Path):
    """The byte has its own place."""
    problems(tmp_path)
    (tmp_path / "agents" / "a.yaml").write_bytes(b"\xef\xbb\xbfid: a\nname: Jos\xe9\n")
    (found,) = [p for p in check(tmp_path).problems if p.code == "not-utf8"]
    assert (found.line, found.column) == (2, 10)
    assert "0xe9" in found.message


@pytest.mark.parametrize("name", ["crew.yaml", "tools.yaml", "agents/a.yaml", "agents/c.yaml"])
@pytest.mark.parametrize("kind", ["folder", "link", "loop", "pipe"])
def test_what_is_no_file_is_reported_where_it_is(tmp_path: Path, name: str, kind: str):
    """A folder, a link that leads nowhere or to itself, a pipe."""
    problems(tmp_path)
    path = tmp_path / name
    path.unlink(missing_ok=True)
    match kind:
        case "folder":
            path.mkdir()
        case "link":
            path.symlink_to("nowhere")
        case "loop":
            path.symlink_to(path)
        case "pipe":
            os.mkfifo(path)
    found = check(tmp_path).problems
    assert [p.file for p in found if p.code == "unreadable"] == [name]


def test_copies_of_an_editor_are_no_agents(tmp_path: Path):
    """Hidden ones are left out; of two files with one id the other one is wrong."""
    problems(tmp_path)
    (tmp_path / "agents" / ".#a.yaml").symlink_to("nowhere")
    assert places(check(tmp_path).problems) == []
    (tmp_path / "agents" / "a copy.yaml").write_text(AGENT)
    assert places(check(tmp_path).problems) == ["agents/a copy.yaml:1:5 e agent-twice"]


MODULES = {
    "that prints": ("print('hello')\ndef f() -> str:\n    return ''\n", None),
    "that exits": ("raise SystemExit(3)\n", "SystemExit: 3"),
    "that raises what nobody catches": ("raise BaseException('x')\n", "BaseException: x"),
    "whose names are computed": (
        "def __getattr__(name):\n    raise ValueError('two\\nlines')\n",
        "ValueError: two lines",
    ),
}


@pytest.mark.parametrize("name", MODULES)
def test_a_module(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    """What it prints or raises while it is imported does not harm the command."""
    text, expected = MODULES[name]
    (tmp_path / "x.py").write_text(text)
    tools = {"tools": "tools: {t: {kind: python, function: 'x.py:f'}}\n"}
    found = problems(tmp_path, **tools, **{"agents.a": AGENT + "tools: [t]\n"})
    assert capsys.readouterr().out == ""
    if expected is None:
        assert places(found) == []
    else:
        (problem,) = found
        assert problem.code == "tool-import"
        assert expected in problem.message


def test_what_would_take_long_is_quick(tmp_path: Path):
    """Variables that never close, merges of merges."""
    url = "${A:-" * 200_000
    found = problems(tmp_path, **{"agents.a": AGENT + f"provider_url: '{url}'\n"})
    assert "agents/a.yaml" in {p.file for p in found}
    merges = ", ".join(f"&a{n} {{<<: *a{n - 1}}}" for n in range(1, 3000))
    found = problems(tmp_path, crew=CREW + f"x-a: [&a0 {{}}, {merges}]\nsettings: *a2999\n")
    assert "too-deep" in {p.code for p in found}
