"""Reads the crew's files again while it serves.

A good edit is for new runs, a broken one changes nothing and is told.
"""

import asyncio
import logging
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from crew.config.problems import Problem, as_json
from crew.errors import ConfigurationError, Draining
from crew.journal.wire import now
from crew.runs.runs import Runs
from server.telemetry.metrics import Metrics

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Reload:
    """How the newest files fared. `at`: RFC 3339, UTC; `problems`: why they were not taken."""

    at: str
    problems: Sequence[Problem] = ()


class Reloader:
    """Gives new runs the crew of the newest files that hold together."""

    def __init__(self, runs: Runs, metrics: Metrics) -> None:
        self.runs, self.metrics = runs, metrics
        self.loaded_at, self.last = now(), Reload(now())
        self._one = asyncio.Lock()

    async def reload(self, why: str) -> bool:
        """Read the files; whether what new runs get has changed.

        Raises:
            ConfigurationError: they have errors; the crew goes on as it is.
            Draining: this process is going down.
        """
        async with self._one:
            if self.runs.draining:
                raise Draining
            current = self.runs.crew
            try:
                crew = await asyncio.to_thread(current.made_again)
            except ConfigurationError as error:
                self.last = Reload(now(), error.problems)
                self.metrics.reload.set(0)
                # one line each; what stands in the files is not repeated in the log
                errors = [problem for problem in error.problems if problem.severity == "error"]
                for p in errors:
                    log.error(
                        "%s:%d:%d: error[%s]: %s", p.file, p.line, p.column, p.code, p.message
                    )
                log.error(
                    "not reloaded (%s): %d errors; revision %s goes on",
                    why,
                    len(errors),
                    current.revision,
                )
                raise
            self.runs.revisions.adopt(crew)
            self.metrics.adopt(crew)
            self.loaded_at, self.last = now(), Reload(now())
            log.info(
                "reloaded (%s): revision %s, %d warnings", why, crew.revision, len(crew.warnings)
            )
            return crew.revision != current.revision

    def summary(self) -> dict[str, Any]:
        """For whoever may ask whether this server is able to serve."""
        last = {"successful": not self.last.problems, "at": self.last.at}
        return {
            "revision": self.runs.crew.revision,
            "loaded_at": self.loaded_at,
            "last_reload": last,
        }

    def details(self) -> dict[str, Any]:
        """For those who may see the crew: with all problems."""
        summary = self.summary()
        return {**summary, "last_reload": {**summary["last_reload"], **as_json(self.last.problems)}}
