"""Sends what the store's outbox has, and tries again; never in the way of a run."""

import asyncio
import contextlib
import logging
from collections import Counter
from collections.abc import Callable
from datetime import datetime, timedelta

from crew.config.keys.notify import ChannelConfig
from crew.journal.errors import StoreError
from crew.journal.records.notices import ChannelNews, Outcome
from crew.journal.records.rows import Notice
from crew.runs.runs import Runs
from server.notices.delivery import Delivery, NotDelivered, delivery
from server.notices.messages import place_of
from tools.clock import rfc3339
from tools.limits.retry import backoff_seconds

log = logging.getLogger(__name__)

ROUND_SECONDS = 1.0
# messages to one channel at the same time: one that hangs delays no other
AT_ONCE = 4
# no other process takes a notice meanwhile: longer than a try
LEASE_SECONDS = 60.0
# after the first try that failed, then twice as long each time
RETRY_SECONDS = 5.0
MAX_RETRY_SECONDS = 900.0
GIVE_UP_HOURS = 24.0

# of a channel, what came of a try: sent, failed, given_up
Count = Callable[[str, str], None]


class NoticeSender:
    """Of one process; several share the work."""

    def __init__(self, runs: Runs, public_url: str | None, count: Count) -> None:
        """Send what is due, of the channels that the crew has now.

        Args:
            runs: with the crew and the store.
            public_url: of the server, for links; None: without links.
            count: gets the outcome of each try.
        """
        self.runs, self.public_url, self.count = runs, public_url, count
        self._at_work: Counter[str] = Counter()
        self._tasks: set[asyncio.Task[None]] = set()

    async def run(self) -> None:
        """Do one round after the other, until this is cancelled."""
        clock = self.runs.crew.clock
        async with delivery(clock, self.public_url) as channels:
            try:
                while True:
                    # maintenance tells of a store that fails
                    with contextlib.suppress(StoreError):
                        await self._round(channels)
                    await clock.sleep(ROUND_SECONDS)
            finally:
                for task in self._tasks:
                    task.cancel()
                await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _round(self, channels: Delivery) -> None:
        store = self.runs.store
        for name, channel in self.runs.crew.config.notify.items():
            free = AT_ONCE - self._at_work[name]
            if free == 0:
                continue
            now = store.now()
            lease = rfc3339(now + timedelta(seconds=LEASE_SECONDS))
            for notice, tries in await store.outbox.take(name, rfc3339(now), lease, free):
                self._at_work[name] += 1
                task = asyncio.create_task(self._tell(channels, channel, notice, tries))
                self._tasks.add(task)
                task.add_done_callback(self._tasks.discard)

    async def _tell(
        self, channels: Delivery, channel: ChannelConfig, notice: Notice, tries: int
    ) -> None:
        outbox = self.runs.store.outbox
        try:
            await channels.deliver(channel, notice)
            self.count(notice.channel, "sent")
            await outbox.finish(notice.id, self._news(notice, "sent"))
        except NotDelivered as error:
            with contextlib.suppress(StoreError):
                await self._try_again(channel, notice, tries, error)
        except StoreError:
            # it is sent again after its lease, under the same key
            log.warning("a notice that was sent stays in the outbox: %s", notice.id)
        except Exception as error:
            log.exception("notice %s could not be sent", notice.id)
            with contextlib.suppress(StoreError):
                failed = NotDelivered(f"unexpected {type(error).__name__}")
                await self._try_again(channel, notice, tries, failed)
        finally:
            self._at_work[notice.channel] -= 1

    async def _try_again(
        self, channel: ChannelConfig, notice: Notice, tries: int, error: NotDelivered
    ) -> None:
        store = self.runs.store
        what = f"run {notice.run_id}" if notice.run_id else f"{notice.kind} ({notice.id})"
        said = (notice.channel, place_of(channel), what)
        wait = backoff_seconds(tries - 1, RETRY_SECONDS, MAX_RETRY_SECONDS)
        due = store.now() + timedelta(seconds=wait)
        if due - datetime.fromisoformat(notice.at) > timedelta(hours=GIVE_UP_HOURS):
            self.count(notice.channel, "given_up")
            text = "notify %s (%s) is not told of %s, given up after %g hours: %s"
            log.error(text, *said, GIVE_UP_HOURS, error, extra={"run_id": notice.run_id})
            await store.outbox.finish(notice.id, self._news(notice, "given_up", error))
            return
        self.count(notice.channel, "failed")
        if tries == 1:
            text = "notify %s (%s) is not told of %s yet: %s"
            log.warning(text, *said, error, extra={"run_id": notice.run_id})
        await store.outbox.postpone(notice.id, rfc3339(due), self._news(notice, "failed", error))

    def _news(
        self, notice: Notice, outcome: Outcome, error: NotDelivered | None = None
    ) -> ChannelNews:
        """Return what came of a try, for the store."""
        now = rfc3339(self.runs.store.now())
        return ChannelNews(notice.channel, now, outcome, str(error) if error else "")
