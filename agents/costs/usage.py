"""The tokens of answers, and what they cost."""

from dataclasses import dataclass
from typing import Any

# amounts of money are kept in whole nano-dollars, so that sums are exact
NANOS = 10**9
# decimal places of a nano-dollar
PLACES = 9


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens, as the provider counted them, and their cost in USD; of one answer, or of many."""

    # all that went in and came out, with what was thought and what caches had
    prompt_tokens: int = 0
    completion_tokens: int = 0
    # to the nano-dollar
    cost_usd: float = 0.0
    # answers that the provider did not count, so that these are our own estimates
    estimated: int = 0
    # of what came out, what was thought; of what went in, what was read from and written to a cache
    thinking_tokens: int = 0
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0
    # answers of models without a known price
    unpriced: int = 0

    @property
    def total_tokens(self) -> int:
        """Tokens in and out."""
        return self.prompt_tokens + self.completion_tokens

    @property
    def parts(self) -> tuple[tuple[str, int], ...]:
        """What of it is a part of prompt and completion, by name."""
        return (
            ("thinking", self.thinking_tokens),
            ("cache_read", self.cache_read_tokens),
            ("cache_write", self.cache_write_tokens),
        )

    def document(self) -> dict[str, Any]:
        """Return it as clients get it."""
        document: dict[str, Any] = {
            "prompt_tokens": self.prompt_tokens,
            "completion_tokens": self.completion_tokens,
            "total_tokens": self.total_tokens,
            "input": self.prompt_tokens,
            "output": self.completion_tokens,
            "thinking": self.thinking_tokens,
            "cache_read": self.cache_read_tokens,
            "cache_write": self.cache_write_tokens,
        }
        if self.cost_usd:
            document["cost_usd"] = self.cost_usd
        if self.estimated:
            document["estimated"] = True
        return document

    def cost_document(self) -> dict[str, Any]:
        """Return what it costs, as clients get it: `usd` is a lower bound if some are unpriced."""
        return {"usd": self.cost_usd, "unpriced": self.unpriced, "estimated": self.estimated}

    def __add__(self, other: "Usage") -> "Usage":
        if self is NO_USAGE:
            return other
        if other is NO_USAGE:
            return self
        return Usage(
            self.prompt_tokens + other.prompt_tokens,
            self.completion_tokens + other.completion_tokens,
            round(self.cost_usd + other.cost_usd, PLACES),
            self.estimated + other.estimated,
            self.thinking_tokens + other.thinking_tokens,
            self.cache_read_tokens + other.cache_read_tokens,
            self.cache_write_tokens + other.cache_write_tokens,
            self.unpriced + other.unpriced,
        )


# to begin with
NO_USAGE = Usage()
