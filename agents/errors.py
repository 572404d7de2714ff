"""What can go wrong with a model.

ModelError        a call of a model failed; `code` says how, `retryable` whether another try may
help
ProviderError     a provider cannot be used as configured (no key, no script); told before anything
starts
"""

from typing import Literal

# refused: a 4xx; rate_limited: 429; unavailable: 5xx; connection: none, or lost; timeout: no answer
# in time;
# unreadable: cut, or not what it should be; empty: neither text nor call; budget: cost_limits;
# no_rule: the script ends
Code = Literal[
    "refused",
    "rate_limited",
    "unavailable",
    "connection",
    "timeout",
    "unreadable",
    "empty",
    "budget",
    "no_rule",
]
RETRYABLE: frozenset[Code] = frozenset({"rate_limited", "unavailable", "connection", "unreadable"})


class ModelError(Exception):
    """A call of a model failed."""

    def __init__(
        self, code: Code, message: str, *, retry_after_seconds: float | None = None
    ) -> None:
        """`retry_after_seconds`: what the server asked for, if it did."""
        super().__init__(message)
        self.code: Code = code
        self.retry_after_seconds = retry_after_seconds

    @property
    def retryable(self) -> bool:
        """Whether another try of the same call may help."""
        return self.code in RETRYABLE


class ProviderError(Exception):
    """A provider cannot be used as it is configured."""
