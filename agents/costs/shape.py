"""The shape of prices in files: of `models.<alias>.prices`, and of prices.json."""

from datetime import date
from decimal import Decimal
from typing import Annotated, Self

from pydantic import Field, model_validator

from agents.costs.prices import FREE, Prices, PriceSource, Rates
from tools.schemas.yaml_shape import Shape

# beside crew.yaml; written by `crew prices --update`
PRICES_FILE = "prices.json"
# of a million tokens; beyond it is a mistake of unit
MOST_USD = 1_000_000
Price = Annotated[Decimal, Field(ge=0, le=MOST_USD, allow_inf_nan=False)]


class RatesConfig(Shape):
    """What tokens cost, in USD a million."""

    input: Price | None = None
    """Of what goes in; required, but for a model that is `free` or has a price by request alone."""
    output: Price | None = None
    """Of what comes out; as `input`."""
    cache_read: Price | None = None
    """Of what goes in, what a cache had; `input` unless given."""
    cache_write: Price | None = None
    """Of what goes in, what is written to a cache; `input` unless given."""
    thinking: Price | None = None
    """Of what comes out, what is thought; `output` unless given."""
    request: Price = Decimal()
    """USD of each request."""

    def rates(self) -> Rates:
        """Return them as they are used."""
        return Rates(
            self.input or Decimal(),
            self.output or Decimal(),
            self.cache_read,
            self.cache_write,
            self.thinking,
            self.request,
        )

    @model_validator(mode="after")
    def _says_both(self) -> Self:
        if (self.input is None) != (self.output is None):
            missing = "input" if self.input is None else "output"
            raise ValueError(f"say {missing}, too: 0 where it costs nothing")
        return self


class AboveConfig(Shape):
    """What tokens cost in a call with much input."""

    input: Annotated[int, Field(gt=0)]
    """In calls with more input than so many tokens, all tokens have these prices."""
    prices: RatesConfig
    """USD a million."""


class PricesConfig(RatesConfig):
    """What a model costs, in USD a million tokens."""

    above: list[AboveConfig] = []
    """Other prices for calls with much input."""
    free: bool = False
    """It costs nothing; instead of prices."""

    @model_validator(mode="after")
    def _says_something(self) -> "PricesConfig":
        if self.free and self.model_fields_set - {"free"}:
            raise ValueError("a free model has no prices: leave out `free`, or the prices")
        if not self.free and self.prices("models").is_free:
            raise ValueError("say what it costs, or `free: true` where it costs nothing")
        steps = [one.input for one in self.above]
        if len(set(steps)) < len(steps):
            raise ValueError("two steps of above begin at the same input: leave one of them out")
        return self

    def prices(self, source: PriceSource) -> Prices:
        """Return them as they are used; `source`: where they are said."""
        if self.free:
            return FREE
        above = sorted(self.above, key=lambda one: one.input)
        return Prices(self.rates(), source, tuple((one.input, one.prices.rates()) for one in above))


class PricesFile(Shape):
    """prices.json: what models cost, as a list of others says."""

    # openai/gpt-4o
    foreign = frozenset({"models"})

    source: str
    """Which list they are from."""
    version: str = ""
    """Of that list."""
    date: date
    """When they were taken from it."""
    models: dict[str, PricesConfig] = {}
    """By PROVIDER/MODEL."""
