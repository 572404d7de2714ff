"""A Model that asks another Model again when an error may pass."""

from dataclasses import dataclass, replace

from agents.errors import ModelError
from agents.model import Around, EmitModelEvent, Model, ModelNotice, ModelReply, ModelRequest
from tools.clock import Clock
from tools.limits.retry import Jitter, backoff_seconds

# A server may ask for any wait; a run has only so much time.
LONGEST_WAIT_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class Retrying(Around):
    """Asks `model` up to `retries` times more.

    The wait is `Retry-After` or, without one, doubled each time, with jitter.
    """

    model: Model
    retries: int
    backoff_min_seconds: float
    backoff_max_seconds: float
    clock: Clock
    jitter: Jitter

    async def reply(self, request: ModelRequest, emit: EmitModelEvent) -> ModelReply:
        """Answer, or raise the last try's ModelError."""
        for attempt in range(self.retries + 1):
            tried = replace(request, attempt=attempt) if attempt else request
            try:
                return await self.model.reply(tried, emit)
            except ModelError as error:
                wait = error.retry_after_seconds
                too_long = wait is not None and wait > LONGEST_WAIT_SECONDS
                # what a breaker refuses was waited for already
                is_worth_it = error.retryable and error.code != "breaker_open"
                if not is_worth_it or attempt == self.retries or too_long:
                    raise
                # also for 0 and a date that has passed, or all would ask again at once
                if not wait:
                    wait = self._backoff(attempt)
                await emit(ModelNotice("model_retry", f"{error}; trying again in {wait:.1f} s"))
                await self.clock.sleep(wait)
        raise AssertionError("the last attempt returns or raises")

    def _backoff(self, attempt: int) -> float:
        shortest, longest = self.backoff_min_seconds, self.backoff_max_seconds
        return backoff_seconds(attempt, shortest, longest, self.jitter())
