"""What an answer decides on the calls of a question; pure."""

from dataclasses import dataclass
from typing import Any

from crew.journal.query import Answer, CallDecision
from crew.journal.questions import Inquiry, PendingCall, Question
from tools.calls import ToolCall
from tools.forms import FormReply
from tools.schemas.schema import JsonSchema


@dataclass(frozen=True, slots=True)
class ApprovedCall:
    """A call as it is made, and who has approved it."""

    call: ToolCall
    # None: no decision was needed
    by: str | None = None
    # with arguments that a person has changed
    edited: bool = False
    # the grant that replaced a decision
    grant: str = ""
    # what a person has said to what its tool asked
    reply: FormReply | None = None

    @property
    def concerns_a_person(self) -> bool:
        """Whether a person has approved or changed it, now or by a grant."""
        return self.by is not None or self.edited or bool(self.grant)


def decision_on(asked: PendingCall, question: Question, answer: Answer) -> CallDecision:
    """Return what an answer says on a call: by itself, or as on all; words alone are a no."""
    for one in answer.decisions:
        if asked.is_meant(one):
            return one
    decision = answer.decision or question.refusal
    return CallDecision(asked.call.id, decision, reason=answer.text, result=answer.result)


def is_made(asked: PendingCall, question: Question, answer: Answer) -> bool:
    """Return whether an answer wants a call to be made."""
    return decision_on(asked, question, answer).decision == question.made_by


def content_of(question: Inquiry, answer: Answer, *, expired: bool) -> dict[str, Any] | None:
    """Return what an answer fills into the current form; None: nothing, the person says no."""
    if question.current is None or expired:
        return None
    asked, form = question.current
    if not is_made(asked, question, answer):
        return None
    if form.url:
        return {}
    return JsonSchema(form.schema).check(decision_on(asked, question, answer).arguments or {})


def remembered_by(question: Question | None, answer: Answer) -> dict[tuple[str, str], str]:
    """Return the tools that a person approves for the rest of the run, and who does.

    By name and definition.
    """
    out: dict[tuple[str, str], str] = {}
    for one in answer.decisions:
        if one.decision != "approve" or one.remember != "run" or question is None:
            continue
        for meant in question.calls:
            if meant.is_meant(one):
                out[meant.call.tool, meant.definition] = answer.by
    return out
