"""What is said of an event of a run: why it came."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Ruling:
    """A rule that was looked at, in its order."""

    rule: str
    applied: bool
    # in words
    because: str
    # where the files say it, as `file:line`; None where they do not
    source: str | None = None

    def document(self) -> dict[str, Any]:
        """Return it as programs get it."""
        return {
            "rule": self.rule,
            "applied": self.applied,
            "because": self.because,
            "source": self.source,
        }


@dataclass(frozen=True, slots=True)
class MatchedText:
    """The words that decided: with what is around them, and their place in the answer."""

    text: str
    start: int
    end: int

    def document(self) -> dict[str, Any]:
        """Return it as programs get it."""
        return {"text": self.text, "start": self.start, "end": self.end}


@dataclass(frozen=True, slots=True)
class WhyStep:
    """An event, and why it came."""

    # what has happened, in words
    step: str
    decided: Sequence[Ruling] = ()
    matched: MatchedText | None = None
    # settings that were met, each with its line or "default"
    limits: Sequence[Ruling] = ()
    # what else is known: tokens, attempts, times; JSON
    facts: Mapping[str, Any] = field(default_factory=dict)
    # in USD; None where it is not known
    cost_usd: float | None = 0.0
    # its number
    event: int = 0
    # since the event before
    seconds: float = 0.0

    def document(self) -> dict[str, Any]:
        """Return it as programs get it."""
        return {
            "event": self.event,
            "step": self.step,
            "decided": [one.document() for one in self.decided],
            "matched": self.matched.document() if self.matched is not None else None,
            "limits": [one.document() for one in self.limits],
            "facts": dict(self.facts),
            "cost": self.cost_usd,
            "time": round(self.seconds, 6),
        }
