"""Calls that a person decides on.

Those that need a yes, and those of which nobody knows whether they acted; pure.
"""

from collections.abc import Sequence

from agents.agent import Agent
from crew.journal.events import Approval, Question, UnknownOutcome
from crew.journal.query import Query
from crew.journal.state import Branch
from tools.calls import Status, ToolResult


def ask_first(branches: Sequence[tuple[Branch, Agent]]) -> tuple[Agent, Question] | None:
    """What a person must be asked before the open calls of some branches are made, if anything.

    And who asks.

    Calls of which nobody knows come first, those of all branches in one question.
    """
    unknown = [
        (agent, call)
        for branch, agent in branches
        for call in branch.open_calls
        if branch.begun.get(call.id)
    ]
    if unknown:
        return unknown[0][0], UnknownOutcome(tuple(call for _, call in unknown))
    for branch, agent in branches:
        guarded = tuple(
            call
            for call in branch.open_calls
            if call.flaw is None
            and call.tool in agent.tools
            and agent.tools[call.tool].requires_approval
        )
        if guarded:
            return agent, Approval(guarded)
    return None


def settle_answered(
    branch: Branch, question: Question | None, answer: Query, *, expired: bool = False
) -> list[ToolResult]:
    """The results that a person's answer gives to the open calls it was asked about.

    Those left without one are made.

    An answer without a fitting decision is a no, and its text the reason; `expired`: so is none at
    all in time.
    """
    result: tuple[Status, str]
    match question, answer.decision:
        case (None, _) | (Approval(), "approve") | (UnknownOutcome(), "retry"):
            return []
        case Approval(), _:
            result = (
                "denied",
                _because(
                    "Denied without an answer" if expired else "Denied by a person", answer.text
                ),
            )
        case UnknownOutcome(), "done":
            result = ("success", answer.result)
        case UnknownOutcome(), _:
            result = (
                "error",
                _because("Interrupted; whether it acted is not known. Not made again", answer.text),
            )
    return [ToolResult.of(call, *result) for call in branch.open_calls if call in question.calls]


def _because(what: str, text: str) -> str:
    return f"{what}: {text}" if text.strip() else what
