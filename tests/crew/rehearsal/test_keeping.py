"""Stored runs are kept as cassettes and rehearsals: played again they pass, and no secret is in them."""

import asyncio
import json
import re
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from crew.rehearsal.cassettes.lines import WrongCassette, read_cassette
from crew.rehearsal.files.bound import Case
from crew.rehearsal.keeping.keeping import Keeper, KeptRun, rehearsals_of
from crew.rehearsal.playing.player import play_case
from crew.rehearsal.playing.suite import Suite
from crew.rehearsal.replaying.recording import read_recording
from tests.crew.rehearsal.test_replays import EXAMPLES
from tests.support.crews import ROOT
from tests.support.rehearsed import played, rehearse, repair_crew
from tools.text.yaml_text import to_yaml

NO_CASES: Mapping[str, Any] = {}
NEEDED = {"says": {"desk": ["For Fay. [FIX]"], "fixer": ["It is done."]}}
# what must not be in anything that is kept
SECRETS = [
    *("sk-abcdefghijklmnop1234", "ghp_abcdefghij0123456789abcd", "AKIAABCDEFGHIJKLMNOP"),
    *("eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.c2lnbmF0dXJl", "hunter2xyz"),
    *("jo.doe+crew@mail.example.com", "+84 91 234 56 78", "(555) 010-4477", "0221 4710-815"),
]


def kept_runs(suite: Suite, case: Case, **keys: Any) -> list[KeptRun]:
    """Play a rehearsal, and keep its runs."""
    loaded = suite.crew_of(case)
    config = loaded.checked.files.crew
    assert config is not None
    tools = loaded.checked.tools.by_name.values()
    keeper = Keeper.of(config, loaded.recipe.secrets, tools, **keys)
    found = play_case(case, loaded)
    return [keeper.keep(asyncio.run(read_recording(found.store, turn.row))) for turn in found.turns]


def play_again(folder: Path, kept: KeptRun, **keys: Any) -> None:
    """Play what was kept in place of a crew's rehearsals, both ways; both pass."""
    shutil.rmtree(folder / "tests")
    (folder / "tests").mkdir()
    lines = [json.dumps(one) for one in kept.cassette.documents()]
    (folder / "tests" / "a.jsonl").write_text("\n".join(lines))
    (written,) = rehearsals_of([kept])["rehearsals"]
    short = {"name": "from a cassette", "cassette": "a.jsonl", "expect": written["expect"]}
    document = {"rehearsals": [{**written, **keys}, {**short, **keys}]}
    (folder / "tests" / "a.yaml").write_text(to_yaml(document))
    for result in played(Suite.read(folder)):
        assert (result.status, [*result.mismatches]) == ("passed", [])


@pytest.mark.parametrize("name", EXAMPLES)
def test_each_run_of_an_example_passes_again(name: str, tmp_path: Path):
    """Groups, pauses, failures, kills, late answers; with what was said then, and nothing else."""
    example = ROOT / "examples" / name
    suite = Suite.read(example)
    count = 0
    for case in suite.cases:
        # each would be the case itself, at another event
        if any(one.kill == "each" for one in case.keys.faults):
            continue
        for kept in kept_runs(suite, case):
            count += 1
            folder = tmp_path / str(count)
            ignored = shutil.ignore_patterns(".crew", "__pycache__")
            shutil.copytree(example, folder, ignore=ignored)
            play_again(folder, kept, env=case.keys.env, set=case.keys.set)
    assert count


def test_a_person_who_changes_a_call_and_one_who_is_silent(tmp_path: Path):
    folder = repair_crew(tmp_path)
    persons: list[list[Any]] = [
        [{"edit": {"service": "db"}, "by": "ann"}],
        [{"deny": "not today"}],
        [{"nobody": "16m"}],
        [{"after": 30, "approve": True, "remember": "run"}],
    ]
    for answers in persons:
        case = {
            "name": "a",
            "query": "it is broken",
            "answers": answers,
            "expect": {"end": "terminal"},
        }
        suite = rehearse(folder, {**case, "returns": {"restart": "ok"}})
        (kept,) = kept_runs(suite, suite.cases[0])
        play_again(folder, kept)
        assert len(kept.rehearsal()["answers"]) == 1


def test_a_person_decides_on_a_call_of_a_killed_process(tmp_path: Path):
    folder = repair_crew(tmp_path)
    kill = {"kill": "during", "event": "tool_start", "tool": "restart"}
    for decided in ({"done": "I have done it"}, {"skip": True}, {"retry": True}):
        answers = [{"approve": True}, decided]
        case = {"name": "a", "query": "it is broken", "answers": answers, "faults": [kill]}
        given = {"returns": {"restart": "ok"}, "expect": {"end": "terminal"}}
        suite = rehearse(folder, {**case, **given})
        (kept,) = kept_runs(suite, suite.cases[0])
        play_again(folder, kept)
        found = kept.rehearsal()
        assert (found["answers"], found["faults"]) == (answers, [kill])


def test_failed_requests_and_attempts(tmp_path: Path):
    folder = repair_crew(tmp_path)
    says = {
        "desk": [{"fail": "rate_limited", "seconds": 2}, "For Fay. [FIX]"],
        "fixer": [
            {"calls": [{"tool": "look", "arguments": {"where": one}} for one in "ab"]},
            "Ah.",
        ],
    }
    look = [
        {"temporary": "busy", "with": {"where": "a"}},
        {"output": {"seen": 1}, "with": {"where": "a"}},
        {"error": "gone", "with": {"where": "b"}},
    ]
    case = {"name": "a", "query": "x", "says": says, "returns": {"look": look}}
    suite = rehearse(folder, {**case, "expect": {"end": "terminal"}})
    (kept,) = kept_runs(suite, suite.cases[0])
    play_again(folder, kept)
    found = kept.rehearsal()
    assert found["says"]["desk"] == [{"fail": "rate_limited"}, "For Fay. [FIX]"]
    assert found["returns"]["look"] == [
        {"temporary": "busy", "with": {"where": "a"}},
        {"output": '{"seen":1}', "with": {"where": "a"}},
        {"error": "gone", "with": {"where": "b"}},
    ]


def test_texts_that_yaml_and_templates_would_read_otherwise(tmp_path: Path):
    text = "yes\n\t- ${HOME} 12% {x} 'q' \"d\" # no\n\u00a0... --- \U0001f600 "
    folder = repair_crew(tmp_path)
    case = {"name": "a", "query": text, "says": {"desk": [text + "[DONE]"]}}
    suite = rehearse(folder, {**case, "expect": {"end": "signal_end"}})
    (kept,) = kept_runs(suite, suite.cases[0])
    play_again(folder, kept)
    assert kept.rehearsal()["says"]["desk"] == [text + "[DONE]"]


def test_no_secret_is_kept_and_equal_texts_stay_equal(tmp_path: Path):
    folder = repair_crew(tmp_path, replay={"redact": [r"CASE-\d+"]})
    words = " ; ".join([*SECRETS[:4], f"password: {SECRETS[4]}", *SECRETS[5:], "CASE-4711"])
    look = {"calls": [{"tool": "look", "arguments": {"where": SECRETS[5]}}]}
    case = {
        "name": "a",
        "query": words,
        "says": {"desk": ["[FIX]"], "fixer": [look, f"I write to {SECRETS[5]} of CASE-4711."]},
        "returns": {"look": json.dumps({"api_key": "qwertz", "to": SECRETS[5]})},
    }
    suite = rehearse(folder, {**case, "expect": {"end": "terminal"}})
    (kept,) = kept_runs(suite, suite.cases[0])
    rehearsal = kept.rehearsal()
    whole = to_yaml(rehearsal) + "".join(json.dumps(one) for one in kept.cassette.documents())
    assert [one for one in (*SECRETS, "CASE-4711") if one in whole] == []
    found = re.search(r"<email \d+>", rehearsal["query"])
    assert found is not None
    (call,) = rehearsal["says"]["fixer"][0]["calls"]
    assert call["arguments"] == {"where": found[0]}
    assert rehearsal["says"]["fixer"][1] == f"I write to {found[0]} of <redacted 1>."
    assert f'"to": "{found[0]}"' in rehearsal["returns"]["look"]
    play_again(folder, kept)


def test_personal_data_stays_where_it_is_wanted(tmp_path: Path):
    suite = rehearse(
        repair_crew(tmp_path),
        {"name": "a", "query": SECRETS[5], **NEEDED, "expect": {"end": "terminal"}},
    )
    (kept,) = kept_runs(suite, suite.cases[0], keeps_personal=True)
    assert kept.rehearsal()["query"] == SECRETS[5]


@pytest.mark.parametrize(
    "words",
    [
        *("see http://u:a@h", "token: status", "token: pauses", "the secret: look"),
        *("secret: desk", "a\u2028b\u0085c"),
    ],
)
def test_the_structure_of_what_is_kept_stays(tmp_path: Path, words: str):
    """A word that is left out may be the name of an agent, of a tool, or of a key."""
    folder = repair_crew(tmp_path)
    look = {"calls": [{"tool": "look", "arguments": {"where": "status"}}]}
    case = {"name": "a", "query": "x", "says": {"desk": ["[FIX]"], "fixer": [look, "Seen."]}}
    suite = rehearse(folder, {**case, "returns": {"look": "none"}, "expect": {"end": "terminal"}})
    text = (folder / "tests" / "a.yaml").read_text()
    (folder / "tests" / "a.yaml").write_text(text.replace("none", json.dumps(words)))
    suite = Suite.read(folder)
    (kept,) = kept_runs(suite, suite.cases[0])
    play_again(folder, kept)


def test_what_looks_like_a_variable_of_a_rehearsal_stays(tmp_path: Path):
    folder = repair_crew(tmp_path)
    cases = [{"name": "one", "words": "see <<lang>>, {{lang}} and <<b2>>"}]
    case = {"name": "a", "query": "<<words>>", "cases": cases, **NEEDED}
    suite = rehearse(folder, {**case, "expect": {"end": "terminal"}})
    (kept,) = kept_runs(suite, suite.cases[0])
    assert kept.rehearsal()["query"] == "see <<lang>>, {{lang}} and <<b2>>"
    play_again(folder, kept)


@pytest.mark.parametrize(
    ("change", "line", "text"),
    [
        (lambda lines: [], 1, "the file is empty"),
        (lambda lines: ["{}", *lines[1:]], 1, "no first line of a cassette"),
        (lambda lines: lines[:1], 1, "no segment with a query follows"),
        (lambda lines: [*lines[:2], '{"type": "sung", "at": 1}'], 3, "sung"),
        (lambda lines: [*lines, "not JSON"], 0, "Invalid JSON"),
        (
            lambda lines: [*lines[:2], lines[2].replace('"agent"', '"agnt"')],
            3,
            "agent: Field required",
        ),
    ],
)
def test_a_cassette_that_was_edited(tmp_path: Path, change: Any, line: int, text: str):
    suite = rehearse(
        repair_crew(tmp_path), {"name": "a", "query": "x", **NEEDED, "expect": {"end": "terminal"}}
    )
    (kept,) = kept_runs(suite, suite.cases[0])
    lines = [json.dumps(one) for one in kept.cassette.documents()]
    assert read_cassette("\n".join(lines)) == kept.cassette
    changed = change(lines)
    with pytest.raises(WrongCassette, match=text) as found:
        read_cassette("\n".join(changed))
    assert found.value.line == (line or len(changed))


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("b.jsonl", "there is no file tests/b.jsonl"),
        ("../../b.jsonl", "name a file of the crew's folder"),
        ("bad.jsonl", "tests/bad.jsonl:1: no first line of a cassette"),
    ],
)
def test_a_rehearsal_names_its_cassette(tmp_path: Path, name: str, text: str):
    folder = repair_crew(tmp_path)
    (folder / "tests").mkdir()
    (folder / "tests" / "bad.jsonl").write_text('{"v": 2}\n')
    suite = rehearse(folder, {"name": "a", "cassette": name, "expect": {"end": "terminal"}})
    (problem,) = suite.problems
    assert (problem.code, problem.line) == ("bad-value", 3)
    assert text in problem.message
