"""The answers of people to the pauses of a rehearsal."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from crew.journal.query import Answer, CallDecision, Decision
from crew.journal.questions import PendingCall, Question
from crew.rehearsal.files.bound import Case
from crew.rehearsal.keys.persons import Person


@dataclass(slots=True)
class People:
    """The people of a rehearsal, or of one of its turns, in order."""

    case: Case
    persons: Sequence[Person]
    # from the rehearsal to them
    path: tuple[str | int, ...] = ("answers",)
    # the number of the next one
    next: int = field(default=0)

    def source(self, number: int) -> str:
        """Return where one is written."""
        return self.case.source(*self.path, number)

    def take(self) -> Person | None:
        """Take the next one; None where none is left."""
        if self.next >= len(self.persons):
            return None
        self.next += 1
        return self.persons[self.next - 1]

    def answer(self, first: Person, question: Question | None) -> Answer:
        """Return what a person, and those who follow on single calls, say to a pause.

        Args:
            first: who was taken.
            question: of the pause; None: it asks for words.
        """
        if question is None or first.say is not None:
            return Answer(first.say or "", _decision(first), by=first.by)
        decided = _decide(first, question.calls)
        while len(decided) < len(question.calls) and self._decides_more(question, decided):
            person = self.take()
            assert person is not None, "there is a next one"
            known = {(one.agent_id, one.call_id) for one in decided}
            left = [one for one in question.calls if (one.agent_id, one.call.id) not in known]
            decided += _decide(person, left)
        return Answer(by=first.by, decisions=tuple(decided))

    def _decides_more(self, question: Question, decided: Sequence[CallDecision]) -> bool:
        """Return whether the next person is about a call of the same pause that is left."""
        if self.next >= len(self.persons):
            return False
        following = self.persons[self.next]
        known = {(one.agent_id, one.call_id) for one in decided}
        left = [one for one in question.calls if (one.agent_id, one.call.id) not in known]
        return following.unanswered is None and any(_is_about(following, one) for one in left)

    def unused(self) -> Sequence[int]:
        """Return the numbers of those who have not answered, and must."""
        if not self.case.must_be_used(*self.path):
            return ()
        return range(self.next, len(self.persons))


def _is_about(person: Person, asked: PendingCall) -> bool:
    return person.call in (None, asked.call.tool, asked.call.id)


def _decide(person: Person, calls: Sequence[PendingCall]) -> list[CallDecision]:
    reason = person.deny if isinstance(person.deny, str) else ""
    arguments = person.edit if person.edit is not None else person.form
    return [
        CallDecision(
            one.call.id,
            _decision(person) or "approve",
            one.agent_id,
            reason,
            person.done or "",
            arguments=arguments,
            remember=person.remember,
        )
        for one in calls
        if _is_about(person, one)
    ]


def _decision(person: Person) -> Decision | None:
    if person.approve or person.edit is not None or person.form is not None:
        return "approve"
    if person.deny:
        return "deny"
    if person.done is not None:
        return "done"
    if person.skip:
        return "skip"
    return "retry" if person.retry else None
