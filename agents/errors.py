"""What can go wrong with a model.

ModelError        a call of a model failed; `code` says how, `retryable` whether to try again
BudgetExceeded    a ModelError: a budget has no room for the call, which was not made
ProviderError     a provider cannot be used as configured (no key, no script); found at load
TokenizerError    a tokenizer is not there (no package, no file); found at load
"""

from typing import Literal

from agents.costs.refusal import BudgetRefusal

# refused: a 4xx; rate_limited: 429; unavailable: 5xx; connection: none, or lost; timeout: no
# answer in time; unreadable: cut off, or not what it should be; empty: neither text nor call;
# budget: cost_limits, or a budget; budget_unknown: the store does not say what is used of one;
# quota: what was paid for is used up; no_rule: the script has none that fits; breaker_open: not
# asked, since its provider does not work; context_overflow: the request is longer than the model
# can take
ModelErrorCode = Literal[
    "refused",
    "rate_limited",
    "unavailable",
    "connection",
    "timeout",
    "unreadable",
    "empty",
    "budget",
    "budget_unknown",
    "quota",
    "no_rule",
    "breaker_open",
    "context_overflow",
]
RETRYABLE: frozenset[ModelErrorCode] = frozenset(
    {"rate_limited", "unavailable", "connection", "unreadable", "breaker_open", "budget_unknown"}
)


class ModelError(Exception):
    """A call of a model failed."""

    def __init__(
        self,
        code: ModelErrorCode,
        message: str,
        *,
        retry_after_seconds: float | None = None,
        final: bool = False,
    ) -> None:
        """Build the error.

        Args:
            code: how it failed.
            message: for people.
            retry_after_seconds: as the server says, if it does.
            final: another try does not help, whatever the code.
        """
        super().__init__(message)
        self.code: ModelErrorCode = code
        self.retry_after_seconds = retry_after_seconds
        self.final = final

    @property
    def retryable(self) -> bool:
        """Whether another try of the same call may help."""
        return self.code in RETRYABLE and not self.final

    def told(self, message: str) -> "ModelError":
        """Return the same failure in other words."""
        wait = self.retry_after_seconds
        return ModelError(self.code, message, retry_after_seconds=wait, final=self.final)


class BudgetExceeded(ModelError):
    """A budget has no room for a call, so that it is not made."""

    def __init__(self, refusal: BudgetRefusal) -> None:
        """`refusal`: of the strictest budget."""
        super().__init__("budget", refusal.text, final=True)
        self.refusal = refusal


class ProviderError(Exception):
    """A provider cannot be used as it is configured."""


class TokenizerError(Exception):
    """A tokenizer is not there."""
