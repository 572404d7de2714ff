"""Models answer themselves, at this machine's time, as far as the money goes."""

from dataclasses import dataclass

from agents.errors import ModelError
from agents.model import (
    EmitModelEvent,
    Model,
    ModelEvent,
    ModelReply,
    ModelRequest,
    RequestEnded,
    TextDelta,
)
from crew.rehearsal.doubles.faults import Faults
from crew.rehearsal.doubles.spending import Account
from crew.rehearsal.doubles.standing import StandInModel
from tools.clock import Clock


async def spend_on(
    model: Model, account: Account, clock: Clock, request: ModelRequest, emit: EmitModelEvent
) -> ModelReply:
    """Let a model answer itself, if there is money for it; raises ModelError.

    Args:
        model: the real one.
        account: what may be spent, and is.
        clock: runs as the machine's meanwhile.
        request: to the model.
        emit: gets its events, but for the end of the request.
    """
    with account.reserved(request) as used, clock.hold():

        async def pass_on(event: ModelEvent) -> None:
            if isinstance(event, RequestEnded):
                used.append(event.usage)
            else:
                await emit(event)

        return await model.reply(request, pass_on)


@dataclass(frozen=True)
class RealModel(StandInModel):
    """Answers itself, but for the faults of the rehearsal."""

    itself: Model
    faults: Faults
    account: Account

    async def answer(self, request: ModelRequest, emit: EmitModelEvent) -> ModelReply:
        """See StandInModel."""
        cut = await self.faults.occur(self.config, request, self.clock)
        if cut is None:
            return await spend_on(self.itself, self.account, self.clock, request, emit)
        left = cut

        async def emit_some(event: ModelEvent) -> None:
            nonlocal left
            if not isinstance(event, TextDelta):
                await emit(event)
            elif left:
                text, left = event.text[:left], max(0, left - len(event.text))
                await emit(TextDelta(text))

        await spend_on(self.itself, self.account, self.clock, request, emit_some)
        raise ModelError("unreadable", f"{self.name}: the answer broke off after {cut} characters")
