"""Plays the runs of the queue: takes jobs, does them, sends heartbeats, and takes over from others.

Procrastinate's own Worker ends when its connection breaks, and sends no heartbeat while it drains
(see docs, project, decisions); so the loop around its job manager is ours: it outlives restarts of
the database, and runs go on meanwhile.
"""

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any

from procrastinate.exceptions import ConnectorException
from procrastinate.jobs import Job, Status

from crew.backends.postgres.jobs.connector import UnregisteredWorker
from crew.backends.postgres.jobs.heartbeat import Heartbeat
from crew.backends.postgres.jobs.queue import TIMEOUT_SECONDS, Fetched, JobQueue
from crew.backends.postgres.jobs.queue_statements import STALLED_SECONDS, TASK
from crew.journal.errors import StoreError
from crew.journal.records.rows import Opened
from tools.clock import Clock, Timer

log = logging.getLogger(__name__)

# how often a heartbeat is sent, and how often those of others are looked at
HEARTBEAT_SECONDS = 1.0
CHECK_SECONDS = 1.0
# how often runs are looked for that have no job
SEARCH_SECONDS = 5.0
# how often a free worker looks for a job without a notice, and the time between failing tries
POLL_SECONDS = 0.5
# how long an ended job waits for the next fetch, which ends it in the same trip to the server
LINGER_SECONDS = 0.02
RETRY_SECONDS = 0.5
# until a run is tried again whose job failed by a mistake of the runtime
BROKEN_SECONDS = 10.0
# registrations of workers that stopped so long ago are deleted
FORGET_SECONDS = 7 * 86_400.0


class Worker:
    """Takes jobs from the queue and does them, up to a number at the same time."""

    def __init__(
        self,
        queue: JobQueue,
        advance: Callable[[str, int, Opened | None], Awaitable[None]],
        takes_jobs: Callable[[], bool],
        at_once: int,
        heartbeat: Heartbeat,
        clock: Clock,
    ) -> None:
        """Connect when run.

        Args:
            queue: where jobs wait.
            advance: gets a run_id, an epoch and, if that is known, all that is stored of the run;
                handles its own errors.
            takes_jobs: whether jobs may still be taken.
            at_once: at most so many jobs at the same time.
            heartbeat: sends the worker's heartbeats while its process is held up.
            clock: of heartbeats and waits.
        """
        self.queue, self.advance, self.takes_jobs = queue, advance, takes_jobs
        self.at_once, self.clock = at_once, clock
        self.heartbeat, self.manager = heartbeat, queue.manager
        self.jobs: dict[int, asyncio.Task[None]] = {}
        self._id = 0
        self._failing = False
        # set when a job may have come, or may be taken now
        self._more = asyncio.Event()
        # jobs may wait until one of this worker is done: for a place, or as they are of its run
        self._some_wait = True
        # jobs that have ended and may still be in the queue: the next fetch ends them there, and
        # comes after a while if none does before
        self._ended: set[int] = set()
        self._next_fetch: Timer | None = None
        # held while a job is fetched, or while the jobs of this worker are listed
        self._fetching = asyncio.Lock()

    async def run(self) -> None:
        """Work until this is cancelled; by then nothing may be under way that takes long."""
        self._id = await self._register()
        try:
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(self._send_heartbeats())
                tasks.create_task(self._watch_over())
                tasks.create_task(self._listen())
                tasks.create_task(self._fetch_jobs())
                tasks.create_task(self._check_others())
                tasks.create_task(self._search_runs())
        finally:
            if self.jobs:
                # their runs have been left, and are queued again
                await asyncio.wait(self.jobs.values(), timeout=TIMEOUT_SECONDS)
            await self._end_jobs()
            await self._try(self.queue.withdraw_worker(self._id))
            await self._try(self.manager.unregister_worker(self._id))

    async def _register(self) -> int:
        while True:
            await self._try(self.manager.prune_stalled_workers(FORGET_SECONDS))
            number = await self._try(self.manager.register_worker())
            if number is not None:
                return int(number)
            await self.clock.sleep(RETRY_SECONDS)

    async def _send_heartbeats(self) -> None:
        while True:
            await self._try(self._beat())
            await self.clock.sleep(HEARTBEAT_SECONDS)

    async def _watch_over(self) -> None:
        """Have a process beside this one send heartbeats while this one is held up."""
        # its start takes as much of the machine as this one's, which others may wait for now
        await self.clock.sleep(STALLED_SECONDS)
        while True:
            async with self.heartbeat.running() as process:
                await process.tell(lambda: self._id)
            log.warning("the process beside this worker has ended; it is started again")
            await self.clock.sleep(RETRY_SECONDS)

    async def _beat(self) -> None:
        await self.manager.update_heartbeat(self._id)
        await self.queue.announce_worker(self._id, STALLED_SECONDS)

    async def _listen(self) -> None:
        async def notice(**_: Any) -> None:
            self._more.set()

        while True:
            listening = self.manager.listen_for_jobs(on_notification=notice, queues=None)
            await self._try(listening, within=None)
            await self.clock.sleep(RETRY_SECONDS)

    async def _fetch_jobs(self) -> None:
        while True:
            self._more.clear()
            if await self._fetch_job():
                continue
            with contextlib.suppress(TimeoutError):
                async with self.clock.timeout(POLL_SECONDS):
                    await self._more.wait()

    async def _fetch_job(self) -> bool:
        """Take a job, if there is one; whether there may be another one."""
        self._some_wait = True
        if len(self.jobs) >= self.at_once or not self.takes_jobs():
            await self._end_jobs()
            return False
        async with self._fetching:
            ended = list(self._ended)
            try:
                fetched: Fetched | None = await self._try(self.queue.fetch(self._id, ended))
            except UnregisteredWorker:
                log.warning("this worker's registration is gone; it registers again")
                self._id = await self._register()
                return False
            if fetched is None:
                return False
            self._have_ended(ended)
            self._some_wait = fetched.some_wait
            job = fetched.job
            if job is None or job.id is None:
                return False
            self.jobs[job.id] = asyncio.create_task(self._do(job, fetched.opened))
            return self._some_wait

    async def _do(self, job: Job, opened: Opened | None) -> None:
        assert job.id is not None, "it was fetched"
        run_id, epoch = str(job.task_kwargs["run_id"]), int(str(job.task_kwargs["epoch"]))
        try:
            advancing = self.advance(run_id, epoch, opened)
            # not needed any more, for as long as the run takes
            del opened
            await advancing
        except Exception:
            log.exception("the job of run %s failed; it is tried again", run_id)
            await self.queue.put(run_id, epoch, BROKEN_SECONDS, again=True)
        finally:
            del self.jobs[job.id]
            self._ended.add(job.id)
            if self._some_wait:
                self._more.set()
            self._fetch_later()

    def _fetch_later(self) -> None:
        if self._ended and self._next_fetch is None:
            self._next_fetch = self.clock.call_later(LINGER_SECONDS, self._more.set)

    async def _end_jobs(self) -> None:
        """End the jobs that have ended, without a fetch."""
        async with self._fetching:
            ended = list(self._ended)
            if ended and await self._try(self.queue.end(ended)) is not None:
                self._have_ended(ended)

    def _have_ended(self, ended: list[int]) -> None:
        """Note that these jobs are in the queue no more."""
        self._ended.difference_update(ended)
        if self._next_fetch is not None:
            self._next_fetch.cancel()
            self._next_fetch = None
        self._fetch_later()

    async def _check_others(self) -> None:
        while True:
            await self.clock.sleep(CHECK_SECONDS)
            await self._try(self._end_abandoned_jobs())

    async def _end_abandoned_jobs(self) -> None:
        """End jobs that no worker does any more, and queue their runs again."""
        abandoned = await self._own_abandoned_jobs()
        stalled = await self.manager.get_stalled_jobs(
            task_name=TASK, seconds_since_heartbeat=STALLED_SECONDS
        )
        if stalled and not await self.queue.has_been_there(STALLED_SECONDS):
            # after it was away no heartbeat is fresh
            stalled = []
        for job in stalled:
            if job.id in self.jobs or job.id in self._ended:
                continue
            text = "run %s has lost its worker %s"
            log.warning(text, job.lock, job.worker_id, extra={"run_id": job.lock})
            abandoned.append(job)
        if abandoned:
            await self.queue.end([job.id for job in abandoned if job.id is not None])
            await self._queue_runs_without_job()

    async def _own_abandoned_jobs(self) -> list[Job]:
        """Return jobs of this worker with an answer that was lost, or that could not be ended."""
        async with self._fetching:
            status = Status.DOING.value
            own = await self.manager.list_jobs_async(worker_id=self._id, status=status)
            lost = [job for job in own if job.id not in self.jobs and job.id not in self._ended]
        for job in lost:
            log.info("run %s has a job that this worker does not know", job.lock)
        return lost

    async def _search_runs(self) -> None:
        while True:
            await self._try(self._queue_runs_without_job())
            await self.clock.sleep(SEARCH_SECONDS)

    async def _queue_runs_without_job(self) -> None:
        for run_id, epoch in await self.queue.runs_without_job():
            # nearly all of them were at work
            await self.queue.put(run_id, epoch, again=True)

    async def _try(
        self, work: Coroutine[Any, Any, Any], within: float | None = TIMEOUT_SECONDS
    ) -> Any:
        """Return the result; None where the database fails, or does not answer `within` seconds."""
        try:
            async with asyncio.timeout(within):
                result = await work
            self._failing = False
            return result
        except (StoreError, ConnectorException, TimeoutError) as error:
            if not self._failing:
                reason = " ".join(str(error).split()) or type(error).__name__
                log.warning("the queue cannot be used for now: %s", reason)
            self._failing = True
            return None
