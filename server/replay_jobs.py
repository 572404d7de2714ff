"""Replays of many runs, in a process beside the server: one job at a time."""

import asyncio
import contextlib
import json
import logging
import secrets
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from server.gate import our_process
from tools.clock import SYSTEM_CLOCK, rfc3339
from tools.text.texts import map_texts

# of ended jobs
MAX_JOBS = 20
log = logging.getLogger(__name__)

JobStatus = Literal["running", "done", "failed", "stopped"]


class JobGoesOn(Exception):
    """Another job is not over yet."""

    def __init__(self, job_id: str) -> None:
        super().__init__(f"the replays {job_id} still go on")
        self.job_id = job_id


@dataclass(slots=True)
class ReplayJob:
    """Stored runs that are played again."""

    id: str
    started_at: str
    status: JobStatus = "running"
    # as `crew replay --json` prints them
    replays: list[dict[str, Any]] = field(default_factory=list)
    summary: dict[str, Any] | None = None
    # why it has failed, or was stopped
    why: str = ""
    # set when there is something new; then another one takes its place
    changed: asyncio.Event = field(default_factory=asyncio.Event)

    def document(self) -> dict[str, Any]:
        """Return how far it is, as programs get it."""
        return {
            "id": self.id,
            "status": self.status,
            "started_at": self.started_at,
            "replayed": len(self.replays),
            "summary": self.summary,
            "why": self.why,
        }

    def announce(self) -> None:
        """Wake those who wait for something new."""
        self.changed.set()
        self.changed = asyncio.Event()


@dataclass(slots=True)
class ReplayJobs:
    """The jobs of a server; it keeps the newest ones."""

    # called with the verdict of each replay
    count: Callable[[str], None]
    # by their ids, the newest last
    known: dict[str, ReplayJob] = field(default_factory=dict)
    _task: asyncio.Task[None] | None = None

    @property
    def newest(self) -> ReplayJob | None:
        """The newest job; None before any."""
        return next(reversed(self.known.values()), None)

    def start(
        self, folder: Path, options: Sequence[str], seconds: float, mask: Callable[[str], str]
    ) -> ReplayJob:
        """Begin to play stored runs.

        Args:
            folder: the crew's.
            options: of `crew replay`, which say what is played, and on which files.
            seconds: it is stopped then.
            mask: takes secrets out of a text.

        Raises:
            JobGoesOn: there is one already.
        """
        newest = self.newest
        if newest is not None and newest.status == "running":
            raise JobGoesOn(newest.id)
        job = ReplayJob(secrets.token_hex(8), rfc3339(SYSTEM_CLOCK.now()))
        words = ("replay", str(folder), *options, "--json")
        self.known[job.id] = job
        while len(self.known) > MAX_JOBS:
            del self.known[next(iter(self.known))]
        self._task = asyncio.create_task(self._run(job, words, seconds, mask))
        return job

    async def stop_at_end(self) -> None:
        """Stop the job when this is cancelled."""
        try:
            await asyncio.get_running_loop().create_future()
        finally:
            if self._task is not None:
                self._task.cancel()
                with contextlib.suppress(asyncio.CancelledError):
                    await self._task

    async def _run(
        self, job: ReplayJob, words: Sequence[str], seconds: float, mask: Callable[[str], str]
    ) -> None:
        job.why = "the server has ended"
        status: JobStatus = "stopped"
        try:
            async with asyncio.timeout(seconds), our_process(words) as process:
                assert process.stdout is not None, "it is a pipe"
                async for line in process.stdout:
                    self._read(job, map_texts(json.loads(line), mask))
                code = await process.wait()
            if job.summary is not None:
                status, job.why = "done", ""
            else:
                status, job.why = "failed", f"crew replay has ended with {code}"
        except TimeoutError:
            job.why = f"it took longer than replay.seconds = {seconds:g}"
        except (OSError, ValueError, KeyError) as error:
            status, job.why = "failed", "what crew replay has printed cannot be read"
            log.warning("replays %s: %s", job.id, error)
        finally:
            job.status = status
            job.announce()

    def _read(self, job: ReplayJob, document: dict[str, Any]) -> None:
        if "summary" in document:
            job.summary = document["summary"]
        else:
            job.replays.append(document)
            self.count(document["verdict"])
        job.announce()
