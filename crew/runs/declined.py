"""The runs that this process could not play lately: what they were started with is not here."""

from dataclasses import dataclass

from tools.clock import Clock
from tools.limits.retry import backoff_seconds

# until a run is tried again: soon, for another process may have what it needs, then doubled each
# time up to the longest
RETRY_SECONDS = 1.0
LONGEST_RETRY_SECONDS = 8.0
# a run that was not tried for so long is played elsewhere, or has ended
FORGET_SECONDS = 3 * LONGEST_RETRY_SECONDS


@dataclass(frozen=True, slots=True)
class Decline:
    """A run could not be played `times` times, the last time at `at` on the clock."""

    times: int
    at: float

    @property
    def wait_seconds(self) -> float:
        """Until it is tried again."""
        return backoff_seconds(self.times - 1, RETRY_SECONDS, LONGEST_RETRY_SECONDS)


class Declined:
    """By run id."""

    def __init__(self, clock: Clock) -> None:
        self.clock = clock
        # in the order of their last tries
        self._runs: dict[str, Decline] = {}

    def __len__(self) -> int:
        self._forget()
        return len(self._runs)

    def add(self, run_id: str) -> Decline:
        """Add a run that could not be played, now."""
        self._forget()
        known = self._runs.pop(run_id, None)
        decline = Decline(known.times + 1 if known else 1, self.clock.monotonic())
        self._runs[run_id] = decline
        return decline

    def discard(self, run_id: str) -> None:
        """Remove a run that is played here, or goes on no more."""
        self._runs.pop(run_id, None)

    def is_due(self, run_id: str) -> bool:
        """Return whether it is to be tried again by now."""
        decline = self._runs.get(run_id)
        now = self.clock.monotonic()
        return decline is None or now >= decline.at + decline.wait_seconds

    def _forget(self) -> None:
        now = self.clock.monotonic()
        for run_id, decline in list(self._runs.items()):
            if now - decline.at < FORGET_SECONDS:
                return
            del self._runs[run_id]
