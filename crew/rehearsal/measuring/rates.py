"""How often something succeeds, as far as a few tries can say; pure."""

import math
from dataclasses import dataclass
from statistics import NormalDist

# of an interval: of a hundred such, so many have the true share in them
CONFIDENCE = 0.9
_Z = NormalDist().inv_cdf((1 + CONFIDENCE) / 2)


@dataclass(frozen=True, slots=True)
class Rate:
    """How many of some plays pass."""

    passed: int
    plays: int

    @property
    def share(self) -> float:
        """Return the part that passes, from 0 to 1; 0 without plays."""
        return self.passed / self.plays if self.plays else 0.0

    @property
    def interval(self) -> tuple[float, float]:
        """The interval in which the true share is, with a confidence of 90 %.

        Wilson's score interval, which also holds for few plays and for shares of 0 and 1.
        """
        if not self.plays:
            return 0.0, 1.0
        count, share, square = self.plays, self.share, _Z * _Z
        middle = (share + square / (2 * count)) / (1 + square / count)
        spread = math.sqrt(share * (1 - share) / count + square / (4 * count * count))
        half = _Z * spread / (1 + square / count)
        return max(0.0, middle - half), min(1.0, middle + half)

    def differs_from(self, other: "Rate") -> bool:
        """Return whether two shares differ for certain: their intervals have nothing in common."""
        (low, high), (other_low, other_high) = self.interval, other.interval
        return low > other_high or high < other_low
