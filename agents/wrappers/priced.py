"""A Model of which each request has its cost."""

import secrets
from dataclasses import dataclass, replace

from agents.costs.prices import Prices, priced
from agents.limits import LAST_CALL, NO_TOOLS
from agents.model import (
    Around,
    EmitModelEvent,
    Meter,
    Model,
    ModelEvent,
    ModelNotice,
    ModelReply,
    ModelRequest,
    PaidAttempt,
    RequestEnded,
    ShownMessage,
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
    # the name that the files have for it; "" where they have none
    alias: str = ""
    # that it may think before it answers
    thinking_tokens: int = 0

    async def reply(self, request: ModelRequest, emit: EmitModelEvent) -> ModelReply:
        """Answer with the cost in its usage, or raise ModelError."""
        request_id = secrets.token_hex(8)
        if request.meter is not None:
            request = await self._within_budgets(request, request.meter, request_id)

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

    async def _within_budgets(
        self, request: ModelRequest, meter: Meter, request_id: str
    ) -> ModelRequest:
        """Return a request as there is room for it; raises BudgetExceeded."""
        provider, model = self.endpoints[0]
        counted = sum(one.tokens for one in request.messages)
        counted += sum(one.tokens for one in request.tools)
        counted += request.output_tokens
        attempt = PaidAttempt(
            request_id,
            request.agent_id,
            provider,
            model,
            self.alias or model,
            counted,
            request.tokenizer.is_exact,
            request.tokenizer.count_message(LAST_CALL),
            request.max_tokens,
            self.prices,
            self.thinking_tokens,
        )
        room = await meter.begin(attempt)
        if room.max_tokens is not None:
            request = replace(request, max_tokens=room.max_tokens)
        if room.is_last:
            told = ShownMessage("user", LAST_CALL, tokenizer=request.tokenizer)
            messages = (*request.messages, told)
            request = replace(request, messages=messages, tools=(), tool_choice=NO_TOOLS)
        return request
