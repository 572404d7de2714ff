"""Rehearsals are played by real models, several times each."""

import logging
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field

from crew.config.costs.prices import prices_by_agent
from crew.rehearsal.doubles.spending import Account, Spending
from crew.rehearsal.doubles.world import Mismatch
from crew.rehearsal.files.bound import Case
from crew.rehearsal.judging.verdict import judge
from crew.rehearsal.measuring.parting import Parting, partings
from crew.rehearsal.measuring.rates import Rate
from crew.rehearsal.playing.player import Played, play_case
from crew.rehearsal.playing.suite import Suite, wrong_values
from crew.rehearsal.replaying.trail import Trail

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Play:
    """What became of one play."""

    mismatches: Sequence[Mismatch]
    # in words
    steps: Sequence[str]
    usd: float
    tokens: int
    # of which most is the models' own time
    seconds: float

    @property
    def has_passed(self) -> bool:
        """Whether all is as expected."""
        return not self.mismatches


@dataclass(slots=True)
class Measured:
    """The plays of a rehearsal."""

    case: Case
    plays: list[Play] = field(default_factory=list)
    # why it is not played
    skipped: str = ""

    @property
    def rate(self) -> Rate:
        """How many pass."""
        return Rate(sum(one.has_passed for one in self.plays), len(self.plays))

    @property
    def usd(self) -> float:
        """What all plays have cost."""
        return sum(one.usd for one in self.plays)

    @property
    def tokens(self) -> int:
        """The same in tokens."""
        return sum(one.tokens for one in self.plays)

    @property
    def seconds(self) -> float:
        """What a play takes, in the mean."""
        return sum(one.seconds for one in self.plays) / len(self.plays) if self.plays else 0.0

    @property
    def partings(self) -> list[Parting]:
        """Where failing plays leave the passing ones."""
        failing = [one.steps for one in self.plays if not one.has_passed]
        return partings(failing, [one.steps for one in self.plays if one.has_passed])

    @property
    def problems(self) -> list[tuple[Mismatch, int]]:
        """What is wrong, and in how many plays, the most frequent first."""
        found = Counter(one for play in self.plays for one in dict.fromkeys(play.mismatches))
        return found.most_common()


def measure(
    suite: Suite,
    cases: Sequence[Case],
    *,
    times: int,
    spending: Spending,
    jobs: int,
    on_play: Callable[[], None],
) -> list[Measured]:
    """Play rehearsals with real models, until each has its plays or the money is spent.

    Args:
        suite: their crew, read with real models.
        cases: some of the suite's.
        times: plays of each.
        spending: what all of them may cost, and do.
        jobs: plays at the same time.
        on_play: called after each.
    """
    found = [Measured(one, skipped=_why_not(one)) for one in cases]
    disabled = logging.root.manager.disable
    # what goes wrong by a rehearsal's own will is no news
    logging.disable(logging.CRITICAL)
    pool = ThreadPoolExecutor(jobs, thread_name_prefix="play")
    try:
        # each once, then each once more: where the money ends, all have as many plays
        begun: list[tuple[Measured, Future[Play | None]]] = [
            (one, pool.submit(_play, suite, one.case, spending))
            for _ in range(times)
            for one in found
            if not one.skipped
        ]
        for one, future in begun:
            play = future.result()
            if play is not None:
                one.plays.append(play)
                on_play()
    finally:
        pool.shutdown(wait=True, cancel_futures=True)
        logging.disable(disabled)
    return found


def _why_not(case: Case) -> str:
    keys = case.keys
    if keys.skip is not None:
        return keys.skip
    if keys.fails is not None:
        return f"it must fail: {keys.fails}"
    if any(one.kill == "each" for one in keys.faults):
        return "kill: each compares plays that are alike"
    return ""


def _play(suite: Suite, case: Case, spending: Spending) -> Play | None:
    """Play a rehearsal once; None: the money is spent."""
    if spending.is_over:
        return None
    loaded = suite.crew_of(case)
    if wrong := wrong_values(case, loaded):
        return Play(wrong, (), 0.0, 0, 0.0)
    files = loaded.checked.files
    prices = prices_by_agent(files)
    account = Account(spending, prices)
    try:
        played = play_case(case, loaded, may_act=suite.may_act, account=account)
        if account.is_over:
            return None
        mismatches = judge(played, suite.invariants, suite.texts).mismatches
    except Exception as error:
        # the others are played all the same
        log.debug("rehearsal %s", case.id, exc_info=error)
        text = f"the runtime made a mistake: {type(error).__name__}: {error}"
        mismatch = Mismatch("error", text, case.source("name"))
        return Play([mismatch], (), account.usd, account.tokens, 0.0)
    return Play(mismatches, _steps(played), account.usd, account.tokens, played.seconds)


def _steps(played: Played) -> list[str]:
    trails = (Trail.of(turn.events) for turn in played.turns)
    return [step.text for trail in trails for step in trail.main if not step.is_answer]
