"""`crew run --answer`: what words decide, what a deadline holds, what is shown before."""

import unicodedata
from pathlib import Path
from typing import Any

import pytest

from tests.support.crews import write_crew
from tests.support.forked import crew
from tests.support.planning import planning, task


@pytest.mark.parametrize(
    ("words", "received"),
    [
        (["yes"], "paid bob"),
        (["--decision", "approve"], "paid bob"),
        (["Go ahead!"], "paid bob"),
        (["no, too dear"], "Denied by a person: too dear"),
        (["No."], "Denied by a person"),
        # letters with their marks apart, as some keyboards and files have them
        ([unicodedata.normalize("NFD", "được")], "paid bob"),
        ([unicodedata.normalize("NFD", "không")], "Denied by a person"),
    ],
)
def test_a_call_is_decided_later(tmp_path: Path, words: list[str], received: str):
    """In the words of the prompt, or by option; the hint says how."""
    tools = {"pay": {"kind": "python", "function": "acts.py:pay", "requires_approval": True}}
    rules: list[dict[str, Any]] = [
        {"after": "pay", "say": "{{result.pay}}"},
        {"say": "", "calls": [{"tool": "pay", "arguments": {"to": "bob"}}]},
    ]
    folder = write_crew(tmp_path, {"a": {"tools": ["pay"]}}, rules, tools=tools)
    (folder / "acts.py").write_text("def pay(to: str) -> str:\n    return f'paid {to}'\n")
    paused = crew("run", folder, "go")
    assert "--decision approve\n" in paused.stderr
    assert (
        received
        in crew(
            "run", folder, *words, "--answer", paused.stderr.split("--answer ")[1].split()[0]
        ).stdout
    )
    assert crew("run", folder, "x", "--decision", "approve").returncode == 2


UNCLEAR = ["maybe", "yes, but only to Bob", "no, go ahead", "what is it?"]
UNCLEAR += ["no, no, please go ahead", "no, that's fine"]


@pytest.mark.parametrize("words", UNCLEAR)
def test_words_that_decide_nothing_leave_a_call_open(tmp_path: Path, words: str):
    """Neither made nor denied: the run stays paused, and the person reads what is missing."""
    folder = write_crew(
        tmp_path,
        {"a": {"tools": ["GetSystemInfo", "pay"]}},
        [{"after": "pay", "say": "over"}, {"say": "", "calls": ["pay"]}],
        tools={"pay": {"kind": "python", "function": "acts.py:pay", "requires_approval": True}},
    )
    (folder / "acts.py").write_text("def pay() -> str:\n    return 'paid'\n")
    crew("run", folder, "go")
    answered = crew("run", folder, words, "--answer", "last")
    assert answered.returncode == 2
    assert "say yes, no, or why not" in answered.stderr
    assert "paused" in crew("runs", folder).stdout


def test_words_have_a_plan_made_anew(tmp_path: Path):
    """Other than those of a call; clear words decide."""
    # a model may leave out what a task needs
    bare = {key: value for key, value in task("a").items() if key != "needs"}
    folder = planning(tmp_path, [bare, task("c", "a")], [task("b")], plan={"approve": True})
    paused = crew("run", folder, "go")
    assert "the plan needs your approval\n    a (w): work\n    c (w): work ← a" in paused.stdout
    assert "a (w): work" in crew("inbox", folder).stdout
    assert '"what is to be planned otherwise"' in paused.stderr
    anew = crew("run", folder, "do b instead", "--answer", "last")
    assert (anew.returncode, "    b (w): work" in anew.stdout) == (3, True), anew
    done = crew("run", folder, "yes", "--answer", "last")
    assert (done.returncode, "all is done" in done.stdout) == (0, True), done


def test_a_late_answer_does_not_act(tmp_path: Path):
    """The deadline holds without a server too, and the person reads that it was over."""
    rule = {"deadline_seconds": 0.01, "on_deadline": "refuse"}
    folder = write_crew(
        tmp_path,
        {"a": {"tools": ["once"]}},
        [{"after": "once", "say": "{{result.once}}"}, {"say": "", "calls": ["once"]}],
        tools={
            "once": {
                "kind": "python",
                "function": "acts.py:once",
                "effect": "once",
                "requires_approval": rule,
            }
        },
    )
    acts = "from pathlib import Path\n\n\ndef once() -> str:\n"
    (folder / "acts.py").write_text(
        f"{acts}    Path({str(tmp_path / 'acted')!r}).write_text('x')\n"
    )
    # a command takes longer to start than the deadline
    assert crew("run", folder, "go").returncode == 3
    late = crew("run", folder, "yes", "--answer", "last")
    assert "too late" in late.stderr
    assert "Denied without an answer" in late.stdout
    assert not (tmp_path / "acted").exists()
    assert late.returncode == 0


def test_a_long_text_is_shown_in_lines(tmp_path: Path):
    """Before it is approved: at the run, in the inbox; its beginning and its end."""
    sql = "SELECT a.id,\n" + "  x,\n" * 2000 + "LIMIT 500;\x1b DELETE FROM accounts WHERE id = 7"
    folder = write_crew(
        tmp_path,
        {"a": {"tools": ["run_sql"]}},
        [{"say": "", "calls": [{"tool": "run_sql", "arguments": {"sql": sql}}]}],
        tools={
            "run_sql": {"kind": "python", "function": "t.py:run_sql", "requires_approval": True}
        },
    )
    (folder / "t.py").write_text("def run_sql(sql: str) -> str:\n    return 'ran'\n")
    for shown in (crew("run", folder, "go").stdout, crew("inbox", folder).stdout):
        lines = [line.strip() for line in shown.splitlines()]
        assert "SELECT a.id," in lines
        assert "LIMIT 500;\\x1b DELETE FROM accounts WHERE id = 7" in lines
        assert any("characters left out" in line for line in lines)
