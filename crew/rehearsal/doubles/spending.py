"""What real answers may cost, of all plays together."""

import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field

from agents.costs.prices import Prices
from agents.costs.usage import NANOS, NO_USAGE, Usage
from agents.errors import ModelError
from agents.model import ModelRequest

# of an answer without max_tokens
EXPECTED_TOKENS = 1024


@dataclass(slots=True)
class Spending:
    """What has been spent, and how much may be; several threads share it."""

    max_usd: float | None = None
    max_tokens: int | None = None
    usd: float = 0.0
    tokens: int = 0
    # a request was refused for want of money
    is_over: bool = False
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def reserve(self, usd: float, tokens: int) -> None:
        """Add what a request may cost; raises ModelError("budget") where less is left."""
        with self._lock:
            is_dear = self.max_usd is not None and self.usd + usd > self.max_usd
            is_long = self.max_tokens is not None and self.tokens + tokens > self.max_tokens
            if is_dear or is_long:
                self.is_over = True
                raise ModelError("budget", "what may be spent on real answers is spent", final=True)
            self.usd += usd
            self.tokens += tokens

    def settle(self, usd: float, tokens: int) -> None:
        """Add what a request has cost more than was reserved, or less."""
        with self._lock:
            self.usd += usd
            self.tokens += tokens


@dataclass(slots=True)
class Account:
    """What one play spends."""

    spending: Spending
    # by agent; None: not known
    prices: Mapping[str, Prices | None]
    usd: float = 0.0
    tokens: int = 0
    # a request was refused: the play says nothing about the model
    is_over: bool = False

    @contextmanager
    def reserved(self, request: ModelRequest) -> Iterator[list[Usage]]:
        """Take what a request may cost meanwhile; the block puts its usage into the list.

        Raises:
            ModelError: less is left ("budget").
        """
        prompt = sum(message.tokens for message in request.messages)
        most = request.max_tokens or EXPECTED_TOKENS
        reserved = self._usd(request.agent_id, Usage(prompt, most))
        used: list[Usage] = []
        try:
            self.spending.reserve(reserved, prompt + most)
        except ModelError:
            self.is_over = True
            raise
        try:
            yield used
        finally:
            usage = sum(used, NO_USAGE)
            usd, tokens = self._usd(request.agent_id, usage), usage.total_tokens
            self.spending.settle(usd - reserved, tokens - prompt - most)
            self.usd += usd
            self.tokens += tokens

    def _usd(self, agent_id: str, usage: Usage) -> float:
        """Return what a call costs by the prices of an agent; of others, by the highest."""
        if agent_id in self.prices:
            known = [self.prices[agent_id]]
        else:
            # a helper, or a judge
            known = list(self.prices.values())
        nanos = (one.nanos(usage) for one in known if one is not None and usage.total_tokens)
        return max(nanos, default=0) / NANOS
