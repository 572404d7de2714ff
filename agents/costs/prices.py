"""What the tokens of a model cost; pure."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from decimal import ROUND_CEILING, Decimal
from typing import Any, Literal

from agents.costs.usage import NANOS, Usage

# where a price is said; free: that it costs nothing, or it is a script
PriceSource = Literal["models", "agent", "prices.json", "settings", "free"]
# a price is given for so many tokens
MILLION = 10**6


@dataclass(frozen=True, slots=True)
class Rates:
    """USD for a million tokens of each kind, and for a request."""

    input: Decimal = Decimal()
    output: Decimal = Decimal()
    # None: as `input`; of thinking: as `output`
    cache_read: Decimal | None = None
    cache_write: Decimal | None = None
    thinking: Decimal | None = None
    request: Decimal = Decimal()

    @property
    def is_zero(self) -> bool:
        """Whether all of them are 0, said or not."""
        beside = (self.cache_read, self.cache_write, self.thinking)
        return not any((self.input, self.output, *beside, self.request))

    def nanos(self, usage: Usage) -> int:
        """Return what a call costs, in nano-dollars, rounded up."""
        read, write = usage.cache_read_tokens, usage.cache_write_tokens
        thought = usage.thinking_tokens
        tokens = (
            (usage.prompt_tokens - read - write) * self.input
            + read * _first(self.cache_read, self.input)
            + write * _first(self.cache_write, self.input)
            + (usage.completion_tokens - thought) * self.output
            + thought * _first(self.thinking, self.output)
        )
        exact = tokens * (NANOS // MILLION) + self.request * NANOS
        return int(exact.to_integral_value(ROUND_CEILING))


@dataclass(frozen=True, slots=True)
class Prices:
    """What a model costs, and where that is said."""

    rates: Rates
    source: PriceSource
    # of calls with more input than so many tokens; ascending
    above: Sequence[tuple[int, Rates]] = ()

    def nanos(self, usage: Usage) -> int:
        """Return what a call costs, in nano-dollars, rounded up once."""
        rates = self.rates
        for tokens, others in self.above:
            if usage.prompt_tokens > tokens:
                rates = others
        return rates.nanos(usage)

    @property
    def is_free(self) -> bool:
        """Whether nothing costs anything."""
        return all(one.is_zero for one in (self.rates, *(rates for _, rates in self.above)))

    def document(self) -> dict[str, Any]:
        """Return it as files have it, in USD for a million tokens."""
        document = _rates_document(self.rates)
        if self.above:
            document["above"] = [
                {"input": tokens, "prices": _rates_document(rates)} for tokens, rates in self.above
            ]
        return document


NO_RATES = Rates()
FREE = Prices(NO_RATES, "free")


def priced(usage: Usage, prices: Prices | None) -> Usage:
    """Return the usage of one call with its cost; without a price it is counted as such."""
    if prices is None:
        return replace(usage, unpriced=1) if usage.total_tokens else usage
    nanos = prices.nanos(usage) if usage.total_tokens else 0
    return replace(usage, cost_usd=nanos / NANOS) if nanos else usage


def nanos_of(usd: float) -> int:
    """Return an amount of USD in nano-dollars."""
    return round(usd * NANOS)


def _first(price: Decimal | None, otherwise: Decimal) -> Decimal:
    return otherwise if price is None else price


def _rates_document(rates: Rates) -> dict[str, Any]:
    names = ("input", "output", "cache_read", "cache_write", "thinking", "request")
    found = ((name, getattr(rates, name)) for name in names)
    wanted = ("input", "output")
    return {name: float(value) for name, value in found if name in wanted or value}
