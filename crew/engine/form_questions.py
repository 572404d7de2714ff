"""Calls with tools that need a person's answer before they go on; pure."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import replace

from agents.agent import Agent
from crew.engine.approvals import Agents, CallKey, pending_call
from crew.journal.branches import Branch
from crew.journal.query import CallDecision
from crew.journal.questions import FormCall, Inquiry
from tools.calls import QuestionRaised
from tools.errors import ToolError
from tools.forms import Form
from tools.schemas.schema import JsonSchema
from tools.text.secrets import Secrets


def find_inquiry(
    branches: Sequence[Branch],
    agents: Agents,
    pending: Mapping[CallKey, QuestionRaised],
    secrets: Secrets,
) -> tuple[Agent, Inquiry] | None:
    """Find the forms of the open calls of some branches, and the agent of the first call."""
    waiting = [
        (agents[branch.agent_id], call, pending[branch.agent_id, call.id])
        for branch in branches
        for call in branch.open_calls
        if (branch.agent_id, call.id) in pending
    ]
    if not waiting:
        return None
    forms = []
    for agent, call, asked in waiting:
        shown = pending_call(agent, call, secrets)
        known = [shown.hash, [[one.message, one.schema, one.url] for one in asked.forms]]
        digest = hashlib.sha256(json.dumps(known, sort_keys=True).encode()).hexdigest()
        shown = replace(shown, hash=digest, may=Inquiry.usual)
        forms.append(FormCall(shown, asked.forms, asked.state))
    return waiting[0][0], Inquiry(tuple(forms))


def wrong_content(one: CallDecision, form: Form) -> str | None:
    """Return why a decision does not fit a form; None if it does."""
    if one.decision != "approve":
        return None if one.arguments is None else "arguments fill in a form: they go with approve"
    if form.url:
        text = f"there is nothing to fill in: it is done at {form.url}"
        return text if one.arguments else None
    try:
        JsonSchema(form.schema).check(one.arguments or {})
    except ToolError as error:
        return f"the form of the call {one.call_id} is filled in by arguments: {error}"
    return None
