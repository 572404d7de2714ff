"""What the time of a run goes to: its context, its models, its tools."""

from collections.abc import Mapping
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
        # how many are open, of all stages
        self._count = 0
        self._since = 0.0

    def during(self, stage: Stage) -> "During":
        """Return what is done meanwhile belongs to this stage."""
        return During(self, stage)

    @property
    def seconds(self) -> dict[str, float]:
        """By stage, until now."""
        self.change(STAGES[0], 0)
        return {stage: round(seconds, 6) for stage, seconds in self._seconds.items()}

    def change(self, stage: Stage, by: int) -> None:
        """Count so many more, or fewer, who do what belongs to a stage from now on."""
        now = self.clock.monotonic()
        if self._count:
            for first in STAGES:
                if self._open[first]:
                    self._seconds[first] += now - self._since
                    break
        self._since = now
        self._open[stage] += by
        self._count += by


class During:
    """A `with` block of a stage; a class of its own, which costs less than a generator."""

    __slots__ = ("_stage", "_stages")

    def __init__(self, stages: Stages, stage: Stage) -> None:
        self._stages, self._stage = stages, stage

    def __enter__(self) -> None:
        self._stages.change(self._stage, 1)

    def __exit__(self, *_: object) -> None:
        self._stages.change(self._stage, -1)
