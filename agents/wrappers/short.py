"""A Model of which no call is longer than `cost_limits.max_tokens_per_call`."""

from dataclasses import dataclass

from agents.config import CostLimits
from agents.errors import ModelError
from agents.model import Around, EmitModelEvent, Model, ModelNotice, ModelReply, ModelRequest


@dataclass(frozen=True, slots=True)
class ShortCalls(Around):
    """Refuses calls over the limit (`block_on_cost_exceed`), or warns of each."""

    model: Model
    limits: CostLimits

    async def reply(self, request: ModelRequest, emit: EmitModelEvent) -> ModelReply:
        """Answer, or raise ModelError("budget")."""
        prompt = sum(message.tokens for message in request.messages)
        tokens, limit = prompt + (request.max_tokens or 0), self.limits.max_tokens_per_call
        if limit is not None and tokens > limit:
            text = f"about {tokens} tokens in one call"
            text = f"{text}: over cost_limits.max_tokens_per_call = {limit}"
            if self.limits.block_on_cost_exceed:
                raise ModelError("budget", text)
            await emit(ModelNotice("budget", text))
        return await self.model.reply(request, emit)
