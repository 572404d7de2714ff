"""Calls that a person decides on: that need approval, or have an unknown outcome; pure."""

import hashlib
import json
from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta

from agents.agent import Agent
from crew.engine.taint import guarded, is_guarded, is_refused
from crew.journal.branches import Branch
from crew.journal.call_text import call_key
from crew.journal.decided import ApprovedCall, decision_on, is_made
from crew.journal.query import Answer, Decision
from crew.journal.questions import Approval, PendingCall, Question, UnknownOutcome
from crew.journal.records.grants import GRANT_DAYS, Grant
from crew.journal.records.rows import RunRow
from crew.journal.state import RunState
from tools.approval import ApprovalRule
from tools.calls import CallStatus, ToolCall, ToolResult
from tools.clock import rfc3339
from tools.definition import Tool
from tools.errors import ToolError
from tools.text.secrets import Secrets

# the same call is not asked about again after so many denials
MAX_DENIALS = 2
Agents = Mapping[str, Agent]
# the ids of its agent, and its own
CallKey = tuple[str, str]


def find_question(
    branches: Sequence[Branch],
    agents: Agents,
    state: RunState,
    secrets: Secrets,
    decided: Container[CallKey] = (),
) -> tuple[Agent, Question] | None:
    """Find what a person decides before the open calls of some branches are made, and the agent.

    Calls of unknown outcome come first. The calls of all branches are in one question.

    Args:
        branches: that may go on.
        agents: of the run.
        state: of the run.
        secrets: what no person is shown.
        decided: calls that were in a question already.
    """
    undecided = [
        (branch, agents[branch.agent_id], call)
        for branch in branches
        for call in branch.open_calls
        if (branch.agent_id, call.id) not in decided
    ]
    unknown = [
        (agent, call) for branch, agent, call in undecided if branch.started_calls.get(call.id)
    ]
    if unknown:
        shown = [pending_call(agent, call, secrets) for agent, call in unknown]
        # to make one again is to make it after that text
        usual, read = UnknownOutcome.usual, state.taint
        asked = tuple(replace(one, may=usual, untrusted=read) for one in shown)
        return unknown[0][0], UnknownOutcome(asked)
    needed = [(agent, call) for _, agent, call in undecided if needs_approval(call, agent, state)]
    if needed:
        asked = tuple(_for_approval(agent, call, state, secrets) for agent, call in needed)
        return needed[0][0], Approval(asked)
    return None


def pending_call(agent: Agent, call: ToolCall, secrets: Secrets) -> PendingCall:
    """Return a call as a person is shown it, without what the person may do."""
    tool = agent.tools.get(call.tool)
    if tool is None:
        return PendingCall(agent.id, call)
    shown = json.dumps([tool.definition, call.arguments], sort_keys=True)
    where = ""
    if tool.show is not None:
        try:
            where = secrets.mask(tool.show(tool.check(call.arguments)))
        except ToolError:
            # what cannot be shown will not be made either: the call says why
            where = ""
    return PendingCall(
        agent.id,
        call,
        hashlib.sha256(shown.encode()).hexdigest(),
        tool.definition,
        tool.effect,
        where,
        tool.reach.kind,
        tool.parameters,
    )


def _for_approval(agent: Agent, call: ToolCall, state: RunState, secrets: Secrets) -> PendingCall:
    tool = agent.tools[call.tool]
    rule, asked = tool.approval or ApprovalRule(), pending_call(agent, call, secrets)
    if is_guarded(tool, agent, state):
        return replace(asked, may=rule.may, untrusted=state.taint)
    return replace(asked, may=rule.may, remember=rule.remember)


def needs_approval(call: ToolCall, agent: Agent, state: RunState) -> bool:
    """Return whether a call needs a person's approval."""
    tool = agent.tools.get(call.tool)
    if call.argument_error is not None or tool is None or is_refused(tool, agent, state):
        return False
    if is_guarded(tool, agent, state):
        # each call, whatever was approved before that text was read
        return guarded(tool).needs_approval(call.arguments)
    if tool.approval is None:
        return False
    if (tool.name, tool.definition) in state.remembered:
        return False
    return tool.needs_approval(call.arguments)


def repeated_denials(branch: Branch, agent: Agent, state: RunState) -> list[ToolResult]:
    """Return the results of calls that a person has refused too often, with equal arguments."""
    if not state.denials:
        return []
    refused = [
        call
        for call in branch.open_calls
        if needs_approval(call, agent, state) and state.denials[call_key(call)] >= MAX_DENIALS
    ]
    text = f"Denied: a person has refused this call {MAX_DENIALS} times; do something else"
    return [ToolResult.of(call, "denied", text) for call in refused]


def grants_of(
    question: Question, answer: Answer, run: RunState, row: RunRow, now: datetime
) -> list[Grant]:
    """Return what an answer to a question of a run approves for all runs of its owner."""
    made = []
    until = rfc3339(now + timedelta(days=GRANT_DAYS))
    for asked in question.calls:
        for one in answer.decisions:
            if one.remember != "always" or not asked.is_meant(one):
                continue
            given = asked.call.arguments if one.arguments is None else one.arguments
            # the same however often it is written
            known = f"{run.run_id} {run.pause_seq} {asked.agent_id} {asked.call.id}"
            grant = Grant(
                hashlib.sha256(known.encode()).hexdigest()[:16],
                asked.call.tool,
                asked.definition,
                asked.agent_id,
                {name: value for name, value in given.items() if name not in one.patterns},
                answer.by,
                run.run_id,
                rfc3339(now),
                until,
                one.patterns,
                row.owner,
                row.user_id,
            )
            made.append(grant)
    return made


def find_grantable(call: ToolCall, agent: Agent, state: RunState) -> Tool | None:
    """Return the tool of a call that a grant may approve in place of a person."""
    tool = agent.tools.get(call.tool)
    if tool is None or tool.approval is None or "always" not in tool.approval.remember:
        return None
    if is_guarded(tool, agent, state):
        return None
    return tool if needs_approval(call, agent, state) else None


def call_without_question(
    call: ToolCall, branch: Branch, agent: Agent, state: RunState
) -> ApprovedCall:
    """Return a call that needs no decision now."""
    tool = agent.tools.get(call.tool)
    by = None
    # the digest of a tool takes its time, and in most runs nothing is remembered
    if tool is not None and state.remembered:
        by = state.remembered.get((tool.name, tool.definition))
    return ApprovedCall(call, by, call.id in branch.edited_calls)


def edit_note(call: ToolCall) -> str:
    """Return what stands before the output of a call with arguments that a person has changed."""
    arguments = json.dumps(call.arguments, ensure_ascii=False)
    return f"[A person changed the arguments to {arguments}]\n"


def with_edit(result: ToolResult, call: ToolCall) -> ToolResult:
    """Return a result with the arguments with which the agent's call was made."""
    note = edit_note(call)
    chars = result.output_chars + len(note)
    return replace(result, output=note + result.output, output_chars=chars)


def decisions_on(question: Question, answer: Answer) -> Iterator[tuple[str, Decision]]:
    """Yield what an answer decides on each call of a question: the tool, and the decision."""
    for asked in question.calls:
        yield asked.call.tool, decision_on(asked, question, answer).decision


def results_of_answer(
    branch: Branch,
    question: Question,
    answer: Answer,
    expired: bool,
    waiting: Container[CallKey],
) -> list[ToolResult]:
    """Return the results that a person's answer gives to the open calls of the question.

    Calls without a result here are made, or are in the next question. An answer without a fitting
    decision is a no, and its text the reason; with `expired`, so is none at all in time.

    Args:
        branch: of the calls.
        question: an approval, or about unknown outcomes.
        answer: the person's, or what stands for it.
        expired: no answer came in time.
        waiting: calls that have time left.
    """
    mine = [
        asked
        for asked in question.calls
        if asked.agent_id == branch.agent_id and (asked.agent_id, asked.call.id) not in waiting
    ]
    open_ids = {call.id for call in branch.open_calls}
    still_open = [one for one in mine if one.call.id in open_ids]
    results = [_result_of(one, question, answer, expired) for one in still_open]
    return [result for result in results if result is not None]


def _result_of(
    asked: PendingCall, question: Question, answer: Answer, expired: bool
) -> ToolResult | None:
    """Return what a person's answer makes of one call; None: it is made."""
    if is_made(asked, question, answer):
        return None
    one = decision_on(asked, question, answer)
    status: CallStatus
    if one.decision == "done":
        status, output = "success", one.result
    elif isinstance(question, Approval):
        status = "denied"
        denial = "Denied without an answer" if expired else "Denied by a person"
        output = _with_reason(denial, one.reason)
    else:
        status = "error"
        text = "Interrupted; whether it acted is not known. Not made again"
        output = _with_reason(text, one.reason)
    return ToolResult.of(asked.call, status, output)


def _with_reason(text: str, reason: str) -> str:
    return f"{text}: {reason}" if reason.strip() else text
