"""Mistakes in files of rehearsals are errors with their line and the nearest name, before anything is played."""

import os
from pathlib import Path

import pytest

from crew.rehearsal.keys.expected import Between, ExpectedEnd
from crew.rehearsal.playing.suite import Suite
from tests.support.crews import write_crew
from tests.support.rehearsed import played, rehearse, repair_crew

GOOD = {"name": "one", "query": "thanks", "expect": {"end": "signal"}}


def problems(folder: Path, text: str, file: str = "a.yaml") -> list[tuple[int, str, str | None]]:
    (folder / "tests").mkdir(exist_ok=True)
    (folder / "tests" / file).write_text(text)
    return [(one.line, one.code, one.suggestion) for one in Suite.read(folder).problems]


def one(rest: str) -> str:
    return f"rehearsals:\n  - name: one\n    query: thanks\n{rest}"


EXPECT = "    expect: { end: signal }\n"


def invariant(text: str) -> str:
    """A file with one of these."""
    return f"invariants:\n  - name: x\n    {text}\n"


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (one("    expekt: {}\n"), [(4, "unknown-key", "expect")]),
        (one("    expect: { pathh: [] }\n"), [(4, "unknown-key", "path")]),
        (one("    expect: {}\n"), [(4, "no-expectation", None)]),
        (one("    expect: { path: , end: }\n"), [(4, "no-expectation", None)]),
        (one(""), [(2, "no-expectation", None)]),
        *(
            (one(f"    expect: {{ end: signal, {empty} }}\n"), [(4, "bad-value", None)])
            for empty in (
                *("calls: []", "never: []", "asked: {}", "asked: { desk: {} }", "path: [\u2026]"),
                *("answer: ''", "answer: { lacks: [] }", "events: []", "output: {}"),
            )
        ),
        (one("    answers: [{ deny: false }]\n" + EXPECT), [(4, "bad-value", None)]),
        (one("    says: { dsek: [x] }\n" + EXPECT), [(4, "unknown-agent", "desk")]),
        (one("    says: { helper-titel: [x] }\n" + EXPECT), [(4, "unknown-agent", "helper-title")]),
        (one("    returns: { restat: x }\n" + EXPECT), [(4, "unknown-tool", "restart")]),
        (
            one("    expect: { path: [desk, { fixer: '[fix]' }] }\n"),
            [(4, "unknown-signal", "[FIX]")],
        ),
        (one("    expect: { path: [desk, fixxer] }\n"), [(4, "unknown-agent", "fixer")]),
        (one("    expect: { path: [fixer] }\n"), [(4, "unreachable-path", None)]),
        (one("    expect: { path: [desk, fixer, desk] }\n"), [(4, "unreachable-path", None)]),
        (
            one("    expect: { path: [desk, { fixer: '[DONE]' }] }\n"),
            [(4, "unreachable-path", None)],
        ),
        (one("    expect: { answer: { matches: '(' } }\n"), [(4, "bad-pattern", None)]),
        (one("    expect: { seconds: { max: soon } }\n"), [(4, "wrong-type", None)]),
        (one("    answers: [{ approve: true, deny: true }]\n" + EXPECT), [(4, "bad-value", None)]),
        (one("    answers: [{ nobody: soon }]\n" + EXPECT), [(4, "bad-value", None)]),
        (one("    answers: [{ remember: run, deny: true }]\n" + EXPECT), [(4, "bad-value", None)]),
        (
            one("    returns: { look: { error: a, hang: true } }\n" + EXPECT),
            [(4, "bad-value", None)],
        ),
        (one("    faults: [{ tool: look, cut: 3 }]\n" + EXPECT), [(4, "bad-value", None)]),
        (one("    faults: [{ kill: during }]\n" + EXPECT), [(4, "bad-value", None)]),
        (one("    faults: [{ model: desk, fail: hang }]\n" + EXPECT), [(4, "bad-value", None)]),
        (one("    turns: [{ query: hi }]\n" + EXPECT), [(4, "bad-value", None)]),
        (one("    hook: { name: x, body: {} }\n" + EXPECT), [(4, "bad-value", None)]),
        (one("    cases: [{ quer: hi }]\n" + EXPECT), [(4, "unknown-key", "query")]),
        (one("    cases: [7]\n" + EXPECT), [(4, "not-a-case", None)]),
        (one("    cases: { each: { lang: [] } }\n" + EXPECT), [(4, "wrong-type", None)]),
        (one("    expect: { answer: <<lang>> }\n"), [(4, "bad-value", None)]),
        (
            one("    cases: { each: { lang: [vi] } }\n    expect: { answer: <<land>> }\n"),
            [(5, "bad-value", "lang")],
        ),
        (
            one(
                "    says: { fixer: [calls: [{ tool: restart, arguments: { x: 1 } }]] }\n" + EXPECT
            ),
            [(4, "wrong-arguments", None)],
        ),
        (
            one("    expect: { calls: [{ tool: restart, arguments: { x: 7 } }] }\n"),
            [(4, "wrong-arguments", None)],
        ),
        ("rehearsals:\n  - query: hi\n    expect: { end: signal }\n", [(2, "not-a-case", None)]),
        ("rehearsals:\n  - one\n", [(2, "not-a-case", None)]),
        ("rehearsal: []\n", [(1, "unknown-key", "rehearsals")]),
        ("include: [b.yaml]\n", [(1, "bad-value", None)]),
        ("include: [a.yaml]\n", [(1, "bad-value", None)]),
        ("include: [../../a.yaml]\n", [(1, "bad-value", None)]),
        ("defaults: { name: x }\n", [(1, "unknown-key", None)]),
        ("invariants:\n  - { name: x }\n", [(2, "no-expectation", None)]),
        ("invariants:\n  -\n", [(2, "not-a-case", None)]),
        (invariant("never: { call: restat, unless: approved }"), [(3, "unknown-tool", "restart")]),
        (invariant("never: { agent: fixr }"), [(3, "unknown-agent", "fixer")]),
        (invariant('never: { signal: "[FIXX]" }'), [(3, "unknown-signal", "[FIX]")]),
        (
            invariant("never: { call: restart, arguments: { x: 7 } }"),
            [(3, "wrong-arguments", None)],
        ),
        (
            invariant("never: { says: x }\n    when: { agent: nix }"),
            [(4, "unknown-agent", None)],
        ),
        (
            invariant("always: { calls: [{ tool: restat }] }"),
            [(3, "unknown-tool", "restart")],
        ),
        (invariant("never: { says: x }\n    except: [a.yaml::y]"), [(4, "bad-value", None)]),
        ("rehearsals: [" * 200, [(1, "too-deep", None)]),
        ("x-a: &a [*a]\n", [(1, "recursive-alias", None)]),
        (f"rehearsals: [{'x, ' * 200_000}]", [(1, "too-many-nodes", None)]),
        ("#" * 2**21, [(1, "too-large", None)]),
        ("", [(1, "empty", None)]),
    ],
    ids=lambda one: str(one)[:60],
)
def test_a_mistake_has_its_line(
    tmp_path: Path, text: str, found: list[tuple[int, str, str | None]]
):
    assert problems(repair_crew(tmp_path), text) == found


def test_two_rehearsals_have_no_name_in_common(tmp_path: Path):
    folder = repair_crew(tmp_path)
    suite = rehearse(folder, GOOD, GOOD)
    assert [(one.code, one.line) for one in suite.problems] == [("twice", 6)]
    (folder / "tests" / "b.yaml").write_text((folder / "tests" / "a.yaml").read_text())
    assert len(Suite.read(folder).problems) == 2, "in another file it may have it"


def test_a_member_of_a_group_is_no_step(tmp_path: Path):
    routing = {
        "defaults": {"desk": "both"},
        "parallel_groups": {"both": {"agents": ["fixer", "other"], "next_agent": "last"}},
    }
    folder = write_crew(
        tmp_path, {"desk": {}, "fixer": {}, "other": {}, "last": {}}, routing=routing
    )
    (problem,) = rehearse(folder, {**GOOD, "expect": {"path": ["desk", "both", "fixer"]}}).problems
    assert problem.code == "unreachable-path"
    assert "speaks as a member of both" in problem.message


def test_defaults_are_merged_and_cases_are_over_them(tmp_path: Path):
    folder = repair_crew(tmp_path)
    tests = folder / "tests"
    tests.mkdir()
    (tests / "defaults.yaml").write_text("defaults: { tags: [all], expect: { end: signal } }\n")
    (tests / "more").mkdir()
    (tests / "more" / "shared.yaml").write_text("defaults: { query: broken, answers: [x] }\n")
    (tests / "more" / "b.yaml").write_text(
        "include: [shared.yaml]\n"
        "defaults: { expect: { answer: welcome } }\n"
        "rehearsals:\n"
        "  - name: one\n"
        "    query: <<words>>\n"
        "    cases:\n"
        "      - { name: a, words: thanks, answers: null }\n"
        "      - { words: thanks a lot, answers: [], expect: { seconds: { max: 9 } } }\n"
    )
    suite = Suite.read(folder)
    assert suite.problems == []
    assert [one.id for one in suite.cases] == [
        "tests/more/b.yaml::one[a]",
        "tests/more/b.yaml::one[2]",
    ]
    assert [result.status for result in played(suite)] == ["passed", "passed"]
    first, second = suite.cases
    assert first.keys.answers == second.keys.answers == []
    assert (first.keys.tags, first.keys.expect.end) == (["all"], ExpectedEnd(reason="signal"))
    assert second.keys.expect.seconds == Between(max=9)
    assert second.source("expect", "seconds") == "tests/more/b.yaml:8"
    assert second.source("expect", "answer") == "tests/more/b.yaml:2"
    assert second.source("tags") == "tests/defaults.yaml:1"


def test_each_combination_is_a_case(tmp_path: Path):
    each = {"each": {"who": ["anna", "bo"], "times": [1, 2]}}
    suite = rehearse(
        repair_crew(tmp_path),
        {
            **GOOD,
            "query": "<<who>> says thanks",
            "cases": each,
            "expect": {"end": "signal", "at_most": {"handoffs": "<<times>>"}},
        },
    )
    assert [one.id.partition("::")[2] for one in suite.cases] == [
        f"one[{who}, {times}]" for who in ("anna", "bo") for times in (1, 2)
    ]
    assert [one.keys.expect.at_most.handoffs for one in suite.cases] == [1, 2, 1, 2]
    assert {result.status for result in played(suite)} == {"passed"}


def test_what_is_set_is_checked_as_if_written_there(tmp_path: Path):
    folder = repair_crew(tmp_path)
    broken = {"name": "x", "query": "it is broken", "returns": {"restart": "up"}}
    suite = rehearse(
        folder,
        {
            **broken,
            "name": "limit",
            "set": {"settings.max_handoffs": 0},
            "expect": {"end": "max_handoffs", "warnings": ["max_handoffs"]},
        },
        {
            **broken,
            "name": "agent",
            "set": {"agents.fixer.tools": ["look"]},
            "expect": {"asked": {"fixer": {"tools": ["look"]}}},
        },
        {
            **broken,
            "name": "wrong",
            "set": {"settings.max_handoffs": "many"},
            "expect": {"end": "signal"},
        },
        {
            **broken,
            "name": "nowhere",
            "set": {"agents.nix.model": "x"},
            "expect": {"end": "signal"},
        },
        {
            **broken,
            "name": "tool",
            "set": {"tools.restart.requires_approval": False},
            "expect": {"end": "terminal"},
        },
    )
    limit, agent, wrong, nowhere, tool = played(suite)
    assert limit.status == "failed", "max_handoffs must be 1 at least"
    assert [one.kind for one in wrong.mismatches] == ["config"]
    assert wrong.mismatches[0].source == "tests/a.yaml:28"
    assert "there is no agents.nix.model" in nowhere.mismatches[0].text
    assert tool.status == "passed"
    assert agent.path[:2] == ["desk", "fixer"]


def test_a_variable_of_the_environment_is_one_that_is_given(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("KEY_OF_OTHERS", "geheimnis-1234567890")
    providers = {"gateway": {"base_url": "http://127.0.0.1:9/v1", "api_key": "${KEY_OF_OTHERS}"}}
    folder = repair_crew(tmp_path, providers=providers)
    (problem,) = rehearse(folder, GOOD).problems
    assert (problem.file, problem.code) == ("crew.yaml", "unset-variable")
    assert "give it in `env`" in problem.message
    (result,) = played(rehearse(folder, {**GOOD, "env": {"KEY_OF_OTHERS": "sk-1234567890abc"}}))
    assert result.status == "passed"


def test_a_folder_without_rehearsals_has_none(tmp_path: Path):
    assert Suite.read(repair_crew(tmp_path)).cases == []


def test_what_is_no_file_of_the_folder_is_said(tmp_path: Path):
    """A link that leads out, one to nothing, and a pipe: none is passed over in silence."""
    folder = repair_crew(tmp_path / "crew")
    suite = rehearse(folder, {"name": "one", "query": "thanks", "expect": {"end": "signal"}})
    assert suite.problems == []
    (tmp_path / "out.yaml").write_text((folder / "tests" / "a.yaml").read_text())
    (folder / "tests" / "b.yaml").symlink_to(tmp_path / "out.yaml")
    (folder / "tests" / "c.yaml").symlink_to(folder / "tests" / "nothing.yaml")
    os.mkfifo(folder / "tests" / "d.yaml")
    (folder / "tests" / "e.yaml").mkdir()
    found = {one.file: one.code for one in Suite.read(folder).problems}
    assert found == {
        "tests/b.yaml": "outside-folder",
        "tests/c.yaml": "unreadable",
        "tests/d.yaml": "unreadable",
    }
