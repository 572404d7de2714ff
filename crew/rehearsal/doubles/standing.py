"""What stands in for a model has its name, and is counted as it."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property

from agents.config import ModelConfig
from agents.costs.usage import NO_USAGE
from agents.errors import ModelError
from agents.model import EmitModelEvent, ModelReply, ModelRequest, RequestEnded
from crew.rehearsal.doubles.world import AskedModel, World
from tools.clock import Clock


@dataclass(frozen=True)
class StandInModel(ABC):
    """Answers in place of a model; a Model."""

    config: ModelConfig
    world: World
    clock: Clock

    @cached_property
    def name(self) -> str:
        """The model's."""
        return self.config.model

    @cached_property
    def endpoints(self) -> tuple[tuple[str, str], ...]:
        """The model's."""
        return ((self.config.provider, self.config.model),)

    async def reply(self, request: ModelRequest, emit: EmitModelEvent) -> ModelReply:
        """Answer, or raise ModelError."""
        provider, model = self.config.provider, self.config.model
        started, outcome, usage = self.clock.monotonic(), "cancelled", NO_USAGE
        try:
            await self.world.begin()
            self.world.asked.append(AskedModel(request.agent_id, provider, model, request))
            reply = await self.answer(request, emit)
            await self.world.end()
            outcome, usage = "success", reply.usage
            return reply
        except ModelError as error:
            outcome = error.code
            raise
        finally:
            seconds = self.clock.monotonic() - started
            await emit(RequestEnded(provider, model, outcome, seconds, usage))

    @abstractmethod
    async def answer(self, request: ModelRequest, emit: EmitModelEvent) -> ModelReply:
        """Answer a request, or raise ModelError."""
