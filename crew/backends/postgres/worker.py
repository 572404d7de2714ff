"""Who works at the queue of runs.

Takes jobs, does them, gives signs of life, and misses those of others.

Procrastinate's own worker ends when its connection breaks, and shows no sign of life while it
drains; so the loop around its
job manager is ours: it outlives the database's restarts, and runs go on meanwhile.
"""

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any

import psycopg
from procrastinate.exceptions import ConnectorException
from procrastinate.jobs import Job, Status

from crew.backends.postgres.queue import (
    AGAIN_SECONDS,
    FAILURES,
    QUEUE,
    STALLED_SECONDS,
    TIMEOUT_SECONDS,
    JobQueue,
    said,
)

log = logging.getLogger(__name__)

# how often it gives a sign of life, from when on one is late, and how often it looks for those of
# others
HEARTBEAT_SECONDS = 1.0
LATE_SECONDS = 2.5
SWEEP_SECONDS = 1.0
# how often a free worker looks for a job that it was not told of
POLL_SECONDS = 0.5
# until a run is tried again that broke its job
BROKEN_SECONDS = 10.0
# rows of workers that died so long ago are forgotten
FORGET_SECONDS = 7 * 86_400.0


class Worker:
    """Takes jobs from the queue and does them, as many at once as it may."""

    def __init__(
        self,
        queue: JobQueue,
        advance: Callable[[str, int], Awaitable[None]],
        takes: Callable[[], bool],
        at_once: int,
    ) -> None:
        """`advance` is given a run_id and an epoch, and sees to its own errors.

        `takes`: whether jobs may still be taken.
        """
        self.queue, self.advance, self.takes, self.at_once = queue, advance, takes, at_once
        self.manager = queue.manager
        self.jobs: dict[int, asyncio.Task[None]] = {}
        self._id = 0
        self._failing = False
        self._more = asyncio.Event()
        # a job is being fetched, or those that this worker should have are being looked at
        self._fetching = asyncio.Lock()
        # when it last gave a sign of life, and since when it has given each in time: only then may
        # it miss those of others
        self._beaten = self._steady_since = 0.0

    async def run(self) -> None:
        """Work until this is cancelled; by then nothing may go on that takes long."""
        self._id = await self._registered()
        self._beaten = self._steady_since = _now()
        try:
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(self._beat())
                tasks.create_task(self._listen())
                tasks.create_task(self._fetch())
                tasks.create_task(self._sweep())
        finally:
            if self.jobs:
                # their runs have been left, and are put back
                await asyncio.wait(self.jobs.values(), timeout=TIMEOUT_SECONDS)
            await self._tried(self.manager.unregister_worker(self._id))

    async def _registered(self) -> int:
        while True:
            number = await self._tried(self._register())
            if number is not None:
                return int(number)
            await asyncio.sleep(AGAIN_SECONDS)

    async def _register(self) -> int:
        await self.manager.prune_stalled_workers(FORGET_SECONDS)
        return await self.manager.register_worker()

    async def _beat(self) -> None:
        while True:
            await asyncio.sleep(HEARTBEAT_SECONDS)
            await self._tried(self._beat_once())

    async def _beat_once(self) -> None:
        await self.manager.update_heartbeat(self._id)
        if _now() - self._beaten > LATE_SECONDS:
            self._steady_since = _now()
        self._beaten = _now()

    @property
    def _steady(self) -> bool:
        return (
            _now() - self._beaten < LATE_SECONDS and _now() - self._steady_since > STALLED_SECONDS
        )

    async def _listen(self) -> None:
        async def heard(**_: Any) -> None:
            self._more.set()

        while True:
            # it listens until its connection breaks
            await self._tried(
                self.manager.listen_for_jobs(on_notification=heard, queues=[QUEUE]), within=None
            )
            await asyncio.sleep(AGAIN_SECONDS)

    async def _fetch(self) -> None:
        while True:
            job = None
            self._more.clear()
            if len(self.jobs) < self.at_once and self.takes():
                async with self._fetching:
                    job = await self._tried(
                        self.manager.fetch_job(queues=[QUEUE], worker_id=self._id)
                    )
                    if job is not None and job.id is not None:
                        self.jobs[job.id] = asyncio.create_task(self._do(job))
            if job is None:
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(POLL_SECONDS):
                        await self._more.wait()

    async def _do(self, job: Job) -> None:
        assert job.id is not None, "it was fetched"
        try:
            await self.advance(str(job.task_kwargs["run_id"]), int(str(job.task_kwargs["epoch"])))
        except Exception:
            log.exception("a job broke; its run is tried again")
            await self.queue.put(str(job.lock), int(str(job.task_kwargs["epoch"])), BROKEN_SECONDS)
        finally:
            # where this fails, the next sweep does it
            await self._tried(self._finish(job.id))
            del self.jobs[job.id]
            self._more.set()

    async def _sweep(self) -> None:
        while True:
            await asyncio.sleep(SWEEP_SECONDS)
            await self._tried(self._swept())

    async def _swept(self) -> None:
        """End jobs that nobody does, and put runs into the queue that have none."""
        if not await self.queue.knows(self._id):
            log.warning("this worker's registration is gone; it registers again")
            self._id = await self._register()
        async with self._fetching:
            mine = await self.manager.list_jobs_async(worker_id=self._id, status=Status.DOING.value)
            # it was given to this worker, but the answer was lost; or could not be ended when it
            # was done
            lost = [job for job in mine if job.id not in self.jobs]
            for job in lost:
                log.info(
                    "run %s has a job that this worker was not told of, or could not end", job.lock
                )
        stalled = await self.manager.get_stalled_jobs(
            queue=QUEUE, seconds_since_heartbeat=STALLED_SECONDS
        )
        # after the database was away nobody's sign of life is fresh
        for job in stalled if self._steady else ():
            if job.id in self.jobs:
                continue
            log.warning(
                "run %s has lost its worker %s", job.lock, job.worker_id, extra={"run_id": job.lock}
            )
            lost.append(job)
        for job in lost:
            if job.id is not None:
                await self._finish(job.id)
        for run_id, epoch in await self.queue.orphans():
            await self.queue.put(run_id, epoch)

    async def _finish(self, job_id: int) -> None:
        """End a job; nothing if somebody has done so before."""
        try:
            await self.manager.finish_job_by_id_async(job_id, Status.SUCCEEDED, delete_job=True)
        except ConnectorException as error:
            if not isinstance(error.__cause__, psycopg.errors.RaiseException):
                raise

    async def _tried(
        self, doing: Coroutine[Any, Any, Any], within: float | None = TIMEOUT_SECONDS
    ) -> Any:
        """What comes of it; None where the database fails.

        Or does not answer `within` so many seconds.
        """
        try:
            async with asyncio.timeout(within):
                done = await doing
            self._failing = False
            return done
        except FAILURES as error:
            if not self._failing:
                log.warning("the queue cannot be used for now: %s", said(error))
            self._failing = True
            return None


def _now() -> float:
    return asyncio.get_running_loop().time()
