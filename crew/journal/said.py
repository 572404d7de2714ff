"""What was said where a run paused; pure."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any

from agents.messages import Attachment
from crew.journal.events import Paused
from crew.journal.query import Answer, Query
from crew.journal.questions import question_text


@dataclass(frozen=True, slots=True)
class Said:
    """Words between the query and the answer of a run that paused."""

    text: str
    # who asked, and its display name; "" for the person who answered
    agent_id: str = ""
    agent: str = ""
    # what the person has sent with it
    attached: tuple[Attachment, ...] = ()
    # a question about calls, or a decision on them that is not in words
    is_decision: bool = False
    # what a client has said that was read as that decision
    heard: str = ""


def asked(event: Paused, answer: str) -> Said:
    """Return what a pause asks: the agent's last answer, or the question about calls."""
    text = answer if event.question is None else question_text(event.question)
    return Said(text, event.agent_id, event.agent, is_decision=event.question is not None)


def answered(answer: Answer) -> Said:
    """Return what a person says to that: words, reasons, or the decisions by themselves."""
    reasons = [one.reason or one.result for one in answer.decisions]
    words = answer.text or answer.result or "\n".join(filter(None, reasons))
    if words:
        return Said(words, attached=answer.attachments)
    each = {one.decision for one in answer.decisions}
    text = each.pop() if len(each) == 1 else answer.decides
    return Said(text, attached=answer.attachments, is_decision=True, heard=answer.heard)


def parts_in_words(said: Sequence[Said]) -> list[Said]:
    """Return what was said in words: no decisions, and no questions that these answer."""
    return [
        one
        for one, answer in zip_longest(said, said[1:])
        if not one.is_decision or (one.agent_id and answer is not None and not answer.is_decision)
    ]


def words_of_person(query: str, said: Iterable[Said]) -> tuple[str, ...]:
    """Return what a person has said; a decision is not in words."""
    return (query, *(one.text for one in said if not one.agent_id and not one.is_decision))


def heard_of_person(query: str, said: Iterable[Said]) -> tuple[str, ...]:
    """Return all that a person's client has said, also what was read as a decision."""
    answers = (one for one in said if not one.agent_id)
    return (query, *(one.heard or one.text for one in answers if one.heard or not one.is_decision))


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
