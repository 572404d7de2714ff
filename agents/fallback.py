"""A Model that tries the next Model when one has failed for good."""

from dataclasses import dataclass

from agents.errors import ModelError
from agents.model import Hear, Model, ModelReply, ModelRequest, Notice


@dataclass(frozen=True, slots=True)
class Fallback:
    """Tries `primary`, then `backup`; the agent's name for it is the primary's."""

    primary: Model
    backup: Model

    @property
    def name(self) -> str:
        """The primary's."""
        return self.primary.name

    @property
    def endpoints(self) -> tuple[tuple[str, str], ...]:
        """Those of both."""
        return (*self.primary.endpoints, *self.backup.endpoints)

    async def reply(self, request: ModelRequest, hear: Hear) -> ModelReply:
        """Answer, or raise a ModelError that tells both failures."""
        try:
            return await self.primary.reply(request, hear)
        except ModelError as error:
            first = error
        await hear(Notice("model_backup", f"{first}; trying the backup {self.backup.name}"))
        try:
            return await self.backup.reply(request, hear)
        except ModelError as error:
            message = f"{first}; backup: {error}"
            raise ModelError(
                error.code, message, retry_after_seconds=error.retry_after_seconds
            ) from first
