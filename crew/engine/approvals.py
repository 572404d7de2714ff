"""Calls that a person decides on: those that need approval, and those of unknown outcome; pure."""

from collections.abc import Sequence

from agents.agent import Agent
from crew.journal.events import Approval, Question, UnknownOutcome
from crew.journal.query import Answer
from crew.journal.state import Branch
from tools.calls import CallStatus, ToolCall, ToolResult


def find_question(branches: Sequence[tuple[Branch, Agent]]) -> tuple[Agent, Question] | None:
    """What a person must be asked before the open calls of some branches are made, and by whom.

    Calls of unknown outcome come first, those of all branches in one question.
    """
    unknown = [
        (agent, call)
        for branch, agent in branches
        for call in branch.open_calls
        if branch.started_calls.get(call.id)
    ]
    if unknown:
        return unknown[0][0], UnknownOutcome(tuple(call for _, call in unknown))
    for branch, agent in branches:
        calls = tuple(call for call in branch.open_calls if _needs_approval(call, agent))
        if calls:
            return agent, Approval(calls)
    return None


def _needs_approval(call: ToolCall, agent: Agent) -> bool:
    tool = agent.tools.get(call.tool)
    return call.argument_error is None and tool is not None and tool.requires_approval


def wrong_decision(answer: Answer, question: Question | None) -> str | None:
    """Why a decision does not fit what a pause asks; None if it does, or there is none."""
    if answer.decision is None:
        return None
    if question is None:
        return "this pause asks for words, not for a decision"
    if answer.decision not in question.decisions:
        return f"this pause asks for {' or '.join(question.decisions)}, not {answer.decision}"
    if answer.decision == "done" and not answer.result:
        return "done needs a result: what the call has returned"
    return None


def results_of_answer(
    branch: Branch, question: Question | None, answer: Answer, expired: bool
) -> list[ToolResult]:
    """The results that a person's answer gives to the open calls of the question.

    Calls without a result here are made. An answer without a fitting decision is a no, and its
    text the reason; with `expired`, so is none at all in time.
    """
    status: CallStatus
    match question, answer.decision:
        case (None, _) | (Approval(), "approve") | (UnknownOutcome(), "retry"):
            return []
        case Approval(), _:
            status = "denied"
            denial = "Denied without an answer" if expired else "Denied by a person"
            output = _with_reason(denial, answer.text)
        case UnknownOutcome(), "done":
            status, output = "success", answer.result
        case UnknownOutcome(), _:
            status = "error"
            text = "Interrupted; whether it acted is not known. Not made again"
            output = _with_reason(text, answer.text)
    asked = [call for call in branch.open_calls if call in question.calls]
    return [ToolResult.of(call, status, output) for call in asked]


def _with_reason(text: str, reason: str) -> str:
    return f"{text}: {reason}" if reason.strip() else text
