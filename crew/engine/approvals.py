"""Calls that a person decides on: those that need approval, and those of unknown outcome; pure."""

from collections.abc import Sequence

from agents.agent import Agent
from crew.journal.events import Approval, AskedCall, Question, UnknownOutcome
from crew.journal.query import Answer, CallDecision
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
        asked = tuple(AskedCall(agent.id, call) for agent, call in unknown)
        return unknown[0][0], UnknownOutcome(asked)
    for branch, agent in branches:
        needed = [call for call in branch.open_calls if _needs_approval(call, agent)]
        calls = tuple(AskedCall(agent.id, call) for call in needed)
        if calls:
            return agent, Approval(calls)
    return None


def _needs_approval(call: ToolCall, agent: Agent) -> bool:
    tool = agent.tools.get(call.tool)
    if call.argument_error is not None or tool is None or not tool.requires_approval:
        return False
    try:
        tool.check(call.arguments)
    except Exception:  # noqa: BLE001 # types of a tool's own may raise anything
        # the executor makes an error of it: a person need not be asked
        return False
    return True


def wrong_decision(answer: Answer, question: Question | None) -> str | None:
    """Why what a person decides does not fit what a pause asks; None if it does."""
    given = [one.decision for one in answer.decisions]
    if answer.decision is not None:
        if given:
            return "give one decision for all calls, or decisions for each of them"
        given = [answer.decision]
    if not given:
        return None
    if question is None:
        return "this pause asks for words, not for a decision"
    for decision in given:
        if decision not in question.decisions:
            return f"this pause asks for {' or '.join(question.decisions)}, not {decision}"
    if answer.decisions:
        return _wrong_decisions(answer.decisions, question.calls)
    if answer.decision == "done" and len(question.calls) > 1:
        return "done is of one call: give decisions, one for each call_id with its result"
    if answer.decision == "done" and not answer.result:
        return "done needs a result: what the call has returned"
    return None


def _wrong_decisions(decisions: Sequence[CallDecision], calls: Sequence[AskedCall]) -> str | None:
    """Why decisions on single calls do not cover each of them once."""
    for asked in calls:
        fitting = [one for one in decisions if _is_about(one, asked)]
        if len(fitting) != 1:
            number = f"{len(fitting)} decisions" if fitting else "no decision"
            return f"{number} on the call {asked.call.id} of {asked.agent_id}; give one"
    for one in decisions:
        about = [asked for asked in calls if _is_about(one, asked)]
        if not about:
            return f"this pause does not ask about a call {one.call_id}"
        if len(about) > 1:
            return f"several agents have a call {one.call_id}: name the agent_id too"
        if one.decision == "done" and not one.result:
            return f"done needs a result: what the call {one.call_id} has returned"
    return None


def _is_about(one: CallDecision, asked: AskedCall) -> bool:
    return one.call_id == asked.call.id and one.agent_id in (None, asked.agent_id)


def results_of_answer(
    branch: Branch, question: Question | None, answer: Answer, expired: bool
) -> list[ToolResult]:
    """The results that a person's answer gives to the open calls of the question.

    Calls without a result here are made. An answer without a fitting decision is a no, and its
    text the reason; with `expired`, so is none at all in time.
    """
    if question is None:
        return []
    mine = [asked for asked in question.calls if asked.agent_id == branch.agent_id]
    open_calls = [asked for asked in mine if asked.call in branch.open_calls]
    results = [_result_of(asked, question, answer, expired) for asked in open_calls]
    return [result for result in results if result is not None]


def _result_of(
    asked: AskedCall, question: Question, answer: Answer, expired: bool
) -> ToolResult | None:
    """What a person's answer makes of one call; None: it is made."""
    single = [one for one in answer.decisions if _is_about(one, asked)]
    decision, reason, result = answer.decision, answer.text, answer.result
    if single:
        decision, reason, result = single[0].decision, single[0].reason, single[0].result
    status: CallStatus
    match question, decision:
        case (Approval(), "approve") | (UnknownOutcome(), "retry"):
            return None
        case Approval(), _:
            status = "denied"
            denial = "Denied without an answer" if expired else "Denied by a person"
            output = _with_reason(denial, reason)
        case UnknownOutcome(), "done":
            status, output = "success", result
        case UnknownOutcome(), _:
            status = "error"
            text = "Interrupted; whether it acted is not known. Not made again"
            output = _with_reason(text, reason)
    return ToolResult.of(asked.call, status, output)


def _with_reason(text: str, reason: str) -> str:
    return f"{text}: {reason}" if reason.strip() else text
