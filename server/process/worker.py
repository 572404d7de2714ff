"""The application of `crew worker`: plays what `crew serve` accepts, and shows its state."""

import logging
import signal

from starlette.applications import Starlette

from crew.backends.postgres.jobs.heartbeat import Heartbeat, HeartbeatSettings
from crew.backends.postgres.jobs.queue import JobQueue
from crew.backends.postgres.jobs.worker import Worker
from crew.crew import Crew
from crew.database import Database
from crew.runs.advance import Advance
from crew.runs.upkeep.stalls import calls_at_work
from server.http.api import WORKER_OPERATIONS
from server.http.app import build_app
from server.http.operations import routes_of
from server.http.services import Services
from server.settings import ServerSettings

log = logging.getLogger(__name__)


def build_worker(
    crew: Crew, database: Database, settings: ServerSettings, at_once: int
) -> Starlette:
    """Build the application of a worker; its lifespan owns the crew and the database.

    Args:
        crew: of its tools; runs that were started with another revision keep that.
        database: a shared one.
        settings: how to serve its metrics and probes.
        at_once: how many runs it plays at the same time.
    """
    queue = database.queue
    assert isinstance(queue, JobQueue), "a worker has a shared database"
    services = Services.of(crew, database)
    runs = services.runs

    heartbeat = Heartbeat(
        HeartbeatSettings.of(
            settings.database_url or "", settings.stall_seconds, settings.log_format
        ),
        calls_at_work,
    )

    async def work() -> None:
        advance = Advance(runs, queue)
        worker = Worker(queue, advance, lambda: not runs.draining, at_once, heartbeat, crew.clock)
        try:
            await worker.run()
        except Exception:
            log.exception("the worker failed; its process ends, to be started again")
            signal.raise_signal(signal.SIGTERM)

    works = {
        **services.works(settings.retention, settings.public_url),
        "chores": services.do_chores,
        "runs": work,
    }
    routes = routes_of(WORKER_OPERATIONS)
    return build_app([*routes], services, settings, works, services.begin)
