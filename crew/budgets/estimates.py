"""What a call may cost before it is made."""

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from math import ceil

from agents.costs.prices import Prices
from agents.costs.usage import Usage
from crew.budgets.rules import Reserve

# an answer without max_tokens, of which nothing is known
EXPECTED_TOKENS = 1024
# answers by which the length of the next is guessed, and how many are needed for that
KNOWN_ANSWERS, LEAST_ANSWERS = 200, 20
LIKELY_PART = 0.95
# what may come in more than we count, without an exact tokenizer
INEXACT_PART = 0.1


@dataclass(frozen=True, slots=True)
class Estimate:
    """Tokens of a call, and what it costs; None: its price is not known."""

    input: int
    output: int
    nanos: int | None

    @property
    def tokens(self) -> int:
        """In and out."""
        return self.input + self.output


@dataclass(slots=True)
class AnswerLengths:
    """How long the newest answers were, by agent and model."""

    known: dict[tuple[str, str, str], deque[int]] = field(default_factory=dict)
    # of these, what the store has was read
    filled: set[tuple[str, str, str]] = field(default_factory=set)

    def add(self, key: tuple[str, str, str], tokens: int) -> None:
        """Add an answer."""
        self.known.setdefault(key, deque(maxlen=KNOWN_ANSWERS)).append(tokens)

    def fill(self, key: tuple[str, str, str], tokens: Sequence[int]) -> None:
        """Add what a store has, oldest first; it has the answers of this process, too."""
        self.filled.add(key)
        if len(tokens) > len(self.known.get(key, ())):
            self.known[key] = deque(tokens, maxlen=KNOWN_ANSWERS)

    def likely(self, key: tuple[str, str, str]) -> int | None:
        """Return the length that 95 % of the answers do not exceed; None: too few are known."""
        lengths = self.known.get(key, ())
        if len(lengths) < LEAST_ANSWERS:
            return None
        return sorted(lengths)[ceil(LIKELY_PART * len(lengths)) - 1]


def input_tokens(counted: int, *, is_exact: bool) -> int:
    """Return the tokens that come in, at most."""
    return counted if is_exact else counted + ceil(counted * INEXACT_PART)


def output_tokens(reserve: Reserve, max_tokens: int | None, likely: int | None) -> int:
    """Return the tokens that go out: at most (`worst`), or most often (`likely`)."""
    if reserve == "worst" or likely is None:
        return max_tokens if max_tokens is not None else EXPECTED_TOKENS
    return likely if max_tokens is None else min(likely, max_tokens)


def estimate(input_: int, output: int, prices: Prices | None) -> Estimate:
    """Return what a call of so many tokens costs."""
    if prices is None:
        return Estimate(input_, output, None)
    # with a little less input the prices may be higher ones
    tiers = {input_, *(tokens for tokens, _ in prices.above if tokens < input_)}
    return Estimate(input_, output, max(_dearest(one, output, prices) for one in tiers))


def _dearest(input_: int, output: int, prices: Prices) -> int:
    """Return what so many tokens cost at most: of a cache, or of thinking, if these are dearer."""
    usual = prices.nanos(Usage(input_, output))
    written = prices.nanos(Usage(input_, output, cache_write_tokens=input_))
    read = prices.nanos(Usage(input_, output, cache_read_tokens=input_))
    thought = prices.nanos(Usage(input_, output, thinking_tokens=output))
    return usual + max(0, written - usual, read - usual) + max(0, thought - usual)
