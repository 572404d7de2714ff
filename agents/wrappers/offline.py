"""A Model for a crew that calls none: it needs no key."""

from dataclasses import dataclass

from agents.errors import ModelError
from agents.model import EmitModelEvent, ModelReply, ModelRequest


@dataclass(frozen=True, slots=True)
class OfflineModel:
    """Has the name of a model, and no answer."""

    provider: str
    name: str

    @property
    def endpoints(self) -> tuple[tuple[str, str], ...]:
        """The one that it stands for."""
        return ((self.provider, self.name),)

    async def reply(self, request: ModelRequest, emit: EmitModelEvent) -> ModelReply:
        """Raise ModelError."""
        raise ModelError("refused", f"{self.name}: this command asks no model")
