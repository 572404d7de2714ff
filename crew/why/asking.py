"""Which rule needs a person for a call, and what the person has decided."""

import contextlib
from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any

from crew.config.files.document import YamlPath
from crew.journal.decided import decision_on
from crew.journal.query import Answer
from crew.journal.questions import PendingCall, Question
from crew.why.places import FilePlaces
from crew.why.steps import Ruling
from tools.approval import ApprovalRule, Condition, Readings
from tools.clock import rfc3339
from tools.errors import ToolError
from tools.schemas.schema import JsonSchema


def asking_rule(one: PendingCall, kind: str, places: FilePlaces | None) -> Ruling:
    """Return why a call needs a person's decision.

    Args:
        one: the call.
        kind: of the question.
        places: in the files of the run's revision; None: they are no longer kept.
    """
    call = f"{one.call.tool} of {one.agent_id}"
    source = places.tool(one.call.tool) if places is not None else None
    if kind != "approval":
        text = f"{call}: it had begun when its process ended" if kind == "unknown_outcome" else call
        return Ruling(kind, True, text, source)
    if one.untrusted:
        text = f"{call}: the run has read text of others, from {', '.join(one.untrusted)}"
        at = places.taint_rule(one.agent_id) if places is not None else None
        return Ruling(kind, True, text, at or source)
    rule = places.approval(one.call.tool) if places is not None else None
    if rule is None or places is None:
        return Ruling(kind, True, call, source)
    given = _readings(one)
    for place in rule.asking(given, one.schema):
        conditions = rule.when[place]
        text = " and ".join(_words(name, condition) for name, condition in conditions.items())
        at = places.approval_line(one.call.tool, _path(rule, place, conditions))
        return Ruling(kind, True, f"{call}, since {text}", at or source)
    text = f"{call}: each call of it is asked about"
    return Ruling(kind, True, text, source)


def decisions_made(question: Question, answer: Answer, at: datetime) -> Iterator[Ruling]:
    """Yield what a person's answer decides on each call of a question."""
    for asked in question.calls:
        one = decision_on(asked, question, answer)
        reason = f': "{one.reason}"' if one.reason.strip() else ""
        text = f"{one.decision} {asked.call.tool} of {asked.agent_id}{one.given}{reason}"
        yield Ruling("answer", True, f"{text}, {decided_by(answer.by, at)}")


def decided_by(who: str, at: datetime | None) -> str:
    """Return who has decided, and when."""
    return f"by {who or 'a person'}" + (f" at {rfc3339(at)}" if at is not None else "")


def _readings(asked: PendingCall) -> Readings:
    """Return the arguments as the model wrote them, and as the tool gets them."""
    written, read = asked.call.arguments, dict(asked.call.arguments)
    with contextlib.suppress(ToolError, ValueError):
        read = JsonSchema(asked.schema).check(written)
    return written, read


def _path(rule: ApprovalRule, place: int, conditions: Mapping[str, Condition]) -> YamlPath:
    """Return where a mapping of conditions stands; one alone may be written without a list."""
    return ("when", place) if len(rule.when) > 1 else ("when", next(iter(conditions)))


def _words(name: str, one: Condition) -> str:
    parts = []
    if one.values is not None:
        parts.append(f"is {_listed(one.values)}")
    if one.above is not None:
        parts.append(f"is above {one.above:g}")
    if one.below is not None:
        parts.append(f"is below {one.below:g}")
    if one.matches is not None:
        parts.append(f"matches {one.matches}")
    if one.other_than is not None:
        parts.append(f"is not {_listed(one.other_than)}")
    return f"{name} {' and '.join(parts)}"


def _listed(values: tuple[Any, ...]) -> str:
    return " or ".join(str(one) for one in values)
