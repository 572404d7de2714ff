"""What a pause asks a person about the calls of tools."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Literal

from agents.costs.refusal import BudgetRefusal
from crew.journal.call_text import MAX_CALL, call_text
from crew.journal.query import CallDecision, Decision
from tools.approval import Remember
from tools.calls import ToolCall
from tools.forms import Filled, Form


@dataclass(frozen=True, slots=True)
class PendingCall:
    """A call that a person decides on, and the agent that made it."""

    agent_id: str
    call: ToolCall
    # of the tool's definition and the arguments; "" in events of earlier versions
    hash: str = ""
    # the tool's digest, and its effect
    definition: str = ""
    effect: str = ""
    # method and URL, or argv, filled in; "" where there is nothing more to show
    where: str = ""
    # the kind of its entry
    source: str = ""
    schema: dict[str, Any] = field(default_factory=dict)
    # what the person may do: approve, deny, edit, done; retry, skip, done
    may: tuple[str, ...] = ()
    remember: tuple[Remember, ...] = ()
    # the tools that gave text of others before it was made, where it is asked about since then
    untrusted: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """The call in short, for lists and messages: its tool and arguments."""
        return call_text(self.call.tool, self.call.arguments, MAX_CALL, compact=True)

    def is_meant(self, decision: CallDecision) -> bool:
        """Return whether a decision is about this call."""
        return decision.call_id == self.call.id and decision.agent_id in (None, self.agent_id)


@dataclass(frozen=True, slots=True)
class FormCall:
    """A call of a tool that needs answers before it goes on, one form after the other."""

    asked: PendingCall
    forms: tuple[Form, ...]
    # what the tool wants back
    state: str | None
    # what the person has said to the first ones
    filled: tuple[Filled, ...] = ()


@dataclass(frozen=True, slots=True)
class Approval:
    """Why the run is paused: these calls need a person's approval."""

    calls: tuple[PendingCall, ...]
    kind: Literal["approval"] = "approval"
    # where a call does not say what the person may do
    usual: ClassVar[tuple[str, ...]] = ("approve", "deny")
    # by which decision a call is made, and what words that decide nothing come to
    made_by: ClassVar[Decision] = "approve"
    refusal: ClassVar[Decision] = "deny"

    @property
    def involved(self) -> tuple[PendingCall, ...]:
        """The calls that wait for the answer."""
        return self.calls


@dataclass(frozen=True, slots=True)
class UnknownOutcome:
    """Why the run is paused: these calls had started when the process died.

    Whether they acted is not known, so they are not made again without a person's word.
    """

    calls: tuple[PendingCall, ...]
    kind: Literal["unknown_outcome"] = "unknown_outcome"
    usual: ClassVar[tuple[str, ...]] = ("retry", "skip", "done")
    made_by: ClassVar[Decision] = "retry"
    refusal: ClassVar[Decision] = "skip"

    @property
    def involved(self) -> tuple[PendingCall, ...]:
        """The calls that wait for the answer."""
        return self.calls


@dataclass(frozen=True, slots=True)
class Inquiry:
    """Why the run is paused: tools ask a person before they go on, one form at a time."""

    waiting: tuple[FormCall, ...]
    kind: Literal["form"] = "form"
    usual: ClassVar[tuple[str, ...]] = ("approve", "deny")
    made_by: ClassVar[Decision] = "approve"
    refusal: ClassVar[Decision] = "deny"

    @property
    def current(self) -> tuple[PendingCall, Form] | None:
        """The current form, and its call; None: all are filled in."""
        for one in self.waiting:
            if len(one.filled) < len(one.forms):
                return one.asked, one.forms[len(one.filled)]
        return None

    @property
    def calls(self) -> tuple[PendingCall, ...]:
        """The call of the current form."""
        return (self.current[0],) if self.current is not None else ()

    @property
    def involved(self) -> tuple[PendingCall, ...]:
        """The calls that wait for the answers."""
        return tuple(one.asked for one in self.waiting)

    def answered(self, content: dict[str, Any] | None) -> "Inquiry":
        """Return it with the person's answer to the current form; None: declined."""
        assert self.current is not None, "there is one"
        call, form = self.current
        filled = Filled(form, content)
        return Inquiry(
            tuple(
                replace(one, filled=(*one.filled, filled)) if one.asked is call else one
                for one in self.waiting
            )
        )


@dataclass(frozen=True, slots=True)
class PlanApproval:
    """Why the run is paused: a plan needs a person's approval. It stands as one call."""

    calls: tuple[PendingCall, ...]
    # earlier tasks of the plan, and whether each is done
    known: dict[str, bool] = field(default_factory=dict)
    # how often words may still make the agent plan anew
    words_left: int = 0
    kind: Literal["plan"] = "plan"
    usual: ClassVar[tuple[str, ...]] = ("approve", "deny", "edit")
    made_by: ClassVar[Decision] = "approve"
    refusal: ClassVar[Decision] = "deny"

    @property
    def involved(self) -> tuple[PendingCall, ...]:
        """No call of a tool waits for the answer."""
        return ()


@dataclass(frozen=True, slots=True)
class BudgetQuestion:
    """Why the run is paused: a budget has no room for a model call. It stands as one call."""

    calls: tuple[PendingCall, ...]
    full: BudgetRefusal
    kind: Literal["budget"] = "budget"
    usual: ClassVar[tuple[str, ...]] = ("approve", "deny", "edit")
    made_by: ClassVar[Decision] = "approve"
    refusal: ClassVar[Decision] = "deny"

    @property
    def involved(self) -> tuple[PendingCall, ...]:
        """No call of a tool waits for the answer."""
        return ()


@dataclass(frozen=True, slots=True)
class RestoredQuestion:
    """Why the run is paused: it was at work when the backup was taken that is the database now.

    What it has done since then is not known. It stands as one call.
    """

    calls: tuple[PendingCall, ...]
    # the time of the backup, RFC 3339
    taken_at: str
    kind: Literal["restored"] = "restored"
    usual: ClassVar[tuple[str, ...]] = ("approve", "deny")
    made_by: ClassVar[Decision] = "approve"
    refusal: ClassVar[Decision] = "deny"

    @property
    def involved(self) -> tuple[PendingCall, ...]:
        """No call of a tool waits for the answer."""
        return ()

    @property
    def text(self) -> str:
        """The question, in a sentence or two."""
        return (
            f"go on? The database was restored as it was at {self.taken_at}, when this run was at "
            "work: what it has done since then is not known, and may be done a second time"
        )


Question = Approval | UnknownOutcome | Inquiry | PlanApproval | BudgetQuestion | RestoredQuestion
# whether the run may go on at all: the answer changes nothing of where it goes
GoingOn = BudgetQuestion | RestoredQuestion


def question_text(question: Question) -> str:
    """Return the question as text, for lists and messages: a line for each call."""
    lines = [one.text for one in question.calls]
    match question:
        case Approval():
            sources = list(dict.fromkeys(name for one in question.calls for name in one.untrusted))
            read = f" The run has read text of others: {', '.join(sources)}" if sources else ""
            return "\n".join([f"approve?{read}", *lines])
        case UnknownOutcome():
            return "\n".join(["had started when its process died; has it acted?", *lines])
        case BudgetQuestion(full=full):
            return f"spend more? {full.text}"
        case RestoredQuestion():
            return question.text
        case PlanApproval():
            tasks = [task for one in question.calls for task in one.call.arguments["tasks"]]
            return "\n".join(["approve the plan?", *map(_task_text, tasks)])
        case Inquiry(current=(_, form)):
            return "\n".join([form.message, *lines])
        case Inquiry():
            return ""


def _task_text(task: Mapping[str, Any]) -> str:
    needs = f" (after {', '.join(task['needs'])})" if task.get("needs") else ""
    return f"{task['id']} ({task['agent']}): {task['ask']}{needs}"


def question_facts(question: Question) -> dict[str, Any]:
    """Return what a pause says of its question beside the calls, for clients."""
    match question:
        case Inquiry(current=(call, form)):
            document = {"call_id": call.call.id, "message": form.message, "schema": form.schema}
            return {"form": {**document, "url": form.url} if form.url else document}
        case PlanApproval():
            return {"words_left": question.words_left}
        case BudgetQuestion():
            return {"budget": question.full.document()}
        case RestoredQuestion():
            return {"restored": {"taken_at": question.taken_at, "text": question.text}}
        case _:
            return {}
