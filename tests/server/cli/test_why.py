"""`crew why`, as a person uses it, and its endpoint."""

import json
import re
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from tests.crew.costs.test_budgets import PRICES, SAY, WRITER
from tests.support.crews import write_crew
from tests.support.forked import crew
from tests.support.processes import client, serving

AGENTS: dict[str, Any] = {"desk": {}, "hr": {}, "it": {"is_terminal": True}}
ROUTING = {
    "signals": {
        "desk": [
            {"signal": "[To IT]", "target": "it"},
            {"signal": "[To HR]", "target": "hr"},
            {"signal": "[Kết thúc]"},
        ]
    },
    "defaults": {"desk": "hr"},
}
ACTS = """
from tools import TemporaryError


def pay(to: str) -> str:
    '''Pay a person.'''
    return f"paid {to}"


def fall() -> str:
    '''Fail.'''
    raise TemporaryError("it is down")
"""
FENCE = "```\n[To IT]\n```\nthat is how you would write it; ket thuc"


def line_of(folder: Path, words: str, file: str = "crew.yaml") -> str:
    """Where a file has some words for the first time, as `file:line`."""
    lines = (folder / file).read_text().splitlines()
    return f"{file}:{next(n for n, line in enumerate(lines, 1) if words in line)}"


def steps_of(folder: Path, *args: str) -> list[dict[str, Any]]:
    done = crew("why", folder, *args, "--json")
    assert done.returncode == 0, done.stderr
    found: list[dict[str, Any]] = json.loads(done.stdout)["steps"]
    return found


def step_with(steps: list[dict[str, Any]], words: str) -> dict[str, Any]:
    return next(one for one in steps if words in one["step"])


def test_signals_that_count_and_that_do_not(tmp_path: Path):
    """The words and their place, the signal that lost, the rule that was not reached."""
    said = "The printer is broken. " * 4 + "[to  it] or [To HR]"
    rules = [{"agent": "desk", "say": said}, {"say": "done"}]
    write_crew(tmp_path, AGENTS, rules, routing=ROUTING)
    assert crew("run", tmp_path, "help").returncode == 0
    step = step_with(steps_of(tmp_path, "last"), "desk → it")
    signals, default = step["decided"]
    assert (signals["rule"], signals["applied"]) == ("signals", True)
    assert signals["source"] == line_of(tmp_path, "[To IT]")
    assert "also there, later in the file: [To HR]" in signals["because"]
    start = said.index("[to")
    assert (step["matched"]["start"], step["matched"]["end"]) == (start, start + len("[to  it]"))
    assert step["matched"]["text"].startswith("…")
    assert "[to it]" in step["matched"]["text"]
    assert default == {
        "rule": "defaults",
        "applied": False,
        "because": "not reached: would have gone to hr",
        "source": line_of(tmp_path, "desk: hr"),
    }
    shown = crew("why", tmp_path, "last", str(step["event"])).stdout
    assert "signals    applies   [To IT] in" in shown
    assert f"place {start}" in shown
    assert shown.splitlines()[1].split()[:4] == [str(step["event"]), "desk", "→", "it"]


def test_signals_that_nearly_were_there(tmp_path: Path):
    """In a code fence, and in another spelling; and what was missing to get elsewhere."""
    rules = [{"agent": "desk", "say": FENCE}, {"say": "done"}]
    write_crew(tmp_path, AGENTS, rules, routing=ROUTING)
    assert crew("run", tmp_path, "help").returncode == 0
    steps = steps_of(tmp_path, "last")
    signals, default = step_with(steps, "desk → hr")["decided"]
    assert not signals["applied"]
    assert default["applied"]
    assert "[To IT] stands in a code fence, which does not count" in signals["because"]
    assert "[Kết thúc] stands there in another spelling" in signals["because"]
    assert "[To HR]" not in signals["because"]
    missing = steps_of(tmp_path, "last", "--not", "it")
    assert [one["step"] for one in missing] == ["desk → hr"]
    (way,) = [one for one in missing[0]["decided"] if one["rule"] == "→ it"]
    assert way["because"] == "[To IT] would lead there"
    assert way["source"] == line_of(tmp_path, "[To IT]")
    shown = crew("why", tmp_path, "last", "--not", "nix")
    assert shown.returncode == 2
    assert "no agent or group nix" in shown.stderr
    assert crew("why", tmp_path, "last", "--time", "--cost").returncode == 2
    beyond = crew("why", tmp_path, "last", "999")
    assert beyond.returncode != 0
    assert "event 999" in beyond.stderr


@pytest.mark.parametrize(
    ("rule", "tools"),
    [
        ({"say": "", "fail": "refused"}, {}),
        ({"calls": [{"tool": "pay", "arguments": {}}]}, {"requires_approval": True}),
    ],
)
def test_a_way_that_was_not_reached(rule: dict[str, Any], tools: dict[str, Any], tmp_path: Path):
    """Of a run that failed before its answer, or waits for a decision."""
    agents = {"desk": {"tools": ["pay"]}, "hr": {"is_terminal": True}}
    pay = {"kind": "python", "function": "acts.py:pay", **tools}
    routing = {"defaults": {"desk": "hr"}}
    write_crew(tmp_path, agents, [{"agent": "desk", **rule}], {"pay": pay}, routing=routing)
    (tmp_path / "acts.py").write_text('def pay() -> str:\n    """Pay."""\n    return "paid"\n')
    crew("run", tmp_path, "help")
    (missed,) = steps_of(tmp_path, "last", "--not", "hr")
    (way,) = [one for one in missed["decided"] if one["rule"] == "→ hr"]
    assert not way["applied"]
    assert way["source"] == line_of(tmp_path, "desk: hr")


def test_signals_that_nearly_were_there_beside_one_that_was(tmp_path: Path):
    write_crew(tmp_path, AGENTS, [{"say": f"{FENCE} [To HR]"}], routing=ROUTING)
    assert crew("run", tmp_path, "help").returncode == 0
    (signals, *_) = step_with(steps_of(tmp_path, "last"), "desk → hr")["decided"]
    assert signals["applied"]
    assert "[To IT] stands in a code fence, which does not count" in signals["because"]


def test_by_the_files_of_the_run(tmp_path: Path):
    """A rule that is gone today still explains; without those files it is said."""
    rules: list[dict[str, Any]] = [
        {"agent": "desk", "say": "[To IT]"},
        {"after": "look", "say": "done"},
        {"calls": [{"tool": "look"}]},
    ]
    look = {"kind": "command", "argv": ["true"], "description": "Looks.", "sandbox": "off"}
    agents = {**AGENTS, "it": {"is_terminal": True, "tools": ["look"]}}
    write_crew(tmp_path, agents, rules, {"look": look}, routing=ROUTING)
    assert crew("run", tmp_path, "help").returncode == 0
    line, to_hr = line_of(tmp_path, "[To IT]"), line_of(tmp_path, "desk: hr")
    write_crew(tmp_path, {"desk": {"is_terminal": True}}, [{"say": "done"}], {"look": look})
    step = step_with(steps_of(tmp_path, "last"), "desk → it")
    assert step["decided"][0]["source"] == line
    assert step["matched"]["text"] == "[To IT]"
    # hr is no agent of today's files
    (missed,) = steps_of(tmp_path, "last", "--not", "hr")
    assert missed["decided"][-1]["source"] == to_hr
    (database,) = (tmp_path / ".crew").glob("*.db")
    with sqlite3.connect(database) as opened:
        opened.execute("DELETE FROM revisions")
    opened.close()
    (only,) = step_with(steps_of(tmp_path, "last"), "desk → it")["decided"]
    assert only["source"] == line
    assert "no longer kept" in only["because"]
    (called,) = step_with(steps_of(tmp_path, "last"), "it calls look")["decided"]
    assert called["because"].endswith("the files of the run are no longer kept")
    with sqlite3.connect(database) as opened:
        opened.execute("DELETE FROM events")
    opened.close()
    gone = crew("why", tmp_path, "last")
    assert gone.returncode != 0
    assert "the events of run" in gone.stderr
    assert "Traceback" not in gone.stderr


def test_limits_have_their_lines(tmp_path: Path):
    """A setting that was met: its line, or that it is the default; the last run that met one."""
    loop: dict[str, Any] = {"a": {}, "b": {}}
    ends = {"a": [{"signal": "[END]"}]}
    back = {"signals": ends, "defaults": {"a": "b", "b": "a"}}
    write_crew(tmp_path, loop, routing=back, settings={"max_handoffs": 2})
    assert crew("why", tmp_path).stderr.strip() == "crew: no run is kept"
    crew("run", tmp_path, "go")
    warning, end = steps_of(tmp_path)[-2:]
    assert end["step"] == "ends: max_handoffs"
    limit = {
        "rule": "settings.max_handoffs",
        "applied": True,
        "because": "= 2",
        "source": line_of(tmp_path, "max_handoffs"),
    }
    assert warning["limits"] == end["limits"] == [limit]
    write_crew(tmp_path, loop, routing=back)
    crew("run", tmp_path, "go")
    assert [one["source"] for one in steps_of(tmp_path)[-1]["limits"]] == ["default"]


def test_a_budget_pause(tmp_path: Path):
    """The example of F.1: the third of three runs pauses, and its budget has its line."""
    models = {"large": {"provider": "scripted", "prices": PRICES}}
    budgets = {"today": {"scope": "crew", "per": "day", "tokens": 100, "then": "pause"}}
    write_crew(tmp_path, {"writer": WRITER}, SAY, models=models, budgets=budgets)
    done = [crew("run", tmp_path, "hello").returncode for _ in range(3)]
    assert done[:2] == [0, 0]
    assert done[2] != 0
    (limit,) = step_with(steps_of(tmp_path, "last"), "waits for more money")["limits"]
    assert limit["rule"] == "budget today"
    assert limit["source"] == line_of(tmp_path, "today:")
    first = json.loads(crew("runs", tmp_path, "--json").stdout.splitlines()[-1])["run_id"]
    dearest = steps_of(tmp_path, first, "--cost")
    assert (dearest[0]["step"], dearest[0]["cost"]) == ("writer answers", 0.04)
    answered = step_with(dearest, "answers")["facts"]
    assert answered["tokens"] == {"input": 12, "output": 14}
    assert answered["price"] == "models"


def test_tools_and_approvals(tmp_path: Path):
    """The line of a tool, who has approved a call, what a failed one has said, and its tries."""
    tools = {
        "pay": {"kind": "python", "function": "acts.py:pay", "requires_approval": True},
        "fall": {"kind": "python", "function": "acts.py:fall", "retries": 1},
    }
    (tmp_path / "acts.py").write_text(ACTS)
    rules = [
        {"turn": 1, "calls": [{"tool": "pay", "arguments": {"to": "bob"}}]},
        {"turn": 2, "calls": ["fall"]},
        {"say": "done"},
    ]
    limits = {"retry_backoff_min_millis": 1}
    agents = {"a": {"tools": ["pay", "fall"]}}
    write_crew(tmp_path, agents, rules, tools, settings=limits)
    assert crew("run", tmp_path, "go").returncode == 3
    assert crew("run", tmp_path, "yes", "--answer", "last").returncode == 0
    steps = steps_of(tmp_path, "last")
    pay = line_of(tmp_path, "pay:", "tools.yaml")
    (asked,) = step_with(steps, "waits for a person's decision")["decided"]
    assert (asked["rule"], asked["source"]) == ("approval", pay)
    tool, approval = step_with(steps, "a calls pay")["decided"]
    assert (tool["source"], approval["rule"]) == (pay, "approval")
    assert approval["because"].startswith("by ")
    assert "each call of it is asked about" in approval["because"]
    assert approval["source"] == pay
    (decision,) = step_with(steps, "goes on: a person has answered")["decided"]
    assert decision["because"].startswith("approve pay of a, by ")
    ended = step_with(steps, "fall ends: error")
    (why,) = ended["decided"]
    assert why["source"] == line_of(tmp_path, "fall:", "tools.yaml")
    assert "it is down" in why["because"]
    assert ended["facts"]["attempts"] == 2
    assert "it is down" in ended["facts"]["failed"][0]["error"]


def test_the_condition_of_an_approval(tmp_path: Path):
    """Which of several has held, its line, and who has decided when."""
    when = [{"to": ["eve"]}, {"amount": {"above": 100, "below": 1000}, "to": {"not": "eve"}}]
    tools = {
        "pay": {
            "kind": "python",
            "function": "acts.py:pay_much",
            "requires_approval": {"when": when},
        }
    }
    (tmp_path / "acts.py").write_text("def pay_much(to: str, amount: int): pass\n")
    call = {"tool": "pay", "arguments": {"to": "bob", "amount": "500"}}
    rules = [{"turn": 1, "calls": [call]}, {"say": "done"}]
    write_crew(tmp_path, {"a": {"tools": ["pay"]}}, rules, tools)
    assert crew("run", tmp_path, "go").returncode == 3
    assert crew("run", tmp_path, "no, it is too much", "--answer", "last").returncode == 0
    steps = steps_of(tmp_path, "last")
    (asked,) = step_with(steps, "waits for a person's decision")["decided"]
    text = "pay of a, since amount is above 100 and is below 1000 and to is not eve"
    assert asked["because"] == text
    assert asked["source"] == line_of(tmp_path, "amount:", "tools.yaml")
    (decision,) = step_with(steps, "goes on: a person has answered")["decided"]
    assert decision["because"].startswith('deny pay of a: "it is too much", by ')
    assert re.search(r" at \d{4}-\d\d-\d\dT", decision["because"])


def test_over_http(tmp_path: Path):
    """Its endpoint: of one event, of another user's run, of events that are gone."""
    tokens = {"shop": "s" * 24, "desk": "d" * 24}
    given = ",".join(f"{name}+read+run:{value}" for name, value in tokens.items())
    rules = [{"agent": "desk", "say": "[To IT]"}, {"say": "done"}]
    write_crew(tmp_path, AGENTS, rules, routing=ROUTING)
    with serving(tmp_path, CREW_API_TOKENS=given) as server:

        def asking(name: str) -> Any:
            return client(server, headers={"Authorization": f"Bearer {tokens[name]}"})

        with asking("shop") as shop, asking("desk") as desk:
            run_id = shop.post("/api/crew/run", json={"query": "x"}).json()["run_id"]
            address = f"/api/crew/runs/{run_id}/why"
            found = shop.get(address).json()
            assert found["run_id"] == run_id
            step = step_with(found["steps"], "desk → it")
            assert step["decided"][0]["source"] == line_of(tmp_path, "[To IT]")
            one = shop.get(address, params={"event": step["event"]}).json()
            assert one["steps"] == [step]
            assert shop.get(address, params={"event": 999}).status_code == 404
            assert shop.get(address, params={"event": "x"}).status_code == 400
            other = desk.get(address)
            unknown = desk.get(f"/api/crew/runs/{'0' * 32}/why")
            assert other.status_code == unknown.status_code == 404
