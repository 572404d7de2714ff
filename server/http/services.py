"""What the endpoints share."""

import os
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from starlette.requests import Request

from crew.config.keys.crew_file import CrewSettings
from crew.crew import Crew
from crew.database import Database
from crew.runs.chores.chores import Chores, Counts
from crew.runs.chores.documents import CountDocuments
from crew.runs.runs import Runs
from crew.runs.streams.listeners import Listeners
from crew.runs.upkeep.maintenance import Maintenance, Retention
from crew.runs.upkeep.reload import Reloader
from crew.runs.upkeep.schedules import Scheduler
from crew.runs.upkeep.stalls import watch_stalls
from crew.runs.upkeep.storage import Storage
from server.background import Work
from server.editing.editor import Editor
from server.gate import FileGate
from server.http.callers.auditor import Auditor
from server.notices.sender import NoticeSender
from server.replay_jobs import ReplayJobs
from server.settings import EditMode
from server.telemetry.logs import log_event
from server.telemetry.metrics import Metrics
from server.telemetry.traces.counts import SpanCounts
from server.telemetry.traces.switches import open_tracer


@dataclass(slots=True)
class LastPlayed:
    """What was played last in this process, for who looks at it later."""

    # as programs get them; None: none were played
    rehearsals: dict[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class Services:
    """Of one process."""

    runs: Runs
    listeners: Listeners
    metrics: Metrics
    reloader: Reloader
    auditor: Auditor
    storage: Storage
    replays: ReplayJobs
    editor: Editor
    last: LastPlayed = field(default_factory=LastPlayed)

    @classmethod
    def of(cls, crew: Crew, database: Database, edit: EditMode = "off") -> "Services":
        """Make the services for the runs of a crew; `edit`: which files may be changed."""
        metrics, tracer = Metrics(crew), open_tracer(os.environ)
        if tracer is not None:
            metrics.registry.register(SpanCounts(tracer.sender))
        listeners = (log_event, metrics)
        runs = Runs(crew, database.store, listeners, database.queue, tells=True, tracing=tracer)
        subscribers = Listeners(runs)
        metrics.watch(
            active=lambda: len(runs.live),
            unplayable=lambda: len(runs.live.declined),
            subscribers=lambda: subscribers.total,
            writable=lambda: database.store.failing is None,
        )
        auditor, storage = Auditor(database.store), Storage()
        metrics.database.set_function(lambda: storage.bytes)
        metrics.database_limit.set_function(lambda: storage.max_bytes)
        replays = ReplayJobs(lambda verdict: metrics.replays.labels(verdict).inc())
        gate = FileGate(crew.sources.folder)
        reloader = Reloader(runs, metrics, gate)
        editor = Editor(runs, reloader, gate, edit)
        return cls(runs, subscribers, metrics, reloader, auditor, storage, replays, editor)

    async def begin(self) -> None:
        """Note what is served, and take up the documents of the crew's folder."""
        await self.runs.documents.sync()
        await self.runs.revisions.keep_current()

    def works(self, retention: Retention, public_url: str | None) -> dict[str, Work]:
        """Return what every process does beside its requests.

        Args:
            retention: how long data are kept.
            public_url: of the server, for links in notices; None: without links.
        """
        runs, metrics = self.runs, self.metrics
        return {
            "maintenance": Maintenance(runs, retention, self.storage).run,
            "the watch for stalls": partial(watch_stalls, runs.live, metrics.count_stall),
            "notices": NoticeSender(runs, public_url, metrics.count_notice).run,
            "schedules": Scheduler(runs, metrics.count_schedule).run,
        }

    async def do_chores(self) -> None:
        """Do what helpers have to do after runs, until this is cancelled."""
        metrics = self.metrics
        counts = Counts(
            metrics.count_chore,
            metrics.count_facts,
            lambda op: metrics.count_memory(op, "learn"),
            lambda reason: metrics.memory_refused.labels(reason).inc(),
            CountDocuments(
                lambda collection, outcome: metrics.documents.labels(collection, outcome).inc(),
                lambda step, seconds: metrics.document_seconds.labels(step).observe(seconds),
            ),
        )
        await Chores(self.runs, counts).run()

    @property
    def settings(self) -> CrewSettings:
        """The crew's settings."""
        return self.runs.crew.config.settings


def services_of(request: Request) -> Services:
    """Return the services of the process that answers a request."""
    services: Services = request.app.state.services
    return services
