"""Where failing plays of a rehearsal leave the passing ones; pure."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

END = "nothing more"


@dataclass(frozen=True, slots=True)
class Parting:
    """Failing plays that leave the passing ones at the same step."""

    plays: int
    # from 1
    step: int
    failing: str
    # what most passing plays do there that came so far
    passing: str


def partings(failing: Sequence[Sequence[str]], passing: Sequence[Sequence[str]]) -> list[Parting]:
    """Return where failing plays leave the passing ones, the most frequent first.

    Args:
        failing: the steps of each failing play.
        passing: the same of passing ones; where there are none, nothing can be said.
    """
    found: Counter[tuple[int, str, str]] = Counter()
    for steps in failing if passing else ():
        common = max(_common(steps, one) for one in passing)
        ours = _at(steps, common)
        theirs = Counter(_at(one, common) for one in passing if _common(steps, one) == common)
        usual = theirs.most_common(1)[0][0]
        if ours != usual:
            found[common + 1, ours, usual] += 1
    return [Parting(count, *key) for key, count in found.most_common()]


def _common(one: Sequence[str], other: Sequence[str]) -> int:
    """Return how many steps two plays have in common from the beginning."""
    for number, (step, its) in enumerate(zip(one, other, strict=False)):
        if step != its:
            return number
    return min(len(one), len(other))


def _at(steps: Sequence[str], number: int) -> str:
    return steps[number] if number < len(steps) else END
