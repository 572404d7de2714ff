"""A Model that tries the next Model when one has failed for good."""

from dataclasses import dataclass

from agents.errors import ModelError
from agents.model import EmitModelEvent, Model, ModelNotice, ModelReply, ModelRequest


@dataclass(frozen=True, slots=True)
class Fallback:
    """Tries `primary`, then `backup`; its name is the primary's."""

    primary: Model
    backup: Model

    @property
    def name(self) -> str:
        """The primary's."""
        return self.primary.name

    @property
    def endpoints(self) -> tuple[tuple[str, str], ...]:
        """The endpoints of both."""
        return (*self.primary.endpoints, *self.backup.endpoints)

    async def reply(self, request: ModelRequest, emit: EmitModelEvent) -> ModelReply:
        """Answer, or raise a ModelError with both failures."""
        try:
            return await self.primary.reply(request, emit)
        except ModelError as error:
            if error.code in ("context_overflow", "budget"):
                # a shorter request is tried first; a budget says itself what is called instead
                raise
            first = error
        await emit(ModelNotice("model_backup", f"{first}; trying the backup {self.backup.name}"))
        try:
            return await self.backup.reply(request, emit)
        except ModelError as error:
            raise error.told(f"{first}; backup: {error}") from first
