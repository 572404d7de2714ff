"""Every mistake of a crew's files, each with its place, its code and its remedy; real crews load."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from crew import check, load_crew
from crew.config.problems import Problem, as_json, as_text
from crew.config.yaml_reader import MAX_BYTES, read
from tests.stage import SHARED_CREWS, play, write_crew
from tools import tool

AGENT = "id: a\nname: A\nrole: r\nprovider: scripted\nsystem_prompt: You are a.\n"
CREW = "agents: [a]\n"


def problems(folder: Path, **files: str) -> list[Problem]:
    """The problems of a crew of these files (dots stand for slashes: agents.a is agents/a.yaml)."""
    for name, text in (
        {"crew": CREW, "agents.a": AGENT, "script": "rules: [{say: x}]\n"} | files
    ).items():
        path = folder / f"{name.replace('.', '/')}.yaml"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return list(check(folder, environment={"SET": "value"}).problems)


def said(found: Iterable[Problem]) -> list[str]:
    return [
        f"{p.file}:{p.line}:{p.column} {p.severity[0]} {p.code}"
        + (f" ({p.suggestion})" if p.suggestion else "")
        for p in found
    ]


MISTAKES: dict[str, tuple[dict[str, str], list[str]]] = {
    "unknown key": (
        {"crew": CREW + "entry_pont: a\n"},
        ["crew.yaml:2:1 e unknown-key (entry_point)"],
    ),
    "unknown setting": (
        {"crew": CREW + "settings:\n  max_round: 3\n"},
        ["crew.yaml:3:3 e unknown-key (max_rounds)"],
    ),
    "wrong type": (
        {"crew": CREW + "settings:\n  max_rounds: many\n"},
        ["crew.yaml:3:15 e wrong-type"],
    ),
    "out of range": (
        {"crew": CREW + "settings:\n  max_rounds: 0\n"},
        ["crew.yaml:3:15 e out-of-range"],
    ),
    "version": ({"crew": CREW + "version: 2.0\n"}, ["crew.yaml:2:10 e bad-value (1.0)"]),
    "missing key": ({"agents.a": "id: a\nname: A\n"}, ["agents/a.yaml:1:1 e missing-key"]),
    "no agents": ({"crew": "agents: []\n"}, ["crew.yaml:1:9 e out-of-range"]),
    "missing agent file": ({"crew": "agents: [a, aa]\n"}, ["crew.yaml:1:13 e missing-agent (a)"]),
    "agent twice": ({"agents.b": AGENT}, ["agents/b.yaml:1:5 e agent-twice"]),
    "file name": (
        {"crew": "agents: [a, b]\n", "agents.x": AGENT.replace("id: a", "id: b")},
        ["agents/x.yaml:1:5 w file-name"],
    ),
    "unused agent": (
        {"agents.b": AGENT.replace("id: a", "id: b")},
        ["agents/b.yaml:1:5 w unused-agent"],
    ),
    "unknown tool": (
        {"agents.a": AGENT + "tools: [GetCPUUsag]\n"},
        ["agents/a.yaml:6:9 e unknown-tool (GetCPUUsage)"],
    ),
    "shell tool": (
        {"agents.a": AGENT + "tools: [ExecuteCommand]\n"},
        ["agents/a.yaml:6:9 e unknown-tool"],
    ),
    "unknown provider": (
        {"agents.a": AGENT.replace("scripted", "scriptd")},
        ["agents/a.yaml:4:11 e unknown-provider (scripted)"],
    ),
    "unknown target": (
        {"agents.a": AGENT + "handoff_targets: [b]\n"},
        ["agents/a.yaml:6:19 e unknown-agent"],
    ),
    "unknown entry": ({"crew": CREW + "entry_point: b\n"}, ["crew.yaml:2:14 e unknown-agent"]),
    "unknown signal agent": (
        {"crew": CREW + "routing:\n  signals:\n    b: []\n"},
        ["crew.yaml:4:5 e unknown-agent"],
    ),
    "unknown signal target": (
        {
            "crew": CREW
            + 'routing:\n  signals:\n    a:\n      - signal: "[X]"\n        target: bb\n'
        },
        ["crew.yaml:6:17 e unknown-agent"],
    ),
    "signal twice": (
        {"crew": CREW + 'routing:\n  signals:\n    a: [{signal: "[X]"}, {signal: "[ x ]"}]\n'},
        ["crew.yaml:4:35 e signal-twice"],
    ),
    "signal in signal": (
        {"crew": CREW + "routing:\n  signals:\n    a: [{signal: X}, {signal: X Y}]\n"},
        ["crew.yaml:4:31 w signal-in-signal"],
    ),
    "signal as a list": (
        {"crew": CREW + "routing:\n  signals:\n    a:\n      - signal: [X]\n"},
        ["crew.yaml:5:17 e wrong-type"],
    ),
    "empty group": (
        {"crew": CREW + "routing:\n  parallel_groups:\n    g: {agents: []}\n"},
        ["crew.yaml:4:17 e empty-group"],
    ),
    "group named like an agent": (
        {"crew": CREW + "routing:\n  parallel_groups:\n    a: {agents: [a]}\n"},
        ["crew.yaml:4:5 e group-name"],
    ),
    "terminal disagreement": (
        {
            "crew": CREW + "routing:\n  agent_behaviors:\n    a: {is_terminal: false}\n",
            "agents.a": AGENT + "is_terminal: true\n",
        },
        ["crew.yaml:4:22 e terminal-disagreement"],
    ),
    "tool twice": (
        {
            "crew": CREW + "tools: {t: {kind: python, function: base64:b64encode}}\n",
            "tools": "tools: {t: {kind: python, function: x:y}}\n",
        },
        ["crew.yaml:2:37 e tool-import", "tools.yaml:1:9 e tool-twice"],
    ),
    "tool named like a built-in": (
        {"tools": "tools: {PingHost: {kind: python, function: os.path:join}}\n"},
        ["tools.yaml:1:9 e tool-twice", "tools.yaml:1:9 w unused-tool"],
    ),
    "tool that does not import": (
        {"tools": "tools: {t: {kind: python, function: nope.py:f}}\n"},
        ["tools.yaml:1:9 w unused-tool", "tools.yaml:1:37 e tool-import"],
    ),
    "unset variable": (
        {"crew": CREW + "providers: {p: {base_url: 'http://${NOPE}'}}\n"},
        ["crew.yaml:2:27 e unset-variable"],
    ),
    "trap": (
        {
            "crew": "agents: [a, b]\nrouting: {defaults: {a: b, b: a}}\n",
            "agents.b": AGENT.replace("id: a", "id: b"),
        },
        ["crew.yaml:1:10 e trap"],
    ),
    "loop": (
        {
            "crew": 'agents: [a, b]\nrouting: {defaults: {a: b, b: a}, signals: {a: [{signal: "[E]"}]}}\n',
            "agents.b": AGENT.replace("id: a", "id: b"),
        },
        ["crew.yaml:1:10 w loop"],
    ),
    "unreachable": (
        {
            "crew": "agents: [a, b]\nrouting: {defaults: {a: null}}\n",
            "agents.b": AGENT.replace("id: a", "id: b"),
        },
        ["crew.yaml:1:13 w unreachable"],
    ),
    "unmentioned signal": (
        {
            "crew": CREW
            + 'settings: {route_hints: never}\nrouting: {signals: {a: [{signal: "[E]"}]}}\n'
        },
        ["crew.yaml:3:34 w unmentioned-signal"],
    ),
    "unknown signal in a prompt": (
        {"agents.a": AGENT.replace("You are a.", '"End with [GO] or [ok]"')},
        ["agents/a.yaml:5:16 w unknown-signal"],
    ),
    "unknown variable": (
        {"agents.a": AGENT.replace("You are a.", '"{{nam}}"')},
        ["agents/a.yaml:5:16 w unknown-variable"],
    ),
    "no prompt": (
        {"agents.a": AGENT.replace("system_prompt: You are a.\n", "")},
        ["agents/a.yaml:1:1 w no-prompt"],
    ),
    "ignored keys": (
        {"crew": CREW + "tasks: []\nsettings: {max_memory_mb: 1}\n"},
        ["crew.yaml:2:1 w ignored-key", "crew.yaml:3:12 w ignored-key"],
    ),
    "duplicate key": ({"crew": CREW + "name: x\nname: y\n"}, ["crew.yaml:3:1 e duplicate-key"]),
    "syntax": ({"crew": CREW + "name: a: b\n"}, ["crew.yaml:2:8 e syntax"]),
    "a character that YAML does not allow": (
        {"crew": CREW + b"name: a\\u0007b\n".decode("unicode-escape")},
        ["crew.yaml:2:8 e syntax"],
    ),
    "tab": ({"crew": CREW + "settings:\n\tmax_rounds: 3\n"}, ["crew.yaml:3:1 e syntax"]),
    "tag": ({"crew": CREW + "name: !!python/object:os.system x\n"}, ["crew.yaml:2:7 e tag"]),
    "empty file": ({"agents.a": ""}, ["agents/a.yaml:1:1 e empty"]),
    "a list at the top": ({"crew": "- a\n"}, ["crew.yaml:1:1 e not-a-mapping"]),
    "script": ({"script": "rules: [{sya: x}]\n"}, ["script.yaml:1:10 e unknown-key (say)"]),
    "unknown agent in a script": (
        {"script": "rules: [{agent: aa, say: x}]\n"},
        ["script.yaml:1:17 e unknown-agent (a)"],
    ),
    "unknown tool in a script": (
        {"script": "rules: [{calls: [PingHst]}]\n"},
        ["script.yaml:1:18 w script-tool (PingHost)"],
    ),
    "setting at the top": ({"crew": CREW + "max_rounds: 3\n"}, ["crew.yaml:2:1 e unknown-key"]),
    "quote that stays open": ({"crew": CREW + 'name: "x\n\n\n'}, ["crew.yaml:2:7 e syntax"]),
    "indentation": (
        {"crew": CREW + "settings:\n    max_rounds: 3\n  max_handoffs: 2\n"},
        ["crew.yaml:4:3 e syntax"],
    ),
    "provider without an address": (
        {
            "crew": CREW + "providers: {p: {api_key: x}}\n",
            "agents.a": AGENT.replace("scripted", "p"),
        },
        ["agents/a.yaml:4:11 e provider"],
    ),
    "no address": (
        {
            "crew": CREW + "providers: {p: {base_url: 'localhost:11434 '}}\n",
            "agents.a": AGENT + "provider_url: http://h:port/\n",
        },
        ["crew.yaml:2:27 e bad-value", "agents/a.yaml:6:15 e bad-value"],
    ),
    "no header": (
        {"crew": CREW + 'providers: {p: {headers: {X Team: a, X-Team: "a\\nb"}}}\n'},
        ["crew.yaml:2:27 e bad-name", "crew.yaml:2:46 e bad-value"],
    ),
    "a schema that the function does not take": (
        {
            "tools": "tools: {t: {kind: python, function: 'base64:b64encode', parameters: {properties: {s: {type: string}}}}}\n",
            "agents.a": AGENT + "tools: [t]\n",
        },
        ["tools.yaml:1:37 e tool-import"],
    ),
    "more mistakes than anybody reads": (
        {"tools": "".join(f"k{n}: 1\n" for n in range(1005))},
        [
            *(
                f"tools.yaml:{max(1, n)}:1 e {'unknown' if n else 'missing'}-key"
                for n in range(1000)
            ),
            "tools.yaml:1000:1 e too-many-problems",
        ],
    ),
    "tool whose entry is wrong": (
        {"tools": "tools: {t: {kind: python}}\n", "agents.a": AGENT + "tools: [t]\n"},
        ["tools.yaml:1:9 e missing-key"],
    ),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_every_mistake_has_its_place(name: str, tmp_path: Path):
    """File, line, column, severity, code, and what was meant."""
    files, expected = MISTAKES[name]
    assert said(problems(tmp_path, **files)) == expected


def test_all_problems_of_all_files_are_told_at_once(tmp_path: Path):
    """Errors and warnings together, by place, also as JSON."""
    found = problems(
        tmp_path,
        crew="agents: [a]\nnam: x\nsettings: {max_rounds: x}\n",
        **{"agents.a": AGENT + "temprature: 3\n", "tools": "tols: {}\n"},
    )
    assert said(found) == [
        "crew.yaml:2:1 e unknown-key (name)",
        "crew.yaml:3:24 e wrong-type",
        "agents/a.yaml:6:1 e unknown-key (temperature)",
        "tools.yaml:1:1 e missing-key",
        "tools.yaml:1:1 e unknown-key (tools)",
    ]
    document = json.loads(json.dumps(as_json(found)))
    assert set(document["problems"][0]) == {
        "file",
        "line",
        "column",
        "severity",
        "code",
        "message",
        "suggestion",
    }


def test_a_problem_shows_its_line(tmp_path: Path):
    """With a caret, and what was probably meant."""
    (problem,) = problems(tmp_path, crew=CREW + "settings: {max_rouns: 3}\n")
    text = as_text(problem, {"crew.yaml": CREW + "settings: {max_rouns: 3}\n"}, "dir/")
    assert (
        text
        == "dir/crew.yaml:2:12: error[unknown-key]: unknown key 'max_rouns'\n    settings: {max_rouns: 3}\n               ^\n    did you mean 'max_rounds'?"
    )


def test_secrets_are_not_shown(tmp_path: Path):
    """Neither a key in the file nor one from the environment."""
    text = CREW + "providers: {p: {base_url: [1], api_key: sk-written, heders: 1}}\n"
    found = problems(tmp_path, crew=text)
    assert found
    assert not any("sk-written" in as_text(problem, {"crew.yaml": text}) for problem in found)
    found = problems(
        tmp_path, crew=CREW + "providers:\n  p: {base_url: http://x, timeout_seconds: '${SET}'}\n"
    )
    assert said(found) == ["crew.yaml:3:44 e wrong-type"]
    assert "value" not in found[0].message


def test_text_stays_text(tmp_path: Path):
    """What YAML 1.1 would make a number, a truth value or a date."""
    write_crew(tmp_path, {})
    (tmp_path / "crew.yaml").write_text(
        "version: 1.0\nname: yes\nagents: [007]\nrouting: {signals: {007: [{signal: on, target: null}, {signal: 12:30}]}}\nx-note: {a: 1}\n"
    )
    (tmp_path / "agents" / "007.yaml").write_text(
        "id: 007\nname: 1.50\nrole: 2026-01-01\nprovider: scripted\nbackstory: off\ntemperature: null\n"
    )
    (tmp_path / "script.yaml").write_text("rules: [{say: on}]\n")
    crew = load_crew(tmp_path)
    assert (crew.name, list(crew.agents)) == ("yes", ["007"])
    assert (crew.agents["007"].name, crew.agents["007"].temperature) == ("1.50", None)
    assert [route.signal.text for route in crew.routing.routes["007"]] == ["on", "12:30"]


def test_anchors_and_merges_keep_their_places(tmp_path: Path):
    """A mistake in what is merged is told where it stands."""
    crew = "x-base: &base\n  wait_for_signal: maybe\n  auto_route: false\nagents: [a]\nrouting:\n  agent_behaviors:\n    a:\n      <<: *base\n      auto_route: true\n"
    assert said(problems(tmp_path, crew=crew)) == ["crew.yaml:2:20 e wrong-type"]


def test_go_agentic_spellings_are_read(tmp_path: Path):
    """Flat cost keys and `enforce`."""
    agent = (
        AGENT
        + "max_tokens_per_day: 5\nenforce_cost_limits: true\ncost_limits: {max_tokens_per_call: 7}\n"
    )
    assert problems(tmp_path, **{"agents.a": agent}) == []
    limits = check(tmp_path).files.agents["a"].cost_limits
    assert (limits.max_tokens_per_day, limits.max_tokens_per_call, limits.block_on_cost_exceed) == (
        5,
        7,
        True,
    )


def test_nulls_and_notes_between_names(tmp_path: Path):
    """In mappings by name too: null is not given, `x-` is yours."""
    crew = (
        CREW
        + "providers: {openai: , x-base: {a: 1}}\nrouting: {signals: {a: , x-note: 1}, agent_behaviors: {a: }, parallel_groups: }\n"
    )
    assert problems(tmp_path, crew=crew) == []


def test_a_group_goes_on_from_where_its_first_came_from(tmp_path: Path):
    """A group behind a group is no trap where the first one's origin has a default."""
    crew = """
agents: [a, b, m]
routing:
  signals: {a: [{signal: "[G]", target: g1}]}
  defaults: {a: b, b: null}
  parallel_groups:
    g1: {agents: [m], next_agent: g2}
    g2: {agents: [m]}
"""
    others = {f"agents.{name}": AGENT.replace("id: a", f"id: {name}") for name in "bm"}
    assert problems(tmp_path, crew=crew, **others) == []


def test_two_files_of_one_kind_are_told(tmp_path: Path):
    """And a model beside a primary."""
    agent = AGENT + "model: x\nprimary: {model: y, provider: scripted}\n"
    found = problems(tmp_path, **{"agents.a": agent})
    assert said(found) == ["agents/a.yaml:4:1 w ignored-key", "agents/a.yaml:6:1 w ignored-key"]
    (tmp_path / "crew.yml").write_text(CREW)
    assert "ignored-file" in [problem.code for problem in check(tmp_path).problems]


def test_a_script_that_is_missing_is_told(tmp_path: Path):
    """Where the provider is named."""
    problems(tmp_path)
    (tmp_path / "script.yaml").unlink()
    assert said(check(tmp_path).problems) == ["agents/a.yaml:4:11 w no-script"]


def test_deep_aliases_are_refused():
    """Each is one level of text, and one more of what it stands for."""
    text = "x-0: &a0 [1]\n" + "".join(f"x-{n}: &a{n} [*a{n - 1}]\n" for n in range(1, 1500))
    assert [problem.code for problem in read("crew.yaml", text.encode()).problems] == ["too-deep"]


BOMB = "a: &a [x,x,x,x,x,x,x,x,x]\n" + "".join(
    f"{b}: &{b} [{','.join(['*' + a] * 9)}]\n" for a, b in zip("abcdefgh", "bcdefghi", strict=True)
)


@pytest.mark.timeout(20)
@pytest.mark.parametrize(
    ("content", "code"),
    [
        (b"x" * (MAX_BYTES + 1), "too-large"),
        (b"name: \xff\xfe", "not-utf8"),
        (BOMB.encode(), "too-many-nodes"),
        (b"[" * 100_000, "too-deep"),
        (b"a: &a [*a]", "recursive-alias"),
        (b"a: &a\n  <<: *a\n", "recursive-alias"),
        (b"? [a]\n: b\n", "key"),
        (b"a: 1\n---\nb: 2\n", "syntax"),
        (b"a: *nope\n", "syntax"),
        (b"\x00", "syntax"),
        (b"a: !!binary aGk=\n", "tag"),
        (b"<<: 3\n", "merge"),
        (b"", "empty"),
        (b"# only a comment\n", "empty"),
    ],
)
def test_hostile_files_are_refused(content: bytes, code: str):
    """Each with a sentence, never with a traceback."""
    document = read("crew.yaml", content)
    assert [problem.code for problem in document.problems][:1] == [code]


def test_a_byte_order_mark_is_no_text():
    """Editors on Windows write one."""
    assert read("x", b"\xef\xbb\xbfname: x\n").data == {"name": "x"}


@given(
    st.binary(max_size=300)
    | st.text(alphabet="ab: -[]{}&*!|>'\"#\n\t?,<~%@", max_size=120).map(str.encode)
)
def test_any_bytes_give_data_or_a_problem(content: bytes):
    """Whatever a file holds."""
    document = read("crew.yaml", content)
    assert isinstance(document.data, dict) or document.problems


plain = st.recursive(
    st.text(max_size=8) | st.integers() | st.booleans() | st.none(),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.text(min_size=1, max_size=8), inner, max_size=3)
    ),
    max_leaves=8,
)


@given(
    st.dictionaries(
        st.sampled_from(
            [
                "agents",
                "name",
                "settings",
                "routing",
                "providers",
                "tools",
                "entry_point",
                "version",
                "x",
            ]
        ),
        plain,
    )
)
def test_any_mapping_gets_a_verdict(tmp_path_factory: pytest.TempPathFactory, data: dict[str, Any]):
    """A crew, or problems with places; never an exception of another kind."""
    folder = tmp_path_factory.mktemp("any")
    for problem in problems(folder, crew=yaml.safe_dump(data)):
        assert problem.line >= 1
        assert problem.column >= 1
        assert problem.message


needs_crews = pytest.mark.skipif(not SHARED_CREWS.is_dir(), reason="the real crews are not at hand")


@needs_crews
def test_the_crew_with_misspelt_keys_is_refused():
    """Each key with its place and what was meant."""
    found = [
        p for p in check(SHARED_CREWS / "hello-crew-3d1d38d").problems if p.severity == "error"
    ]
    assert [(p.line, p.suggestion) for p in found] == [
        (25, "min_tool_timeout_millis"),
        (26, "stream_chunk_timeout_millis"),
        (29, "retry_backoff_min_millis"),
        (32, "graceful_shutdown_check_millis"),
    ]


@needs_crews
@pytest.mark.parametrize("name", ["hello-crew-dbd117b", "multi-team-team-alpha-dbd117b"])
def test_crews_for_go_agentic_load(name: str):
    """With a warning for each key that has no effect."""
    found = check(SHARED_CREWS / name).problems
    assert {p.severity for p in found} == {"warning"}
    assert {p.code for p in found} == {"ignored-key"}


def copied(name: str, folder: Path, rules: list[dict[str, Any]]) -> Path:
    """A real crew with a script beside it."""
    for path in (SHARED_CREWS / name).rglob("*.yaml"):
        to = folder / path.relative_to(SHARED_CREWS / name)
        to.parent.mkdir(parents=True, exist_ok=True)
        to.write_bytes(path.read_bytes())
    (folder / "script.yaml").write_text(yaml.safe_dump({"rules": rules}))
    return folder


@needs_crews
async def test_a_chain_that_ends_by_its_signal(tmp_path: Path):
    """No terminal agent: the second one's ending signal ends it."""
    rules = [
        {"agent": "researcher", "say": "1. 2. 3. [RESEARCH_DONE]"},
        {"agent": "analyst", "say": "insight [ALPHA_COMPLETE]"},
    ]
    played = await play(
        load_crew(copied("multi-team-team-alpha-dbd117b", tmp_path, rules), provider="scripted"),
        "topic",
    )
    assert (played.path, played.row.reason) == (["researcher", "analyst"], "signal")


@needs_crews
async def test_one_agent_that_greets(tmp_path: Path):
    """And is the last."""
    played = await play(
        load_crew(copied("hello-crew-dbd117b", tmp_path, [{"say": "hi"}]), provider="scripted"),
        "hello",
    )
    assert (played.row.reason, played.row.answer) == ("terminal", "hi")


@needs_crews
async def test_the_it_support_crew_loads_but_for_its_shell(tmp_path: Path):
    """And runs once it is given such a tool: coordinator, engineer, end."""
    folder = SHARED_CREWS / "it-support-15943f0"
    errors = [p for p in check(folder).problems if p.severity == "error"]
    assert [p.code for p in errors] == ["unknown-tool"]
    assert "never built in" in errors[0].message

    @tool(name="ExecuteCommand")
    async def execute_command(command: str) -> str:
        return f"would run {command}"

    rules = [
        {"agent": "orchestrator", "say": "Trang! [ROUTE_EXECUTOR]"},
        {"agent": "executor", "after": "ExecuteCommand", "say": "done"},
        {"agent": "executor", "say": "ExecuteCommand(uptime)"},
    ]
    copy = copied("it-support-15943f0", tmp_path, rules)
    played = await play(
        load_crew(copy, tools=[execute_command], provider="scripted"), "Check localhost"
    )
    assert played.path == ["orchestrator", "executor", "executor"]
    assert (played.row.reason, played.row.answer) == ("terminal", "done")


@needs_crews
async def test_a_whole_quiz_is_played(tmp_path: Path):
    """Ten questions in parallel groups without a next agent, decided by the members' signals, to the final report."""
    recorded: list[int] = []

    @tool(name="GetQuizStatus")
    async def get_quiz_status() -> str:
        return f"{len(recorded)} of 10 answered"

    @tool(name="RecordAnswer")
    async def record_answer(
        question_number: int,
        question: str,
        student_answer: str,
        is_correct: bool,
        teacher_comment: str,
    ) -> str:
        recorded.append(question_number)
        return f"{len(recorded)} of 10 recorded"

    @tool(name="WriteReport")
    async def write_report() -> str:
        return "written"

    record = 'RecordAnswer(question_number=1, question="2+2?", student_answer="4", is_correct=true, teacher_comment="Correct")'
    rules: list[dict[str, Any]] = [
        {"agent": "reporter", "after": "WriteReport", "say": "Recorded. [OK]"},
        {"agent": "reporter", "say": "WriteReport()"},
        {"agent": "student", "say": "Dear teacher, the answer is 4. [ANSWER]"},
        {
            "agent": "teacher",
            "after": "RecordAnswer",
            "seen": "10 of 10 recorded",
            "say": "Exam complete. Score: 10/10. [END]",
        },
        {"agent": "teacher", "after": ["RecordAnswer"], "say": "What is 2+2, again? [QUESTION]"},
        {"agent": "teacher", "after": "GetQuizStatus", "say": "What is 2+2? [QUESTION]"},
        {"agent": "teacher", "hears": "[ANSWER]", "say": record},
        {"agent": "teacher", "say": "GetQuizStatus()"},
    ]
    copy = copied("quiz-exam-2a19599", tmp_path, rules)
    crew = load_crew(
        copy, tools=[get_quiz_status, record_answer, write_report], provider="scripted"
    )
    played = await play(crew, "Start the exam")
    assert len(recorded) == 10
    assert [e["content"] for e in played.of("parallel_start")] == [
        "parallel_question",
        "parallel_answer",
    ] * 10
    assert (played.row.status, played.row.reason, played.row.agent_id) == (
        "completed",
        "signal",
        "reporter",
    )
