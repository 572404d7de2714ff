"""Backups of a database file: named by their time, the newest kept; a server makes them, too."""

import asyncio
import contextlib
import importlib.metadata
import logging
import re
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from crew.backends.sqlite.backup import Backup, back_up
from crew.journal.errors import StoreError
from crew.journal.records.notices import plain_notices
from crew.runs.runs import Runs
from tools.clock import rfc3339
from tools.limits.retry import backoff_seconds

log = logging.getLogger(__name__)

NAME = re.compile(r"crew-([0-9]{8}T[0-9]{6}Z)\.db")
TIME = "%Y%m%dT%H%M%SZ"
# while it is written; of a process that was killed it stays
PART = re.compile(rf"{NAME.pattern}\.part.*")
PART_SECONDS = 3600.0
# between two looks whether one is due
LOOK_SECONDS = 60.0
# between two tries of one that fails
MAX_WAIT_SECONDS = 3600.0


@dataclass(frozen=True, slots=True)
class BackupPlan:
    """Where a server makes backups, and how often."""

    folder: Path
    hours: float = 24.0
    # so many of the newest stay
    keep: int = 7


def backup_name(now: datetime) -> str:
    """Return the name of a backup that is made now."""
    return f"crew-{now:{TIME}}.db"


def make_backup(source: Path, target: Path, now: datetime) -> Backup:
    """Copy a database to a file, and check it; raises StoreError."""
    return back_up(source, target, rfc3339(now), importlib.metadata.version("crewline"))


def forget_backups(folder: Path, keep: int, now: datetime) -> list[Path]:
    """Delete all but the newest backups of a folder, by their names; returns those.

    One that is dated later than now is neither: a clock was wrong.
    """
    known = sorted(one for one, at in _backups_in(folder) if at <= now)
    gone = known[:-keep]
    for one in gone:
        one.unlink()
    # of processes that were killed; what is newer may still be written
    parts = [one for one in folder.iterdir() if PART.fullmatch(one.name)]
    for one in parts:
        if time.time() - one.stat().st_mtime > PART_SECONDS:
            one.unlink(missing_ok=True)
    return gone


def newest_backup(folder: Path, now: datetime) -> datetime | None:
    """Return when the newest backup of a folder was made; None: there is none.

    One that is dated later than now says nothing: a clock was wrong.
    """
    if not folder.is_dir():
        return None
    return max((at for _, at in _backups_in(folder) if at <= now), default=None)


def _backups_in(folder: Path) -> Iterator[tuple[Path, datetime]]:
    """Yield the backups of a folder, each with its time."""
    for one in folder.iterdir():
        if (match := NAME.fullmatch(one.name)) is not None:
            # a name that is no time is another's
            with contextlib.suppress(ValueError):
                yield one, datetime.strptime(match[1], TIME).replace(tzinfo=UTC)


class Backups:
    """Makes the backups of a server that are due, also after a restart."""

    def __init__(
        self, runs: Runs, source: Path, plan: BackupPlan, done: Callable[[float], None]
    ) -> None:
        """Make none yet.

        Args:
            runs: with the crew and the store.
            source: the database.
            plan: where to, and how often.
            done: gets the time of each that was made, in seconds since 1970.
        """
        self.runs, self.source, self.plan, self.done = runs, source, plan, done

    async def run(self) -> None:
        """Make one after the other, until this is cancelled."""
        failed = 0
        while True:
            now = self.runs.store.now()
            try:
                await self._make_due(now)
                failed = 0
            except (OSError, StoreError) as error:
                why = error.strerror if isinstance(error, OSError) else str(error)
                log.error("the backup into %s has failed: %s", self.plan.folder, why)
                await self._tell(now, f"the backup into {self.plan.folder} has failed: {why}")
                failed += 1
            # each try copies the whole database
            wait = backoff_seconds(failed, LOOK_SECONDS, MAX_WAIT_SECONDS)
            await self.runs.crew.clock.sleep(wait)

    async def _make_due(self, now: datetime) -> None:
        folder = self.plan.folder
        newest = await asyncio.to_thread(newest_backup, folder, now)
        if newest is not None:
            self.done(newest.timestamp())
            if (now - newest).total_seconds() < self.plan.hours * 3600:
                return
        await asyncio.to_thread(folder.mkdir, mode=0o700, parents=True, exist_ok=True)
        target = folder / backup_name(now)
        made = await asyncio.to_thread(make_backup, self.source, target, now)
        self.done(now.timestamp())
        text = "backup %s: %d runs, %d bytes, sha256 %s"
        log.info(text, made.path, made.runs, made.size_bytes, made.sha256)
        await asyncio.to_thread(forget_backups, folder, self.plan.keep, now)

    async def _tell(self, now: datetime, text: str) -> None:
        crew, at = self.runs.crew, rfc3339(now)
        # once a day
        key = f"backup:{at[:10]}"
        notices = plain_notices(crew.config.told, "storage", crew.name, key, at, text)
        with contextlib.suppress(StoreError):
            await self.runs.store.outbox.add(notices)
