"""The process that plays what `crew serve` processes accept.

Takes runs from the queue, and tells how it is.
"""

import logging
import signal

from starlette.applications import Starlette
from starlette.routing import Route

from crew.backends.postgres.queue import JobQueue
from crew.backends.postgres.worker import Worker
from crew.crew import Crew
from crew.journal.store import RunStore
from crew.runs.advance import Advance
from crew.runs.maintenance import upkeep
from server.http import endpoints as routes
from server.http.app import Doing, put_together
from server.http.endpoints import House
from server.settings import Settings

log = logging.getLogger(__name__)


def build_worker(
    crew: Crew, store: RunStore, settings: Settings, queue: JobQueue, at_once: int
) -> Starlette:
    """The application of a worker; its lifespan owns the crew, the store and the queue.

    Args:
        crew: whose tools it has; runs that were started with another revision of its files go
            on with that.
        store: keeps the runs.
        settings: how to serve what it tells.
        queue: where runs wait.
        at_once: how many runs it plays at once.
    """
    house = House.of(crew, store, queue)

    runs = house.runs

    async def work() -> None:
        try:
            await Worker(queue, Advance(runs, queue), lambda: not runs.draining, at_once).run()
        except Exception:
            log.exception(
                "the worker broke; its process ends, so that whoever started it starts it anew"
            )
            signal.raise_signal(signal.SIGTERM)

    def going_on() -> list[Doing]:
        return [upkeep(runs, settings.keep), work()]

    paths = [
        Route("/health", routes.health),
        Route("/ready", routes.ready),
        Route("/metrics", routes.metrics),
    ]
    return put_together([*paths], house, settings, going_on)
