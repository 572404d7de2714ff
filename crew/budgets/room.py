"""Whether a call fits into its pots, by how much it does not, and what follows."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from agents.costs.prices import Prices
from agents.costs.usage import NANOS
from crew.budgets.estimates import Estimate, estimate
from crew.budgets.rules import STRICTEST, Pot
from crew.journal.records.spent.budgets import PotState, Share

# an answer that may not have so many tokens is not worth its call
LEAST_OUTPUT = 256


def share_of(pot: Pot, wanted: Estimate) -> Share:
    """Return what a call reserves in a pot; one that only warns has room for all."""
    share = Share(pot.key, pot.resets_at, wanted.nanos or 0, wanted.tokens)
    return share if pot.budget.then == "warn" else with_limits(pot, share)


def with_limits(pot: Pot, share: Share) -> Share:
    """Return what a call reserves in a pot, with the limits of its budget."""
    limits = pot.budget.limits
    return replace(
        share,
        max_nanos=limits.nanos,
        max_tokens=limits.tokens,
        max_calls=limits.calls,
        is_lenient=pot.budget.is_lenient,
    )


@dataclass(frozen=True, slots=True)
class FullPot:
    """A pot that has no room for a call."""

    pot: Pot
    # what is used up: USD, tokens or calls
    unit: str
    used: float
    # with what people have added
    limit: float
    # what the call may need
    wants: float
    # what others have reserved is a part of why
    is_held: bool

    @property
    def text(self) -> str:
        """In words."""
        budget, value = self.pot.budget, self.pot.key.value
        of = f" of {value}" if value else ""
        again = f"; free again at {self.pot.resets_at}" if self.pot.resets_at else ""
        amounts = f"{_amount(self.used, self.unit)} of {_amount(self.limit, self.unit)} used"
        more = f"the call may need {_amount(self.wants, self.unit)}"
        return f"budget {budget.name}{of}: {amounts}, {more} ({budget.source}){again}"


def full_pots(
    pots: Sequence[Pot], shares: Sequence[Share], states: Sequence[PotState]
) -> list[FullPot]:
    """Return the pots without room for what a call reserves in each, the strictest first."""
    found = [
        _full(pot, share, state)
        for pot, share, state in zip(pots, shares, states, strict=True)
        if not share.fits(state)
    ]
    return sorted(found, key=lambda one: STRICTEST.index(one.pot.budget.then))


def _full(pot: Pot, share: Share, state: PotState) -> FullPot:
    is_full = not share.fits(state, held=False)
    max_nanos = _sum(share.max_nanos, state.more_nanos)
    max_tokens = _sum(share.max_tokens, state.more_tokens)
    nanos, tokens = share.least
    # by kind: used, reserved by others, the limit, wanted
    kinds = {
        "USD": (state.nanos, state.held_nanos, max_nanos, nanos),
        "tokens": (state.tokens, state.held_tokens, max_tokens, tokens),
        "calls": (state.calls, state.held_calls, share.max_calls, 1),
    }
    for unit, (used, others, limit, wants) in kinds.items():
        if limit is not None and used + others + wants > limit:
            one = NANOS if unit == "USD" else 1
            return FullPot(pot, unit, used / one, limit / one, wants / one, not is_full)
    raise AssertionError("one of them is full")


def _sum(limit: int | None, more: int) -> int | None:
    return None if limit is None else limit + more


def output_left(
    shares: Sequence[Share], states: Sequence[PotState], input_: int, prices: Prices | None
) -> int:
    """Return how many tokens an answer may have, so that its call fits into all pots; 0: none."""
    most = 10**9
    for share, state in zip(shares, states, strict=True):
        if share.is_lenient:
            continue
        if share.max_calls is not None and state.calls + state.held_calls + 1 > share.max_calls:
            return 0
        if share.max_tokens is not None:
            left = share.max_tokens + state.more_tokens - state.tokens - state.held_tokens
            most = min(most, left - input_)
        if share.max_nanos is not None and prices is not None:
            left = share.max_nanos + state.more_nanos - state.nanos - state.held_nanos
            most = min(most, _affordable(left, input_, prices, most))
    return max(0, most)


def _affordable(nanos: int, input_: int, prices: Prices, most: int) -> int:
    """Return the longest answer that so much money pays for."""
    low, high = 0, min(most, 10**7)
    if (estimate(input_, 0, prices).nanos or 0) > nanos:
        return 0
    while low < high:
        middle = (low + high + 1) // 2
        if (estimate(input_, middle, prices).nanos or 0) <= nanos:
            low = middle
        else:
            high = middle - 1
    return low


def _amount(value: float, unit: str) -> str:
    if unit == "USD":
        return f"{value:.6f}".rstrip("0").rstrip(".") + " USD"
    return f"{value:,.0f} {unit}"
