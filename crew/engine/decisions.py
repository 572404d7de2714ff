"""Whether a person's decision fits the question; pure."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from agents.outputs.answers import CheckedAnswer
from agents.outputs.typed import TypedOutput
from crew.engine.approvals import Agents
from crew.engine.form_questions import wrong_content
from crew.engine.taint import guarded
from crew.journal.query import Answer, CallDecision
from crew.journal.questions import BudgetQuestion, Inquiry, PendingCall, PlanApproval, Question
from crew.journal.records.grants import fits
from tools.errors import ArgumentsError
from tools.schemas.schema import JsonSchema


def wrong_decision(answer: Answer, question: Question | None, agents: Agents) -> str | None:
    """Return why what a person decides does not fit what a pause asks; None if it does.

    Args:
        answer: the person's.
        question: the pause's; None: it asks for words.
        agents: the run's; their tools check other arguments.
    """
    if answer.decision is not None and answer.decisions:
        return "give one decision for all calls, or decisions for each of them"
    if answer.decision is None and not answer.decisions:
        if answer.result:
            return "a result goes with the decision done"
        if isinstance(question, PlanApproval) and answer.text.strip() and question.words_left:
            # it is planned anew by them
            return None
        return None if question is None else _no_decision(question)
    if question is None:
        return "this pause asks for words, not for a decision"
    if answer.decisions:
        return _wrong_decisions(answer.decisions, question, agents)
    for asked in question.calls:
        one = CallDecision(asked.call.id, answer.decision or "deny", result=answer.result)
        if one.decision == "done" and len(question.calls) > 1:
            return "done is of one call: give decisions, one for each call_id with its result"
        if why := _unfit(one, asked, question, agents):
            return why
    return None


def _no_decision(question: Question) -> str:
    """Say what an answer in words lacks: words alone neither make a call nor deny it."""
    usual = ", ".join(question.usual)
    return f"this pause asks about calls, which words do not decide; give a decision: {usual}"


def _wrong_decisions(
    decisions: Sequence[CallDecision], question: Question, agents: Agents
) -> str | None:
    """Return why decisions on single calls do not cover each of them once, or do not fit."""
    calls = question.calls
    for asked in calls:
        fitting = [one for one in decisions if asked.is_meant(one)]
        if len(fitting) != 1:
            number = f"{len(fitting)} decisions" if fitting else "no decision"
            return f"{number} on the call {asked.call.id} of {asked.agent_id}; give one"
    for one in decisions:
        about = [asked for asked in calls if asked.is_meant(one)]
        if not about:
            return f"this pause does not ask about a call {one.call_id}"
        if len(about) > 1:
            return f"several agents have a call {one.call_id}: name the agent_id too"
        if why := _unfit(one, about[0], question, agents):
            return why
    return None


def _unfit(one: CallDecision, asked: PendingCall, question: Question, agents: Agents) -> str | None:
    """Return why a decision may not be made on a call."""
    about, may = f"the call {one.call_id}", asked.may or question.usual
    if one.decision not in may:
        words = " or ".join(word for word in may if word != "edit")
        return f"this pause asks for {words}, not {one.decision}"
    if one.decision == "done" and not one.result:
        return f"done needs a result: what {about} has returned"
    if one.decision != "done" and one.result:
        return f"a result goes with done, and {about} has {one.decision}"
    may_remember = one.decision == "approve" and one.remember in asked.remember
    if one.remember is not None and not may_remember:
        return f"{about} cannot be remembered so: only an approval can, where the pause says so"
    if why := _wrong_patterns(one, asked):
        return why
    if isinstance(question, PlanApproval):
        return _wrong_plan(one, asked, question, agents)
    if isinstance(question, BudgetQuestion):
        return _wrong_amount(one, asked)
    if isinstance(question, Inquiry) and question.current is not None:
        return wrong_content(one, question.current[1])
    if one.arguments is None:
        return None
    if one.decision != "approve" or "edit" not in may:
        return f"the arguments of {about} cannot be changed: only with an approval that may edit"
    return _wrong_edit(one, asked, agents)


# what an approval may give a budget
AMOUNTS = {
    "usd": '{"usd": 1}',
    "tokens": '{"tokens": 5000}',
    "again": '{"again": true}',
    "model": '{"model": "small"}',
}


def _wrong_amount(one: CallDecision, asked: PendingCall) -> str | None:
    """Return why an approval does not say how much more may be used, or by which model."""
    if one.decision != "approve":
        return None
    ways = (asked.schema or {}).get("properties", {}).keys()
    known = [text for key, text in AMOUNTS.items() if key in ways]
    example = f"approve with arguments, such as {' or '.join(known)}"
    given = one.arguments or {}
    try:
        JsonSchema(asked.schema).check(given)
    except ArgumentsError as error:
        return f"{error}; {example}" if given else f"say how much more may be used: {example}"
    if not any(given.get(name) for name in ("usd", "tokens", "model", "again")):
        return f"say how much more may be used: {example}"
    return None


def _wrong_plan(
    one: CallDecision, asked: PendingCall, question: PlanApproval, agents: Agents
) -> str | None:
    """Return why a plan cannot be as a person has changed it: it is checked as a model's is."""
    if one.arguments is None:
        return None
    agent = agents.get(asked.agent_id)
    if one.decision != "approve":
        return "a plan is changed by an approval"
    if agent is None or agent.output is None:
        return f"{asked.agent_id} does not plan any more"
    problems = changed_plan(agent.output, question, one.arguments).problems
    return f"the plan is not as it must be: {'; '.join(problems)}" if problems else None


def changed_plan(
    output: TypedOutput, question: PlanApproval, changed: Mapping[str, Any]
) -> CheckedAnswer:
    """Read a plan as a person has changed it: as a model's is read."""
    return output.check(json.dumps(changed), is_cut=False, known_tasks=question.known)


def _wrong_patterns(one: CallDecision, asked: PendingCall) -> str | None:
    """Return why no calls can be approved by these globs."""
    if not one.patterns:
        return None
    if one.remember != "always":
        return "patterns say which later calls are approved: they go with remember: always"
    arguments = asked.call.arguments if one.arguments is None else one.arguments
    for name, glob in one.patterns.items():
        if name not in arguments:
            return f"the call {one.call_id} has no argument {name!r} to give a pattern for"
        if not fits(arguments[name], glob):
            return f"the call {one.call_id} is itself not as the pattern for {name!r} says"
    return None


def _wrong_edit(one: CallDecision, asked: PendingCall, agents: Agents) -> str | None:
    """Return why a call cannot be made with other arguments."""
    agent = agents.get(asked.agent_id)
    tool = agent.tools.get(asked.call.tool) if agent is not None else None
    if tool is not None and asked.untrusted:
        tool = guarded(tool)
    if tool is None or tool.approval is None:
        return f"the tool of the call {one.call_id} is not there any more"
    arguments = one.arguments or {}
    try:
        tool.check(arguments)
    except Exception as error:  # noqa: BLE001 # types of a tool's own may raise anything
        return f"the arguments of the call {one.call_id} do not fit: {error}"
    if not tool.allows_edit(asked.call.arguments, arguments):
        return f"the arguments of the call {one.call_id} are outside what was asked (its when)"
    return None


def changed_call(answer: Answer, question: Question | None) -> str | None:
    """Return the call that differs from the one the person was shown; None if none does."""
    for one in answer.decisions:
        for asked in question.calls if question is not None else ():
            if asked.is_meant(one) and one.hash not in ("", asked.hash):
                return f"the call {one.call_id} is not the one that was shown: look at it again"
    return None
