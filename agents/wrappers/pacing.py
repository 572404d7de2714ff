"""A Model that is called no more often than its provider allows, nor by more at once."""

from dataclasses import dataclass

from agents.errors import ModelError
from agents.model import Around, EmitModelEvent, Model, ModelReply, ModelRequest
from tools.limits.guards import RefusedError, ToolGuard

# a place and a turn are waited for so long
PATIENCE_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class Paced(Around):
    """Waits for a place and a turn of its provider before it asks `model`."""

    model: Model
    guard: ToolGuard

    async def reply(self, request: ModelRequest, emit: EmitModelEvent) -> ModelReply:
        """Answer, or raise ModelError: "rate_limited" where there was no place in time."""
        try:
            async with self.guard.turn(PATIENCE_SECONDS):
                return await self.model.reply(request, emit)
        except RefusedError as refused:
            raise ModelError("rate_limited", f"{self.name}: {refused}") from None
