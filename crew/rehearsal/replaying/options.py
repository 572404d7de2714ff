"""How stored runs are played again."""

from dataclasses import dataclass
from typing import Literal

from crew.rehearsal.doubles.spending import Spending

Match = Literal["route", "exact"]


@dataclass(frozen=True, slots=True)
class RealAnswers:
    """Models answer themselves, from the first answer on that is assumed or missing."""

    # what all of it may cost
    spending: Spending
    # each run is played so often, and what most come to counts
    times: int = 1
    # compares the final answers: one of `models`, or PROVIDER/MODEL; "": nothing does
    judge: str = ""


@dataclass(frozen=True, slots=True)
class ReplayOptions:
    """How runs are played."""

    # answers take as long as they did
    takes_time: bool = True
    # `exact`: a replay ends where a model is sent something else
    match: Match = "route"
    # tools that read are called where no result is recorded
    calls_readers: bool = False
    real: RealAnswers | None = None


AS_RECORDED = ReplayOptions()
