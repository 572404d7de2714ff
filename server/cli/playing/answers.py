"""What a person answers to a paused run, from a command line."""

import re
from typing import get_args

import typer

from crew.journal.query import Answer, CallDecision, Decision
from server.cli.view.run_view import parse_arguments
from tools.approval import Remember

# an id is the model's, and may have the marks that stand around it
CALL_DECISION = re.compile(
    r"(?:(?P<agent>[^/=]+)/)?(?P<call>.+?)=(?:"
    rf"(?P<remember>{'|'.join(get_args(Remember))})|"
    rf"(?P<decision>{'|'.join(get_args(Decision))})(?:=(?P<more>.*))?)",
    re.DOTALL,
)


def parse_call_decision(text: str) -> CallDecision:
    """Parse `CALL=DECISION[=TEXT]`; AGENT/CALL where several agents have its id.

    An id with a slash in it needs its agent.
    """
    found = CALL_DECISION.fullmatch(text)
    if found is None:
        known = ", ".join([*get_args(Decision), *get_args(Remember)])
        text = f"{text!r} is no decision: write CALL=DECISION with one of {known}"
        raise typer.BadParameter(text, param_hint="--call")
    agent_id, call_id, more = found["agent"], found["call"], found["more"] or ""
    for remember in get_args(Remember):
        if found["remember"] == remember:
            return CallDecision(call_id, "approve", agent_id, remember=remember)
    decision: Decision = next(one for one in get_args(Decision) if one == found["decision"])
    if decision == "done":
        return CallDecision(call_id, decision, agent_id, result=more)
    if decision == "approve" and more:
        try:
            return CallDecision(call_id, decision, agent_id, arguments=parse_arguments(more))
        except ValueError as error:
            why = f"what follows approve= are other arguments, as JSON: {error}"
            raise typer.BadParameter(why, param_hint="--call") from None
    return CallDecision(call_id, decision, agent_id, reason=more)


def answer_of(text: str, decision: Decision | None, decisions: tuple[CallDecision, ...]) -> Answer:
    """Return what a person says to a pause: in words, on all its calls, or on each."""
    if decisions:
        return Answer(text, decision, decisions=decisions)
    if decision is None:
        return Answer(text)
    if decision == "done":
        return Answer(decision="done", result=text)
    return Answer(text, decision)
