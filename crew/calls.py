"""Calls that a person decides on: those that need a yes, and those of which nobody knows whether they acted; pure."""

from agents.agent import Agent
from crew.events import Approval, Question, UnknownOutcome
from crew.query import Query
from crew.state import Branch
from tools.calls import Status, ToolResult


def ask_first(branch: Branch, agent: Agent) -> Question | None:
    """What a person must be asked before the open calls of a branch are made, if anything."""
    unknown = tuple(call for call in branch.open_calls if branch.begun.get(call.id))
    if unknown:
        return UnknownOutcome(unknown)
    guarded = tuple(
        call
        for call in branch.open_calls
        if call.flaw is None and call.tool in agent.tools and agent.tools[call.tool].requires_approval
    )
    return Approval(guarded) if guarded else None


def settle_answered(branch: Branch, question: Question | None, answer: Query) -> list[ToolResult]:
    """The results that a person's answer gives to the open calls it was asked about; those left without one are made.

    An answer without a fitting decision is a no, and its text the reason.
    """
    result: tuple[Status, str]
    match question, answer.decision:
        case (None, _) | (Approval(), "approve") | (UnknownOutcome(), "retry"):
            return []
        case Approval(), _:
            result = ("denied", _because("Denied by a person", answer.text))
        case UnknownOutcome(), "done":
            result = ("success", answer.result)
        case UnknownOutcome(), _:
            result = ("error", _because("Interrupted; whether it acted is not known. Not made again", answer.text))
    asked = {call.id for call in question.calls}
    return [ToolResult.of(call, *result) for call in branch.open_calls if call.id in asked]


def _because(what: str, text: str) -> str:
    return f"{what}: {text}" if text.strip() else what
