"""Doubles stand below retries, approvals, deadlines and breakers, and all of them must be used."""

from pathlib import Path
from typing import Any

import pytest

from crew.journal.errors import StoreError
from crew.rehearsal.playing.wall import WallTimeOver, wall_limit
from tests.support.crews import write_crew
from tests.support.rehearsed import kinds, play_one, played, rehearse, repair_crew

BROKEN = "it is broken"
CALL = {"calls": [{"tool": "restart", "arguments": {"service": "web"}}]}
DONE = {"end": "terminal"}


def test_what_is_left_over_fails_with_its_line(tmp_path: Path):
    result = play_one(
        repair_crew(tmp_path),
        query="thanks",
        says={"fixer": ["never"], "desk": [{"say": "Bye. [DONE]", "times": 2}]},
        returns={"restart": ["never"]},
        answers=["never"],
        faults=[{"tool": "restart", "fail": "error"}],
        expect={"end": "signal"},
    )
    assert kinds(result) == ["unused"]
    lines = [int(one.source.rpartition(":")[2]) for one in result.mismatches]
    written = (tmp_path / "tests" / "a.yaml").read_text().splitlines()
    assert [written[line - 1].strip() for line in sorted(lines)] == [
        "- never",
        "- say: Bye. [DONE]",
        "- never",
        "- never",
        "- tool: restart",
    ]


def test_what_comes_from_defaults_need_not_be_used(tmp_path: Path):
    shared = {"returns": {"restart": "up"}, "says": {"fixer": ["x"]}, "answers": ["x"]}
    suite = rehearse(
        repair_crew(tmp_path),
        {"name": "one", "query": "thanks", "expect": {"end": "signal"}},
        defaults=shared,
    )
    assert played(suite)[0].status == "passed"


@pytest.mark.parametrize(
    ("case", "kind"),
    [
        ({"says": {"desk": ["For Fay. [FIX]"], "fixer": [CALL]}, "returns": {"restart": "up"}, "answers": [{"approve": True}]}, "no-answer"),
        ({"otherwise": "fail"}, "no-answer"),
        ({"answers": [{"approve": True}]}, "no-return"),
        ({"returns": {"restart": [{"output": "up", "with": {"service": "mail"}}, "up"]}, "answers": [{"approve": True}]}, "unused"),
        ({"returns": {"restart": "up"}}, "unexpected-pause"),
        ({"answers": ["yes, please"]}, "wrong-decision"),
        ({"answers": [{"retry": True}]}, "wrong-decision"),
        ({"answers": [{"edit": {"nothing": 1}}]}, "wrong-decision"),
    ],
)  # fmt: skip
def test_what_is_asked_for_and_not_given_fails(tmp_path: Path, case: dict[str, Any], kind: str):
    result = play_one(repair_crew(tmp_path), query=BROKEN, **case, expect={"path": ["desk", "…"]})
    assert result.status == "failed"
    assert kind in kinds(result), result.mismatches


def test_a_pause_that_is_expected_is_where_it_may_end(tmp_path: Path):
    folder = repair_crew(tmp_path)
    expectations: list[dict[str, Any]] = [
        {"path": ["desk", "fixer", "pause"]},
        {"end": "paused"},
        {"pauses": [{}]},
    ]
    for expect in expectations:
        assert play_one(folder, query=BROKEN, expect=expect).status == "passed"


def test_a_request_is_retried_and_a_backup_takes_over(tmp_path: Path):
    backup = {"model": "small", "provider": "ollama"}
    folder = write_crew(
        tmp_path, {"desk": {"provider": "openai", "backup": backup, "is_terminal": True}}
    )
    good = {"path": ["desk", "end"], "end": "terminal"}
    retried = play_one(
        folder,
        query="hi",
        says={"desk": [{"fail": {"code": "rate_limited", "retry_after": "7s"}}, "Hello"]},
        expect={**good, "seconds": {"min": 7, "max": 7.1}, "warnings": ["model_retry"]},
    )
    assert retried.status == "passed", retried.mismatches
    taken = play_one(
        folder,
        query="hi",
        says={"desk": ["From the backup"]},
        faults=[{"model": "openai", "fail": "unavailable", "times": 3}],
        expect={**good, "at_most": {"model_calls": 4}},
    )
    assert taken.status == "passed", taken.mismatches
    too_long = play_one(
        folder,
        query="hi",
        says={"desk": [{"fail": {"code": "rate_limited", "retry_after": "2m"}}, "Backup"]},
        expect={**good, "seconds": {"max": 1}, "answer": "Backup"},
    )
    assert too_long.status == "passed", "a wait over a minute is left to the backup"


@pytest.mark.parametrize(
    ("fault", "seconds"),
    [({"cut": 5}, 0.5), ({"garbled": True}, 0.5), ({"slow": "20s"}, 20), ({"fail": "connection"}, 0.5)],
)  # fmt: skip
def test_faults_of_a_model(tmp_path: Path, fault: dict[str, Any], seconds: float):
    result = play_one(
        repair_crew(tmp_path),
        query="thanks",
        faults=[{"model": "desk", **fault}],
        expect={"end": "signal", "seconds": {"max": seconds + 1}},
    )
    assert result.status == "passed", result.mismatches


@pytest.mark.parametrize(
    ("returned", "status", "attempts", "seconds"),
    [
        ({"output": {"a": [1]}}, "success", 1, 0),
        ({"error": "no such host"}, "error", 1, 0),
        ({"hang": True}, "timeout", 1, 5),
        ({"output": "late", "seconds": "4.9s"}, "success", 1, 4.9),
        ({"output": "too late", "seconds": "6s"}, "timeout", 1, 5),
    ],
)
def test_ends_of_a_call(
    tmp_path: Path, returned: dict[str, Any], status: str, attempts: int, seconds: float
):
    result = play_one(
        repair_crew(tmp_path),
        query=BROKEN,
        says={"fixer": [CALL, "Done."]},
        returns={"restart": [returned]},
        answers=[{"approve": True}],
        expect={
            "calls": [{"tool": "restart", "status": status, "attempts": attempts}],
            "seconds": {"min": seconds, "max": seconds + 0.2},
            **DONE,
        },
    )
    assert result.status == "passed", result.mismatches


def test_a_call_that_sent_nothing_is_tried_again_and_acts_once(tmp_path: Path):
    returns = {"restart": [{"temporary": "busy", "sent": False}, "up"]}
    says = {"fixer": [CALL, "Done."]}
    common = {"query": BROKEN, "says": says, "answers": [{"approve": True}]}
    folder = repair_crew(tmp_path)
    again = {"calls": [{"tool": "restart", "attempts": 2, "status": "success"}]}
    assert play_one(folder, **common, returns=returns, expect=again).status == "passed"
    returns = {"restart": [{"temporary": "busy"}]}
    once = {"calls": [{"tool": "restart", "attempts": 1, "status": "error"}]}
    assert play_one(folder, **common, returns=returns, expect=once).status == "passed"


def test_results_by_arguments_and_a_form_of_a_tool(tmp_path: Path):
    looks = [{"tool": "look", "arguments": {"where": name}} for name in ("b", "a", "c")]
    returns = {
        "look": [
            {"output": "in a", "with": {"where": "a"}},
            {"output": "in others", "with": {"where": {"matches": "[bc]"}}, "times": "any"},
        ],
        "restart": [{"form": {"message": "Which port?", "fields": {"port": {"type": "integer"}}}, "output": "up"}],
    }  # fmt: skip
    result = play_one(
        repair_crew(tmp_path),
        query=BROKEN,
        says={"fixer": [{"calls": looks}, CALL, "Done."]},
        returns=returns,
        answers=[{"approve": True}, {"form": {"port": 80}}],
        expect={
            "calls": [{"tool": "restart", "status": "success"}],
            "asked": {
                "fixer": {"words": {"matches": "in others[^$]*in a[^$]*in others"}, "nth": 2}
            },
            "pauses": [{"question": "approval"}, {"question": "form"}],
        },
    )
    assert result.status == "passed", result.mismatches


@pytest.mark.parametrize(
    ("at", "today"),
    [
        ("2026-02-28T23:59:59Z", "2026-02-28"),
        ("2028-02-29T12:00:00+14:00", "2028-02-28"),
        ("2026-03-29T01:00:00Z", "2026-03-29"),
    ],
)
def test_the_clock_starts_where_it_is_set(tmp_path: Path, at: str, today: str):
    folder = write_crew(
        tmp_path, {"desk": {"system_prompt": "It is {{today}}.", "is_terminal": True}}
    )
    expect = {"asked": {"desk": {"prompt": f"It is {today}."}}, **DONE}
    assert play_one(folder, query="x", at=at, expect=expect).status == "passed"


def test_each_rehearsal_knows_nothing_of_the_others(tmp_path: Path):
    limits = {"max_tokens_per_day": 120, "block_on_cost_exceed": True}
    providers = {"openai": {"breaker": {"failures": 1, "open_seconds": 3600}, "max_retries": 0}}
    folder = write_crew(
        tmp_path,
        {"desk": {"provider": "openai", "cost_limits": limits, "is_terminal": True}},
        providers=providers,
    )
    spends = {
        "query": "x",
        "says": {"desk": [{"say": "Hello", "usage": {"input": 90, "output": 20}}]},
    }
    fails = {"query": "x", "says": {"desk": [{"fail": "unavailable"}]}}
    cases = [
        {"name": f"{n}", **(fails if n % 2 else spends), "expect": {"end": "model" if n % 2 else "terminal", "warnings": ["breaker_open"] if n % 2 else ["budget"]}}
        for n in range(6)
    ]  # fmt: skip
    for result in played(rehearse(folder, *cases)):
        assert result.status == "passed", result.mismatches


def test_endless_handoffs_end(tmp_path: Path):
    """By the crew's own limit, as a run does."""
    routing = {
        "defaults": {"a": "b", "b": "a"},
        "signals": {"a": [{"signal": "[DONE]", "target": None}]},
    }
    folder = write_crew(tmp_path, {"a": {}, "b": {}}, [{"say": "Go on."}], routing=routing)
    ended = play_one(
        folder, query="x", expect={"end": "max_handoffs", "warnings": ["max_handoffs"]}
    )
    assert ended.status == "passed", ended.mismatches
    wrong = play_one(folder, query="x", expect={"end": "signal", "warnings": ["max_handoffs"]})
    assert kinds(wrong) == ["end"]


def test_what_takes_too_long_is_ended(tmp_path: Path):
    evil = {"matches": "(a+)+$"}
    result = play_one(
        repair_crew(tmp_path),
        query="thanks",
        says={"desk": [f"{'a' * 40}! [DONE]"]},
        expect={"answer": evil, "at_most": {"wall_seconds": 0.3}},
    )
    assert kinds(result) == ["at_most"]
    assert "0.3 s of this machine's time" in result.mismatches[0].text
    after = play_one(repair_crew(tmp_path / "b"), query="thanks", expect={"end": "signal"})
    assert after.status == "passed"


def test_the_end_of_the_time_is_said_however_it_is_met():
    """What handles it on the way, and fails by something else, was only cut off."""

    def wait() -> None:
        try:
            while True:
                pass
        except WallTimeOver as error:
            raise StoreError from error

    with pytest.raises(WallTimeOver), wall_limit(0.01):
        wait()
    with pytest.raises(StoreError), wall_limit(60):
        raise StoreError("in time")


def test_a_real_tool_is_called_and_holds_the_clock(tmp_path: Path):
    folder = repair_crew(tmp_path)
    (folder / "acts.py").write_text(
        "import time\n\n\n"
        "def restart(service: str, delay: int = 0) -> str:\n"
        '    """Restart."""\n    return f"really {service}"\n\n\n'
        "def look(where: str) -> str:\n"
        '    """Look."""\n    time.sleep(0.2)\n    return f"seen {where}"\n'
    )
    look = {"calls": [{"tool": "look", "arguments": {"where": "a"}}]}
    result = play_one(
        folder,
        query=BROKEN,
        says={"fixer": [look, "Done."]},
        returns={"look": {"real": True}},
        expect={
            "asked": {"fixer": {"words": "seen a", "nth": 2}},
            "seconds": {"min": 0.2, "max": 5},
        },
    )
    assert result.status == "passed", result.mismatches
    once = play_one(
        folder,
        query=BROKEN,
        says={"fixer": [CALL, "Done."]},
        returns={"restart": {"real": True}},
        answers=[{"approve": True}],
        expect=DONE,
    )
    assert kinds(once) == ["network"]


def test_plans_and_agents_as_tools_have_answers_of_their_own(tmp_path: Path):
    agents = {
        "planner": {"plan": {"workers": ["worker"], "then": "writer"}},
        "worker": {},
        "writer": {"is_terminal": True, "tools": ["ask_worker"]},
    }
    tools = {"ask_worker": {"kind": "agent", "agent": "worker", "description": "Asks."}}
    folder = write_crew(tmp_path, agents, [], tools)
    tasks = [
        {"id": "tea", "agent": "worker", "ask": "tea?"},
        {"id": "milk", "agent": "worker", "ask": "milk?"},
    ]
    result = play_one(
        folder,
        query="x",
        says={
            "planner": [{"output": {"tasks": tasks}}],
            "worker/milk": ["white"],
            "worker/tea": ["green"],
            "worker": ["black"],
            "writer": [{"calls": [{"tool": "ask_worker", "arguments": {"ask": "coffee?"}}]}, "All known."],
        },
        expect={
            "path": ["planner", {"writer": "plan"}, "end"],
            "asked": {"writer": {"words": {"contains": ["green", "white", "black"]}, "nth": 2}},
        },
    )  # fmt: skip
    assert result.status == "passed", result.mismatches
