"""What the time of a run goes to: its context, its models, its tools."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Literal, get_args

from tools.clock import Clock

# where several go on at the same time, the time is the first one's
Stage = Literal["models", "tools", "context"]
STAGES: tuple[Stage, ...] = get_args(Stage)


class Stages:
    """Of one run; members of a group share it, and no second counts twice."""

    def __init__(self, clock: Clock, seconds: Mapping[str, float]) -> None:
        """`seconds`: of earlier segments, by stage."""
        self.clock = clock
        self._seconds = {stage: seconds.get(stage, 0.0) for stage in STAGES}
        self._open = dict.fromkeys(STAGES, 0)
        self._since = 0.0

    @contextmanager
    def during(self, stage: Stage) -> Iterator[None]:
        """What is done meanwhile belongs to this stage."""
        self._count()
        self._open[stage] += 1
        try:
            yield
        finally:
            self._count()
            self._open[stage] -= 1

    @property
    def seconds(self) -> dict[str, float]:
        """By stage, until now."""
        self._count()
        return {stage: round(seconds, 6) for stage, seconds in self._seconds.items()}

    def _count(self) -> None:
        now = self.clock.monotonic()
        first = next((stage for stage in STAGES if self._open[stage]), None)
        if first is not None:
            self._seconds[first] += now - self._since
        self._since = now
