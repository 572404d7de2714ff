"""What the start and the end of a run change in its conversation.

Pure: each store makes the changes in the transaction of the run's own write, with the conversation
locked.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Literal

from crew.journal.records.conversations import (
    Chore,
    ChoreKind,
    Conversation,
    Exchange,
    Summary,
    TitledBy,
)
from crew.journal.records.remembered.core import CoreFill
from tools.clock import rfc3339

# runs that may wait for the one that is at work
MAX_WAITING = 10


@dataclass(frozen=True, slots=True)
class ExchangeStart:
    """A run is to be the next exchange of a conversation."""

    owner: str
    conversation_id: str
    run_id: str
    # that the run will have; its first event says so
    number: int
    at: str
    # the conversation's title, if it is new
    title: str
    max_exchanges: int
    # the run may wait for the one that is at work
    may_wait: bool = False
    # the run has failed, or is a copy of another exchange, and goes on as the same exchange
    again: bool = False


@dataclass(frozen=True, slots=True)
class ChoreRules:
    """When a run's end makes chores necessary; 0: never."""

    # with this exchange a helper names the conversation
    title_after: int = 0
    # with so many shown exchanges that are in no summary
    unsummarised: int = 0
    # so long after it something is learned; None: never
    learn_seconds: float | None = None


@dataclass(frozen=True, slots=True)
class ExchangeEnd:
    """A run of a conversation has ended."""

    owner: str
    conversation_id: str
    exchange: Exchange
    # it has an answer that models are shown
    is_shown: bool
    rules: ChoreRules
    # what comes to blocks of core memory
    core: tuple[CoreFill, ...] = ()


@dataclass(frozen=True, slots=True)
class Refused:
    """Nothing was written: the conversation does not take the run."""

    # busy: another run is at work; waiting: too many wait for it; full: it has as many exchanges as
    # it may; moved: the run's number is another one's by now
    reason: Literal["busy", "waiting", "full", "moved"]
    # the run that is at work
    run_id: str | None = None


@dataclass(frozen=True, slots=True)
class Began:
    """The conversation as a start leaves it; `waits`: for the run that is at work."""

    conversation: Conversation
    waits: bool


def begin(known: Conversation | None, start: ExchangeStart, waiting: int) -> Began | Refused:
    """Return what a run's start changes.

    Args:
        known: the conversation; None for one that is new.
        start: of the run.
        waiting: how many runs wait already.
    """
    now = known or Conversation(start.owner, start.conversation_id, start.at, start.at, start.title)
    if now.busy is not None and not start.may_wait:
        return Refused("busy", now.busy)
    if start.again and now.busy is not None:
        return Refused("busy", now.busy)
    if not start.again and now.started >= start.max_exchanges:
        return Refused("full")
    if now.busy is not None and waiting >= MAX_WAITING:
        return Refused("waiting", now.busy)
    # a copy of another exchange is stored before it begins
    if start.number != now.started + 1 and not (start.again and start.number == now.started):
        return Refused("moved", now.run_id)
    changed = replace(
        now,
        title=now.title or start.title,
        used_at=max(now.used_at, start.at),
        started=start.number,
        run_id=start.run_id,
        status="running",
        busy=now.busy or start.run_id,
    )
    return Began(changed, waits=now.busy is not None)


@dataclass(frozen=True, slots=True)
class Ended:
    """What a run's end leaves: the conversation, its exchange as it is kept, and chores."""

    conversation: Conversation
    exchange: Exchange
    chores: tuple[Chore, ...]


def end(
    known: Conversation, ended: ExchangeEnd, earlier: Exchange | None, next_run: str | None
) -> Ended:
    """Return what a run's end changes.

    Args:
        known: the conversation.
        ended: of the run.
        earlier: the same exchange, as it ended before the run was retried.
        next_run: the run that waited longest.
    """
    given = ended.exchange
    position = None
    if ended.is_shown:
        position = known.shown + 1
    exchange = replace(given, position=position)
    changed = replace(
        known,
        used_at=max(known.used_at, given.ended_at),
        exchanges=known.exchanges + (earlier is None),
        shown=known.shown + (position is not None),
        status=given.status if known.run_id == given.run_id else known.status,
        busy=next_run if known.busy == given.run_id else known.busy,
    )
    return Ended(changed, exchange, tuple(_chores(changed, ended.rules, given.ended_at)))


def _chores(conversation: Conversation, rules: ChoreRules, now: str) -> Sequence[Chore]:
    kinds: list[ChoreKind] = []
    is_named = conversation.titled_by != "query"
    if rules.title_after and conversation.shown >= rules.title_after and not is_named:
        kinds.append("title")
    left = conversation.shown - conversation.summarised
    if rules.unsummarised and left >= rules.unsummarised:
        kinds.append("summary")
    owner, key = conversation.owner, conversation.conversation_id
    chores = [Chore(kind, owner, key, now) for kind in kinds]
    if rules.learn_seconds is not None:
        due = datetime.fromisoformat(now) + timedelta(seconds=rules.learn_seconds)
        chores.append(Chore("learn", owner, key, rfc3339(due)))
    return chores


def copy_of(
    known: Conversation,
    copy: Conversation,
    exchanges: Sequence[Exchange],
    summary: Summary | None,
) -> tuple[Conversation, Summary | None]:
    """Copy a copy of a conversation with some of its exchanges, and its summary of those.

    Args:
        known: the conversation.
        copy: has the id and the times of the new one.
        exchanges: those that are copied: its first ones.
        summary: the newest that covers no more than these.
    """
    last = exchanges[-1] if exchanges else None
    made = replace(
        copy,
        title=known.title,
        titled_by=known.titled_by,
        metadata=known.metadata,
        started=last.number if last else 0,
        exchanges=len(exchanges),
        shown=sum(one.position is not None for one in exchanges),
        summarised=summary.through if summary else 0,
        learned=min(known.learned, last.number) if last else 0,
        summary_version=1 if summary else 0,
        run_id=last.run_id if last else None,
        status=last.status if last else None,
    )
    return made, replace(summary, version=1) if summary else None


def titled(
    known: Conversation, title: str, by: TitledBy, created_at: str | None
) -> Conversation | None:
    """Return a conversation with another title.

    None where it does not count: a person's stays, and another one may have the id by now.
    """
    if created_at not in (None, known.created_at):
        return None
    if by != "person" and known.titled_by == "person":
        return None
    return replace(known, title=title, titled_by=by)


def summarised(known: Conversation, summary: Summary, created_at: str) -> Conversation | None:
    """Return a conversation with its next summary.

    None where it is not the next, or of another one.
    """
    is_next = known.summary_version + 1 == summary.version
    if not is_next or created_at != known.created_at or summary.through > known.shown:
        return None
    return replace(known, summary_version=summary.version, summarised=summary.through)


def is_used(known: Conversation, unused_since: str | None) -> bool:
    """Return whether a conversation has been used since a time, if there is one."""
    return unused_since is not None and known.used_at >= unused_since
