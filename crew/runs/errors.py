"""What can go wrong with a request about a run.

CrewError
├── UnknownRun       there is no run of this id
├── UnknownAgent     the crew has no agent of this id
├── UnknownModel     a query cannot name this model
├── NotPaused        the run does not wait for an answer, or another answer came first
├── AnsweredTooLate  the pause was over before the answer came; the run has gone on without it
├── NotRetryable     the run has not failed, or its events are no longer kept
├── NotForkable      the run has no such event, or had ended there
├── ChangedCall      a decision is on another call than the one in the question
├── WrongDecision    the decision does not fit what the pause asks
├── AlreadyStarted   a request with the same idempotency key has started something; `record` has it
├── KeyReused        a request with the same idempotency key was for something else
├── MayHaveBegun     whether a segment has begun is not known
├── TooMuchStored    the events of an owner's runs take as much as they may
├── TooManyWait      as many runs wait as may, of this owner or of all
├── BudgetSpent      a budget that blocks has nothing left for the run; `resets_at` says when
├── MayNotSpend      who answers may not raise budgets
├── RunEnded         the run has ended already
├── NoConversations  the crew keeps no conversations
├── UnknownConversation  there is none of this id, of this user
├── ConversationBusy another run of the conversation is at work; `run_id` is its id
├── ConversationAsks the conversation's run waits for a decision on calls
├── ConversationFull it has as many exchanges as it may
├── ConversationMoved  another run was given this run's number; it is tried again
├── UnknownBlock     the crew has no such block of core memory, or it needs a user
├── BlockRefused     people may not change the block, or it does not take the value
├── UnknownItem      nothing is remembered of this id, or of this user
├── ItemRefused      it may not be remembered
├── RecallFull       there is no room for it
├── UnknownDocument  there is no such document, or no such collection of this user
├── DocumentRefused  it may not be kept: `reason` says why
├── AttachmentRefused it cannot go with a query or an answer
├── StaleVersion     another change came first; `version` is the present one
├── TooManyQueued    as many runs wait for the one at work as may
└── Draining         this process takes no new runs
"""

from typing import Literal

from crew.errors import CrewError
from crew.journal.query import IdempotencyKey
from crew.journal.records.exchanges import MAX_WAITING, ExchangeStart, Refused
from crew.journal.records.rows import IdempotencyRecord
from crew.runs.run import Run


class UnknownRun(CrewError):
    """There is no such run."""

    def __init__(self, run_id: str) -> None:
        super().__init__(f"there is no run {run_id}")


class UnknownSchedule(CrewError):
    """There is no such schedule."""

    def __init__(self, name: str) -> None:
        super().__init__(f"there is no schedule {name[:80]!r}; crew.yaml has them under schedules")


class ScheduleBusy(CrewError):
    """The last run of a schedule has not ended."""

    def __init__(self, name: str, run_id: str) -> None:
        super().__init__(f"run {run_id} of schedule {name} has not ended; wait for it, or end it")
        self.run_id = run_id


class UnknownAgent(CrewError):
    """There is no such agent."""


class UnknownModel(CrewError):
    """A query names a model that is none of `settings.client_models`."""


class NotPaused(CrewError):
    """The run is not paused."""


class AnsweredTooLate(NotPaused):
    """The pause was over before the answer came; the run has gone on without it."""

    def __init__(self, run: Run, until: str) -> None:
        """Say so.

        Args:
            run: the segment that has begun without the answer.
            until: when the pause was over, RFC 3339.
        """
        super().__init__(
            f"the answer came too late: run {run.id} waited until {until}, "
            "and has gone on without it"
        )
        self.run = run


class NotRetryable(CrewError):
    """The run cannot be retried."""


class NotForkable(CrewError):
    """The run cannot be forked from that event, or the conversation from that exchange."""


class ChangedCall(CrewError):
    """A decision names the hash of another call; the run stays paused."""


class WrongDecision(CrewError):
    """The decision does not fit what the pause asks; the run stays paused."""


class AlreadyStarted(CrewError):
    """A request with this idempotency key has started a segment of a run already."""

    def __init__(self, record: IdempotencyRecord) -> None:
        super().__init__(f"a request with this key has started run {record.run_id}")
        self.record = record


class KeyReused(CrewError):
    """The idempotency key, or the ticket, was used for another request."""

    def __init__(self) -> None:
        super().__init__(
            "this key (or this ticket) was used for another request; give each its own"
        )


def key_taken(key: IdempotencyKey, record: IdempotencyRecord) -> AlreadyStarted | KeyReused:
    """Return why a request with a key that has started something starts nothing."""
    if record.fingerprint != key.fingerprint:
        return KeyReused()
    return AlreadyStarted(record)


class MayHaveBegun(CrewError):
    """The database was lost before it said whether the first event of a segment is stored."""

    def __init__(self) -> None:
        super().__init__(
            "the database was lost while this was stored, so it may have begun: look at the runs "
            "before you ask again; with an Idempotency-Key the same request begins once"
        )


class TooManyWait(CrewError):
    """As many runs wait as may."""

    def __init__(self, most: int, *, of_all: bool = False) -> None:
        """`of_all`: of all owners together, not of one."""
        setting = "max_waiting_runs" if of_all else "max_waiting_runs_per_owner"
        super().__init__(f"{most:,} runs wait already (settings.{setting}); try again later")
        self.of_all = of_all


class TooMuchStored(CrewError):
    """The events of an owner's runs take as much as they may."""

    def __init__(self, most_mb: float) -> None:
        super().__init__(
            f"the runs of this owner take more than {most_mb:g} MB "
            "(settings.max_stored_mb_per_owner); old ones are deleted in time"
        )


class NoConversations(CrewError):
    """The crew's runs are in no conversations."""

    def __init__(self) -> None:
        super().__init__(
            "this crew keeps no conversations: write `conversations: {}` into crew.yaml"
        )


class UnknownConversation(CrewError):
    """There is no such conversation of this user."""

    def __init__(self, conversation_id: str) -> None:
        super().__init__(f"there is no conversation {conversation_id}")


class ConversationBusy(CrewError):
    """Another run of the conversation has not ended."""

    def __init__(self, run_id: str | None, remedy: str = "ask when it has") -> None:
        busy = f"run {run_id}" if run_id is not None else "another run"
        super().__init__(f"{busy} of this conversation has not ended; {remedy}")
        self.run_id = run_id


class ConversationAsks(CrewError):
    """The conversation's run waits for a decision on calls, which words cannot give."""

    def __init__(self, run_id: str, asks: str) -> None:
        super().__init__(f"run {run_id} of this conversation waits for a decision: {asks}")
        self.run_id, self.asks = run_id, asks


class ConversationFull(CrewError):
    """The conversation has as many exchanges as it may."""

    def __init__(self, most: int) -> None:
        super().__init__(
            f"this conversation has {most:,} exchanges (conversations.max_exchanges); "
            "begin another one"
        )


class TooManyQueued(CrewError):
    """As many runs wait for the conversation's turn as may."""

    def __init__(self, run_id: str | None) -> None:
        super().__init__(f"{MAX_WAITING} runs wait for run {run_id} of this conversation already")
        self.run_id = run_id


class UnknownDocument(CrewError):
    """There is no such document or collection, or a user has none."""


class DocumentRefused(CrewError):
    """A document may not be kept."""

    def __init__(
        self, reason: Literal["large", "full", "kind", "name", "folder"], why: str
    ) -> None:
        """Say so.

        Args:
            reason: of its size, their number, what it is, its name; or it is a file of the crew's.
            why: as people are shown it.
        """
        super().__init__(why)
        self.reason = reason


class AttachmentRefused(CrewError):
    """Something cannot go with a query or an answer."""

    def __init__(self, place: int, why: str) -> None:
        """Say so.

        Args:
            place: among those that are given, from 0 on.
            why: as people are shown it.
        """
        super().__init__(f"attachments[{place}]: {why}")
        self.place, self.why = place, why


class ConversationMoved(CrewError):
    """Another run was given this run's number in the conversation."""


def conversation_refusal(refused: Refused, start: ExchangeStart) -> CrewError:
    """Return why a conversation does not take a run."""
    match refused.reason:
        case "busy":
            return ConversationBusy(refused.run_id)
        case "waiting":
            return TooManyQueued(refused.run_id)
        case "full":
            return ConversationFull(start.max_exchanges)
        case "moved" if start.again:
            return NotRetryable(
                f"run {start.run_id} is not the newest of its conversation any more"
            )
        case _:
            return ConversationMoved("another run of the conversation was first")


class UnknownBlock(CrewError):
    """There is no such block of core memory."""


class BlockRefused(CrewError):
    """A block of core memory is not changed by people, or does not take the value."""

    def __init__(self, text: str, *, is_readonly: bool = False) -> None:
        super().__init__(text)
        self.is_readonly = is_readonly


class UnknownItem(CrewError):
    """There is no such item of recall memory, or the crew has none."""


class ItemRefused(CrewError):
    """An item may not be remembered."""


class RecallFull(CrewError):
    """An item is not remembered: there are as many as there may be, and all count for more."""


class StaleVersion(CrewError):
    """A block of core memory has another version than the one that was to be changed."""

    def __init__(self, block: str, version: int) -> None:
        super().__init__(f"the version of {block} is {version} now: read it, and change that one")
        self.version = version


class BudgetSpent(CrewError):
    """A budget that blocks has nothing left, so that a run would fail at once."""

    def __init__(self, text: str, resets_at: str) -> None:
        """Say so; `resets_at`: when there is room again, as RFC 3339; "": never."""
        super().__init__(text)
        self.resets_at = resets_at


class MayNotSpend(CrewError):
    """A budget is raised only by who may: over HTTP with the scope `admin`."""

    def __init__(self) -> None:
        super().__init__("this token may not raise a budget: it needs the scope 'admin'")


class RunEnded(CrewError):
    """The run has ended."""


class Draining(CrewError):
    """This process is shutting down and takes no new runs."""

    def __init__(self) -> None:
        super().__init__("this process is shutting down")
