"""A Model of which each request has its cost."""

from dataclasses import dataclass, replace

from agents.costs.prices import Prices, priced
from agents.model import (
    Around,
    EmitModelEvent,
    Model,
    ModelEvent,
    ModelReply,
    ModelRequest,
    RequestEnded,
)


@dataclass(frozen=True, slots=True)
class Priced(Around):
    """Adds to the usage of each request of `model`, one model at one provider, what it costs."""

    model: Model
    # None: they are not known
    prices: Prices | None

    async def reply(self, request: ModelRequest, emit: EmitModelEvent) -> ModelReply:
        """Answer with the cost in its usage, or raise ModelError."""

        async def emit_priced(event: ModelEvent) -> None:
            if isinstance(event, RequestEnded):
                event = replace(event, usage=priced(event.usage, self.prices), prices=self.prices)
            await emit(event)

        reply = await self.model.reply(request, emit_priced)
        return replace(reply, usage=priced(reply.usage, self.prices))
