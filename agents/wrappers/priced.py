"""A Model of which each request has its cost."""

import secrets
from dataclasses import dataclass, replace

from agents.costs.prices import Prices, priced
from agents.model import (
    Around,
    EmitModelEvent,
    Model,
    ModelEvent,
    ModelNotice,
    ModelReply,
    ModelRequest,
    RequestEnded,
)
from tools.clock import Clock


class UnpricedModels:
    """The models without a known price of which a run was warned, in this process."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._told: dict[tuple[str, str], str] = {}

    def is_news(self, provider: str, model: str) -> bool:
        """Return whether no run was warned of one today; from now on one was."""
        today = self._clock.now().date().isoformat()
        is_known = self._told.get((provider, model)) == today
        self._told[provider, model] = today
        return not is_known


@dataclass(frozen=True, slots=True)
class Priced(Around):
    """Adds to the usage of each request of `model`, one model at one provider, what it costs."""

    model: Model
    # None: they are not known
    prices: Prices | None
    # says when a run is to be warned of that; None: never
    unpriced: UnpricedModels | None = None

    async def reply(self, request: ModelRequest, emit: EmitModelEvent) -> ModelReply:
        """Answer with the cost in its usage, or raise ModelError."""
        request_id = secrets.token_hex(8)

        async def emit_priced(event: ModelEvent) -> None:
            if isinstance(event, RequestEnded):
                usage = priced(event.usage, self.prices)
                event = replace(event, usage=usage, prices=self.prices, id=request_id)
            await emit(event)

        reply = await self.model.reply(request, emit_priced)
        usage = priced(reply.usage, self.prices)
        provider, model = self.endpoints[0]
        if usage.unpriced and self.unpriced is not None and self.unpriced.is_news(provider, model):
            text = f"no file says what {provider}/{model} costs, so costs are told without it"
            await emit(ModelNotice("unpriced", text))
        return replace(reply, usage=usage)
