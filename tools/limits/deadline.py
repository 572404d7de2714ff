"""How much time a sequence of calls has left, and how much of it one attempt may use."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits of one sequence of calls (one answer's calls).

    Times in seconds, sizes in characters.
    """

    # all calls of the sequence together
    sequence_seconds: float = 30.0
    # one attempt, unless the tool has its own
    tool_seconds: float = 5.0
    # kept free at the end of the sequence
    overhead_seconds: float = 0.5
    # no attempt starts with less, none is given less
    minimum_seconds: float = 0.1
    retries: int = 2
    backoff_min_seconds: float = 0.1
    backoff_max_seconds: float = 5.0
    # a warning is logged when less than this part of the sequence remains
    warning_percent: float = 20.0
    output_chars: int = 2000
    total_output_chars: int = 4000
    parallel: bool = False


@dataclass(frozen=True, slots=True)
class Deadline:
    """The end of a sequence on a monotonic clock."""

    ends_at: float
    overhead_seconds: float
    minimum_seconds: float

    @classmethod
    def after(cls, now: float, limits: Limits) -> "Deadline":
        """Return the deadline of a sequence that starts now."""
        return cls(now + limits.sequence_seconds, limits.overhead_seconds, limits.minimum_seconds)

    def remaining(self, now: float) -> float:
        """Return seconds left, never negative."""
        return max(0.0, self.ends_at - now)

    def allot(self, now: float, wanted: float) -> float | None:
        """Return seconds that an attempt which wants `wanted` may take.

        Or None when too little is left to start one.

        At least the minimum, never past the end of the sequence.
        """
        left = self.remaining(now)
        if left < self.minimum_seconds or left == 0:
            return None
        return max(self.minimum_seconds, min(wanted, left - self.overhead_seconds))
