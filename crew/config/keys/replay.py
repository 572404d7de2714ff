"""The shape of `replay`: what is kept of runs, to play them again."""

from typing import Annotated

from pydantic import Field

from tools.schemas.patterns import Pattern
from tools.schemas.yaml_shape import Shape


class ReplayKeep(Shape):
    """Ended runs of which the events are kept, whatever CREW_KEEP_EVENTS_DAYS says."""

    runs: Annotated[int, Field(ge=0, le=100_000)] = 200
    """So many of the newest of each end: completed, failed, cancelled; 0: none."""
    days: Annotated[float, Field(gt=0, le=36_500)] = 14.0
    """Not for longer than this."""


class ReplayConfig(Shape):
    """How runs are kept, to be played again, and as cassettes and rehearsals."""

    keep: ReplayKeep = ReplayKeep()
    """What is kept for replays."""

    redact: list[Pattern] = []
    """Regular expressions: what fits is left out of them, beside secrets, e-mail addresses and
    telephone numbers."""
    seconds: Annotated[float, Field(gt=0, le=3600)] = 120.0
    """What the replays of `POST /api/crew/replays` may take together."""
