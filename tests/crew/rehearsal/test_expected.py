"""Each expectation holds where it is true, and fails with its line where it is not."""

from pathlib import Path
from typing import Any

import pytest

from tests.support.rehearsed import kinds, play_one, rehearse, repair_crew

GOOD: dict[str, Any] = {
    "query": "the web is broken",
    "answers": [{"approve": True, "by": "anna", "after": "2m"}],
    "returns": {"restart": {"output": "up again", "seconds": "3s"}},
}
PATH = ["desk", {"fixer": "[FIX]"}, "pause", "end"]
TRUE: list[dict[str, Any]] = [
    {"path": PATH},
    {"path": ["desk", "…", "end"]},
    {"path": ["…", {"fixer": "signal"}, "…"]},
    {"path": ["...", "pause", "end"]},
    {"end": "terminal"},
    {"end": {"reason": "terminal"}},
    {"answer": "up again"},
    {"answer": {"is": "It is done: up again"}},
    {"answer": {"contains": ["done", "up"], "lacks": "sorry", "matches": "^It .* again$"}},
    {"answer": {"min_chars": 5, "max_chars": 30}},
    {"answer": {"similar": {"text": "It's done: up again", "at_least": 0.8}}},
    {"calls": ["restart"]},
    {"calls": [{"tool": "restart", "agent": "fixer", "arguments": {"service": "web"}, "times": 1}]},
    {"calls": [{"tool": "restart", "status": "success", "attempts": 1, "approved_by": "anna"}]},
    {"calls": [{"tool": "restart", "arguments": {"service": {"matches": "^w"}}}]},
    {"calls": [{"tool": "restart", "arguments": {"service": {"any": True}}}]},
    {"calls": [{"only": ["restart"]}, {"tool": "look", "times": 0}]},
    {"never": [{"call": "look"}, {"call": "restart", "unless": "approved"}]},
    {"never": [{"call": "restart", "arguments": {"service": "mail"}}, {"signal": "[DONE]"}]},
    {"never": [{"says": "sorry"}, {"warning": "max_rounds"}], "end": "terminal"},
    {"pauses": [{"agent": "fixer", "question": "approval", "calls": ["restart"], "until": "15m"}]},
    {"warnings": [], "end": "terminal"},
    {"asked": {"desk": {"prompt": "You are desk.", "words": "the web is broken", "tools": []}}},
    {
        "asked": {
            "fixer": {"tools": ["look", "restart"], "words": {"contains": "up again"}, "nth": 2}
        }
    },
    {"at_most": {"handoffs": 1, "model_calls": 3, "tool_calls": 1, "rounds": 3, "seconds": 124}},
    {"seconds": {"min": 123, "max": 124}},
    {"events": [{"type": "handoff"}, {"type": "tool_result", "metadata": {"tool": "restart"}}]},
]
FALSE: list[tuple[dict[str, Any], str]] = [
    ({"path": ["desk", "fixer", "end"]}, "path"),
    ({"path": ["desk"]}, "path"),
    ({"path": [*PATH, "end"]}, "path"),
    ({"end": "signal"}, "end"),
    ({"end": {"reason": "terminal", "code": "output"}}, "end"),
    ({"answer": "down"}, "answer"),
    ({"answer": {"is": "It is done"}}, "answer"),
    ({"answer": {"lacks": "again"}}, "answer"),
    ({"answer": {"matches": "^again"}}, "answer"),
    ({"answer": {"max_chars": 3}}, "answer"),
    ({"answer": {"min_chars": 300}}, "answer"),
    ({"answer": {"json": {"a": 1}}}, "answer"),
    ({"answer": {"similar": {"text": "nothing alike", "at_least": 0.9}}}, "answer"),
    ({"output": {"desk": {"a": 1}}}, "output"),
    ({"calls": ["look"]}, "calls"),
    ({"calls": [{"tool": "restart", "times": 2}]}, "calls"),
    ({"calls": [{"tool": "restart", "arguments": {"service": "mail"}}]}, "calls"),
    ({"calls": [{"tool": "restart", "agent": "desk"}]}, "calls"),
    ({"calls": [{"tool": "restart", "status": "denied"}]}, "calls"),
    ({"calls": [{"tool": "restart", "approved_by": "boris"}]}, "calls"),
    ({"calls": [{"tool": "restart", "attempts": 2}]}, "calls"),
    ({"calls": [{"tool": "restart", "after": "look"}]}, "calls"),
    ({"calls": [{"only": ["look"]}]}, "calls"),
    ({"never": [{"call": "restart"}]}, "never"),
    ({"never": [{"agent": "fixer"}]}, "never"),
    ({"never": [{"says": "done"}]}, "never"),
    ({"never": [{"signal": "[FIX]"}]}, "never"),
    ({"pauses": []}, "pauses"),
    ({"pauses": [{"question": "words"}]}, "pauses"),
    ({"pauses": [{"agent": "desk"}]}, "pauses"),
    ({"pauses": [{"calls": ["look"]}]}, "pauses"),
    ({"pauses": [{"until": "16m"}]}, "pauses"),
    ({"warnings": ["max_rounds"]}, "warnings"),
    ({"asked": {"desk": {"prompt": "You are fixer."}}}, "asked"),
    ({"asked": {"desk": {"words": {"lacks": "broken"}}}}, "asked"),
    ({"asked": {"desk": {"tools": ["look"]}}}, "asked"),
    ({"asked": {"desk": {"model": "large"}}}, "asked"),
    ({"asked": {"desk": {"temperature": 0.9}}}, "asked"),
    ({"asked": {"fixer": {"nth": 9}}}, "asked"),
    ({"at_most": {"handoffs": 0}}, "at_most"),
    ({"at_most": {"model_calls": 2}}, "at_most"),
    ({"at_most": {"tool_calls": 0}}, "at_most"),
    ({"at_most": {"tokens": 1}}, "at_most"),
    ({"at_most": {"seconds": 100}}, "at_most"),
    ({"seconds": {"min": 124}}, "seconds"),
    ({"seconds": {"max": 1}}, "seconds"),
    ({"events": [{"type": "tool_result"}, {"type": "handoff"}]}, "events"),
    ({"notices": [{"channel": "phone"}]}, "notices"),
    ({"memory": {"core": {"profile": "anna"}}}, "memory"),
    ({"title": "A title"}, "title"),
    ({"sources": ["a.md"]}, "sources"),
]


@pytest.mark.parametrize("expect", TRUE, ids=str)
def test_what_is_true_passes(tmp_path: Path, expect: dict[str, Any]):
    result = play_one(repair_crew(tmp_path), **GOOD, expect=expect)
    assert result.status == "passed", result.mismatches


@pytest.mark.parametrize(("expect", "kind"), FALSE, ids=str)
def test_what_is_false_fails_with_its_line(tmp_path: Path, expect: dict[str, Any], kind: str):
    result = play_one(repair_crew(tmp_path), **GOOD, expect=expect)
    assert (result.status, kinds(result)) == ("failed", [kind])
    file, _, line = result.mismatches[0].source.rpartition(":")
    written = (tmp_path / file).read_text().splitlines()
    key = next(iter(expect))
    assert int(line) >= next(n for n, text in enumerate(written, 1) if text.strip() == "expect:")
    assert key in "\n".join(written[: int(line)])


def test_another_path_is_shown_with_the_line_that_led_there(tmp_path: Path):
    folder = repair_crew(tmp_path)
    result = play_one(folder, query="thanks", expect={"path": ["desk", "fixer", "end"]})
    (mismatch,) = result.mismatches
    first, second = mismatch.text.splitlines()
    assert first == "desk → fixer → end"
    assert second.startswith("       └ end  signal  crew.yaml:")
    assert result.path == ["desk", "end"]


def test_a_typed_answer_is_compared_by_its_fields(tmp_path: Path):
    folder = repair_crew(tmp_path)
    agent = folder / "agents" / "desk.yaml"
    agent.write_text(
        agent.read_text()
        + "output: { properties: { ok: { type: boolean } }, required: [ok] }\noutput_text: null\n"
    )
    crew = (folder / "crew.yaml").read_text()
    routing = "routing: { outputs: { desk: [{ target: fixer }] } }\n"
    (folder / "crew.yaml").write_text(crew.partition("routing:")[0] + routing)
    says = {"desk": [{"output": {"ok": True}}], "fixer": ["Good."]}
    for ok, status in ((True, "passed"), (False, "failed")):
        result = play_one(folder, query="x", says=says, expect={"output": {"desk": {"ok": ok}}})
        assert result.status == status, result.mismatches


def test_an_invariant_holds_in_all_rehearsals(tmp_path: Path):
    folder = repair_crew(tmp_path)
    invariants = [
        {"name": "no restart", "never": {"call": "restart"}, "except": ["tests/a.yaml::excepted"]},
        {"name": "short", "always": {"at_most": {"handoffs": 0}}, "when": {"agent": "fixer"}},
        {"name": "thanks", "never": {"says": "welcome"}, "when": {"signal": "[FIX]"}},
    ]
    suite = rehearse(
        folder,
        {"name": "found", **GOOD, "expect": {"end": "terminal"}},
        {"name": "excepted", **GOOD, "expect": {"end": "terminal"}},
        {"name": "another", "query": "thanks", "expect": {"end": "signal"}},
        invariants=invariants,
    )
    assert suite.problems == []
    found, excepted, another = suite.play_all(suite.cases)
    assert [one.text for one in found.mismatches] == [
        'no restart: restart({"service":"web"}) is called by fixer',
        "short: handoffs is 1, more than 0",
    ]
    assert [one.text for one in excepted.mismatches] == ["short: handoffs is 1, more than 0"]
    assert another.status == "passed"
    assert found.mismatches[0].source.startswith("tests/a.yaml:")


@pytest.mark.parametrize(
    ("case", "status", "text"),
    [
        ({"skip": "not yet", "expect": {"end": "signal"}}, "skipped", ""),
        ({"fails": "a bug", "expect": {"end": "terminal"}}, "passed", ""),
        ({"fails": "a bug", "expect": {"end": "signal"}}, "failed", "it was to fail"),
    ],
)
def test_what_is_skipped_and_what_must_fail(
    tmp_path: Path, case: dict[str, Any], status: str, text: str
):
    result = play_one(repair_crew(tmp_path), query="thanks", **case)
    assert result.status == status
    assert all(text in one.text for one in result.mismatches)
