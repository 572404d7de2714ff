"""A Model that compares what its provider counts with our estimate."""

from dataclasses import dataclass

from agents.model import Around, EmitModelEvent, Model, ModelReply, ModelRequest
from agents.tokenizing.tokens import TokenRatios


@dataclass(frozen=True, slots=True)
class Counting(Around):
    """Gives each answer of `model`, one model at one provider, to `ratios`."""

    model: Model
    ratios: TokenRatios

    async def reply(self, request: ModelRequest, emit: EmitModelEvent) -> ModelReply:
        """Answer, or raise ModelError."""
        reply = await self.model.reply(request, emit)
        if request.tokenizer.is_exact:
            # nothing was estimated
            return reply

        def estimate() -> int:
            tools = sum(tool.tokens for tool in request.tools)
            return tools + sum(message.tokens for message in request.messages)

        self.ratios.learn(self.endpoints[0], reply.usage.prompt_tokens, estimate)
        return reply
