"""The time of the database: the clocks of several machines differ, and one of them may be wrong."""

from datetime import datetime, timedelta

from tools.clock import SYSTEM_CLOCK, Clock

# a sample is late by a trip over the network; less than this is no difference
TOLERANCE = timedelta(seconds=0.2)


class SharedTime:
    """Goes on from the newest sample by the process's own monotonic clock."""

    def __init__(self, sample: datetime, clock: Clock = SYSTEM_CLOCK) -> None:
        """`sample`: the database's time now."""
        self.clock = clock
        self._sample, self._taken = sample, clock.monotonic()

    def now(self) -> datetime:
        """Return the database's time."""
        return self._sample + timedelta(seconds=self.clock.monotonic() - self._taken)

    def set(self, sample: datetime) -> None:
        """Set the database's time, as it has just answered."""
        if abs(sample - self.now()) > TOLERANCE:
            self._sample, self._taken = sample, self.clock.monotonic()
