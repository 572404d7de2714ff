"""What was said where a run paused; pure."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, get_args

from agents.messages import Attachment
from crew.journal.events import Paused
from crew.journal.query import Answer, Decision, Query
from crew.journal.questions import question_text

DECISIONS = frozenset(get_args(Decision))


@dataclass(frozen=True, slots=True)
class Said:
    """Words between the query and the answer of a run that paused."""

    text: str
    # who asked, and its display name; "" for the person who answered
    agent_id: str = ""
    agent: str = ""
    # what the person has sent with it
    attached: tuple[Attachment, ...] = ()


def asked(event: Paused, answer: str) -> Said:
    """Return what a pause asks: the agent's last answer, or the question about calls."""
    text = answer if event.question is None else question_text(event.question)
    return Said(text, event.agent_id, event.agent)


def answered(answer: Answer) -> Said:
    """Return what a person says to that: words, reasons, or the decisions by themselves."""
    reasons = [one.reason or one.result for one in answer.decisions]
    words = answer.text or answer.result or "\n".join(filter(None, reasons))
    return Said(words or answer.decides, attached=answer.attachments)


def words_of_person(query: str, said: Iterable[Said]) -> tuple[str, ...]:
    """Return what a person has said; a decision by a button is not in words."""
    answers = (one.text for one in said if not one.agent_id)
    return (query, *(one for one in answers if one not in DECISIONS))


def attached_by_person(query: Query, said: Iterable[Said]) -> list[Attachment]:
    """Return what a person has sent with their words."""
    return [*query.attachments, *(one for part in said for one in part.attached)]


def describe_attached(attached: Sequence[Attachment]) -> dict[str, Any]:
    """Return attachments as programs are shown them, where there are any."""
    shown = [
        {
            "document_id": one.document_id,
            "name": one.name,
            "collection": one.collection,
            "media_type": one.media_type or None,
        }
        for one in attached
    ]
    return {"attachments": shown} if shown else {}
