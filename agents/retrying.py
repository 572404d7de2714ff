"""A Model that asks another Model again when an error may pass."""

import random
from dataclasses import dataclass, replace

import anyio

from agents.errors import ModelError
from agents.model import Hear, Model, ModelReply, ModelRequest, Notice
from tools.retry import backoff_seconds

# A server may ask for any wait; a run has only so much time.
LONGEST_WAIT_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class Retrying:
    """Asks `model` up to `retries` times more, waiting `Retry-After` or, without one.

    Ever longer with jitter.
    """

    model: Model
    retries: int
    backoff_min_seconds: float
    backoff_max_seconds: float

    @property
    def name(self) -> str:
        """The wrapped model's."""
        return self.model.name

    @property
    def endpoints(self) -> tuple[tuple[str, str], ...]:
        """The wrapped model's."""
        return self.model.endpoints

    async def reply(self, request: ModelRequest, hear: Hear) -> ModelReply:
        """Answer, or raise the last try's ModelError."""
        for attempt in range(self.retries + 1):
            try:
                return await self.model.reply(
                    replace(request, attempt=attempt) if attempt else request, hear
                )
            except ModelError as error:
                wait = error.retry_after_seconds
                if (
                    not error.retryable
                    or attempt == self.retries
                    or (wait or 0) > LONGEST_WAIT_SECONDS
                ):
                    raise
                if wait is None:
                    wait = backoff_seconds(
                        attempt, self.backoff_min_seconds, self.backoff_max_seconds, random.random()
                    )
                await hear(Notice("model_retry", f"{error}; trying again in {wait:.1f} s"))
                await anyio.sleep(wait)
        raise AssertionError("the last attempt returns or raises")
