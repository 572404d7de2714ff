"""What an answer decides on the calls of a question; pure."""

from dataclasses import dataclass
from typing import Any

from crew.journal.events import AskedCall, Inquiry, Question
from crew.journal.query import Answer, CallDecision, Decision
from tools.calls import ToolCall
from tools.forms import Reply
from tools.schema import JsonSchema


@dataclass(frozen=True, slots=True)
class ApprovedCall:
    """A call as it is made, and who has approved it."""

    call: ToolCall
    # None: nobody was asked
    by: str | None = None
    # with arguments that a person has changed
    edited: bool = False
    # the grant by which nobody was asked
    grant: str = ""
    # what a person has said to what its tool asked
    reply: Reply | None = None


def decision_on(asked: AskedCall, answer: Answer) -> CallDecision:
    """What an answer says on a call: by itself, or as on all; words alone decide nothing."""
    for one in answer.decisions:
        if asked.is_meant(one):
            return one
    decision: Decision = answer.decision or "deny"
    return CallDecision(asked.call.id, decision, reason=answer.text, result=answer.result)


def is_made(asked: AskedCall, question: Question, answer: Answer) -> bool:
    """Whether a call is made after an answer to an approval or to an unknown outcome."""
    wanted = {"approval": "approve", "unknown_outcome": "retry"}.get(question.kind)
    return decision_on(asked, answer).decision == wanted


def content_of(question: Inquiry, answer: Answer, *, expired: bool) -> dict[str, Any] | None:
    """What an answer fills into the current form; None: nothing, the person says no."""
    if question.current is None or expired:
        return None
    asked, form = question.current
    one = decision_on(asked, answer)
    if one.decision != "approve":
        return None
    if form.url:
        return {}
    return JsonSchema(form.schema).check(one.arguments or {})
