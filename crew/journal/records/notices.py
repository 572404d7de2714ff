"""Notices: messages to channels, such as that a run waits; kept until they are sent."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, Protocol

from crew.journal.call_text import shorten
from crew.journal.events import Event, RunDone, RunFailed, RunResumed
from crew.journal.records.rows import Notice, NoticeKind, RunRow
from crew.journal.records.spent.budgets import PotKey

# of a run's texts in a notice, in characters
MAX_QUERY = 500
MAX_TEXT = 4000


# a run's notices of an event with this number, which changes its row
MakeNotices = Callable[[Event, RunRow, int, str], Sequence[Notice]]


Outcome = Literal["sent", "failed", "given_up"]


@dataclass(frozen=True, slots=True)
class ChannelNews:
    """What came of a try to send a notice."""

    channel: str
    # RFC 3339, UTC
    at: str
    outcome: Outcome
    # why it was not sent
    error: str = ""


@dataclass(frozen=True, slots=True)
class ChannelState:
    """What came of the notices of a channel, in all. Times are RFC 3339, UTC; "": never."""

    sent: int = 0
    sent_at: str = ""
    given_up: int = 0
    given_up_at: str = ""
    # of the newest try that failed, and why
    failed_at: str = ""
    error: str = ""
    # notices that are not sent yet, and when the oldest of them was made
    waiting: int = 0
    waiting_since: str = ""

    def after(self, news: ChannelNews) -> "ChannelState":
        """Return it after a try."""
        if news.outcome == "sent":
            return replace(self, sent=self.sent + 1, sent_at=max(self.sent_at, news.at))
        failed = replace(self, failed_at=max(self.failed_at, news.at), error=news.error)
        if news.outcome == "failed":
            return failed
        at = max(self.given_up_at, news.at)
        return replace(failed, given_up=self.given_up + 1, given_up_at=at)


class Outbox(Protocol):
    """Keeps notices until they are sent; a run's are written with its events.

    Methods raise StoreError.
    """

    async def add(self, notices: Sequence[Notice]) -> None:
        """Keep some that belong to no run; one with an id that is there already stays as it is."""
        ...

    async def take(
        self, channel: str, now: str, until: str, limit: int
    ) -> list[tuple[Notice, int]]:
        """Take due notices, earliest first, each with how often it was taken, this time too.

        They are due again at `until`, unless they are finished or postponed before.
        """
        ...

    async def postpone(self, notice_id: str, until: str, news: ChannelNews) -> None:
        """Let one be due at a later time."""
        ...

    async def finish(self, notice_id: str, news: ChannelNews) -> None:
        """Forget one: it is sent, or given up."""
        ...

    async def channels(self) -> dict[str, ChannelState]:
        """Return what came of the notices of each channel that has had any."""
        ...

    async def purge(self, before: str) -> int:
        """Delete those that were made before a time; how many there were."""
        ...


def make_no_notices(event: Event, row: RunRow, seq: int, at: str) -> Sequence[Notice]:
    """Return no notices."""
    return ()


def notices_of(
    channels: Mapping[str, Sequence[NoticeKind]], event: Event, row: RunRow, seq: int, at: str
) -> Sequence[Notice]:
    """Return the notices of an event.

    Args:
        channels: the kinds of notices that each of them wants.
        event: that changes the run's row.
        row: as it is then.
        seq: the event's number.
        at: the event's time.
    """
    if (kind := _kind_of(event, row)) is None:
        return ()
    said = event.answer.text if isinstance(event, RunResumed) else row.answer or ""
    text = "\n\n".join(part for part in (said, row.asks) if part)
    return [
        Notice(
            f"{row.run_id}:{seq}:{name}",
            name,
            kind,
            at,
            row.crew,
            row.run_id,
            seq,
            row.status,
            row.reason,
            row.agent_id,
            row.query[:MAX_QUERY],
            shorten(text, MAX_TEXT),
            row.paused_until,
        )
        for name, wanted in channels.items()
        if kind in wanted
    ]


def plain_notices(
    channels: Mapping[str, Sequence[NoticeKind]],
    kind: NoticeKind,
    crew: str,
    key: str,
    at: str,
    text: str,
    query: str = "",
) -> Sequence[Notice]:
    """Return the notices of what belongs to no run.

    Args:
        channels: the kinds of notices that each of them wants.
        kind: of these.
        crew: the name of the crew.
        key: the same for what is sent once.
        at: when it was, RFC 3339.
        text: what it is.
        query: of a run that was not started.
    """
    return [
        Notice(
            f"{key}:{channel}",
            channel,
            kind,
            at,
            crew,
            "",
            0,
            None,
            None,
            None,
            query[:MAX_QUERY],
            shorten(text, MAX_TEXT),
        )
        for channel, wanted in channels.items()
        if kind in wanted
    ]


def budget_notices(
    channels: Sequence[str],
    row: RunRow,
    key: PotKey,
    part: int,
    at: str,
    text: str,
    *,
    is_begun: bool = True,
) -> Sequence[Notice]:
    """Return the notices of a pot of which a part is used.

    Args:
        channels: that get them.
        row: of the run that has used it.
        key: of the pot.
        part: of its limit, in thousandths.
        at: when.
        text: what is used.
        is_begun: that there is such a run; else it was refused.
    """
    return [
        Notice(
            f"budget:{key.budget}:{key.value}:{key.period}:{part}:{channel}",
            channel,
            "budget",
            at,
            row.crew,
            row.run_id if is_begun else "",
            0,
            row.status if is_begun else None,
            row.reason,
            row.agent_id,
            row.query[:MAX_QUERY],
            shorten(text, MAX_TEXT),
        )
        for channel in channels
    ]


def _kind_of(event: Event, row: RunRow) -> NoticeKind | None:
    match event:
        case RunDone() if row.status == "paused":
            return "pause"
        case RunFailed() if row.status == "failed":
            return "failed"
        case RunDone() | RunFailed():
            return "done"
        case RunResumed(expired=True):
            return "deadline"
        case _:
            return None
