"""How the models of a process have answered last, for those who look after it."""

from dataclasses import dataclass, replace

from agents.errors import ModelError
from agents.model import Around, EmitModelEvent, Model, ModelReply, ModelRequest
from tools.clock import Clock, rfc3339

# of a failure's words
MAX_REASON = 300


@dataclass(frozen=True, slots=True)
class Failure:
    """The last failure of a model."""

    code: str
    # in words, without secrets
    reason: str
    # RFC 3339
    at: str
    # it has answered since
    is_over: bool = False


class Health:
    """Of all models, by provider and name."""

    def __init__(self) -> None:
        self.failures: dict[tuple[str, str], Failure] = {}

    @property
    def failing(self) -> dict[tuple[str, str], Failure]:
        """The models that have not answered since their last failure."""
        return {model: one for model, one in self.failures.items() if not one.is_over}


@dataclass(frozen=True, slots=True)
class Noting(Around):
    """Notes each failure of `model`, which is one model at one provider."""

    model: Model
    health: Health
    clock: Clock

    async def reply(self, request: ModelRequest, emit: EmitModelEvent) -> ModelReply:
        """Answer, or raise ModelError."""
        failures = self.health.failures
        try:
            reply = await self.model.reply(request, emit)
        except ModelError as error:
            now = rfc3339(self.clock.now())
            failures[self.endpoints[0]] = Failure(error.code, str(error)[:MAX_REASON], now)
            raise
        if failures:
            known = failures.get(self.endpoints[0])
            if known is not None and not known.is_over:
                failures[self.endpoints[0]] = replace(known, is_over=True)
        return reply
