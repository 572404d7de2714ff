"""What real answers may cost, of all plays together."""

import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field

from agents.config import CostLimits
from agents.errors import ModelError
from agents.model import ModelRequest, Usage

# of an answer without max_tokens
EXPECTED_TOKENS = 1024
# the models of failed requests have read what they were sent
READ = frozenset({"timeout", "unreadable", "empty"})


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
    # by agent: its prices
    limits: Mapping[str, CostLimits]
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
        prices = self._prices(request.agent_id)
        most = request.max_tokens or EXPECTED_TOKENS
        reserved = prices.cost_usd(prompt, most)
        used: list[Usage] = []
        try:
            self.spending.reserve(reserved, prompt + most)
        except ModelError:
            self.is_over = True
            raise
        read = 0
        try:
            yield used
        except ModelError as error:
            read = prompt if error.code in READ else 0
            raise
        finally:
            read = read if not used else used[0].prompt_tokens
            written = used[0].completion_tokens if used else 0
            usd = prices.cost_usd(read, written)
            self.spending.settle(usd - reserved, read + written - prompt - most)
            self.usd += usd
            self.tokens += read + written

    def _prices(self, agent_id: str) -> CostLimits:
        """Return the prices of an agent; of a helper or a judge, the highest ones."""
        if agent_id in self.limits:
            return self.limits[agent_id]
        highest = max(self.limits.values(), key=lambda one: one.cost_usd(1, 1), default=None)
        return highest or CostLimits()
