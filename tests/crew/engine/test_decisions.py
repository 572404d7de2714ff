"""A decision must fit what the pause asks; otherwise the run stays paused."""

from pathlib import Path

import pytest

from crew import Answer, MemoryStore, Query, Runs, load_crew
from crew.engine.decisions import wrong_decision
from crew.journal.query import Decision
from crew.journal.questions import Approval, PendingCall, Question, UnknownOutcome
from crew.runs.errors import WrongDecision
from tests.support.crews import write_crew
from tools import ToolCall

CALLS = (PendingCall("a", ToolCall("1", "pay")),)
QUESTIONS: dict[str, Question | None] = {
    "words": None,
    "approval": Approval(CALLS),
    "unknown_outcome": UnknownOutcome(CALLS),
}
FITTING = {
    "words": set(),
    "approval": {"approve", "deny"},
    "unknown_outcome": {"retry", "skip", "done"},
}


@pytest.mark.parametrize("kind", QUESTIONS)
@pytest.mark.parametrize("decision", ["approve", "deny", "retry", "skip", "done"])
def test_a_decision_fits_its_question(kind: str, decision: Decision):
    """Each question has its own; `done` needs what the call has returned; words decide nothing."""
    result = "x" if decision == "done" else ""
    wrong = wrong_decision(Answer(decision=decision, result=result), QUESTIONS[kind], {})
    assert (wrong is None) == (decision in FITTING[kind])
    words = wrong_decision(Answer("yes"), QUESTIONS[kind], {})
    assert (words is None) == (kind == "words")
    if decision == "done":
        assert wrong_decision(Answer(decision="done"), QUESTIONS[kind], {}) is not None


async def test_a_wrong_decision_leaves_the_run_paused(tmp_path: Path):
    """And the right one is taken afterwards."""
    (tmp_path / "acts.py").write_text("def pay() -> str:\n    return 'paid'\n")
    folder = write_crew(
        tmp_path,
        {"a": {"tools": ["pay"]}},
        [{"after": "pay", "say": "{{result.pay}}"}, {"say": "", "calls": ["pay"]}],
        tools={"pay": {"kind": "python", "function": "acts.py:pay", "requires_approval": True}},
    )
    async with Runs(load_crew(folder), MemoryStore()) as runs:
        run = await runs.start(Query("go"))
        await run.outcome()
        with pytest.raises(WrongDecision, match="approve or deny, not retry"):
            await runs.resume(run.id, Answer(decision="retry"))
        assert (await runs.row(run.id)).status == "paused"
        row = await (await runs.resume(run.id, Answer(decision="approve"))).outcome()
    assert row.answer == "paid"


@pytest.mark.parametrize("decision", ["approve", "deny", "retry", "skip", None])
@pytest.mark.parametrize("kind", QUESTIONS)
def test_a_result_goes_with_done_alone(kind: str, decision: Decision | None):
    """With another one it would be left out without a word."""
    said = wrong_decision(Answer("x", decision=decision, result="y"), QUESTIONS[kind], {})
    assert said is not None
