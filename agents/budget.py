"""A Model that keeps to an agent's `cost_limits`: tokens of a call, tokens and cost of a day."""

import time
from dataclasses import dataclass, field, replace

from agents.config import CostLimits
from agents.errors import ModelError
from agents.history import estimate_tokens
from agents.model import Hear, Model, ModelReply, ModelRequest, Notice

DAY_SECONDS = 86_400


@dataclass(slots=True)
class Spent:
    """What one agent has used of one day (UTC), in this process."""

    day: int = 0
    tokens: int = 0
    cost_usd: float = 0.0
    # what was said of limits this day
    said: set[str] = field(default_factory=set)


class Budget:
    """Prices every answer; past a limit it refuses (`block_on_cost_exceed`) or says so once a day."""

    def __init__(self, model: Model, limits: CostLimits, spent: Spent) -> None:
        """`spent`: of the agent, whichever edition of it asks."""
        self.model, self.limits, self.spent = model, limits, spent

    @property
    def name(self) -> str:
        """The wrapped model's."""
        return self.model.name

    @property
    def endpoints(self) -> tuple[tuple[str, str], ...]:
        """The wrapped model's."""
        return self.model.endpoints

    async def reply(self, request: ModelRequest, hear: Hear) -> ModelReply:
        """Answer with the cost in its usage, or raise ModelError("budget")."""
        self._new_day()
        limits = self.limits
        if limits.max_tokens_per_call is not None:
            estimate = sum(estimate_tokens(m) for m in request.messages) + (request.max_tokens or 0)
            if estimate > limits.max_tokens_per_call:
                await self._over(
                    "max_tokens_per_call", f"about {estimate} tokens in one call", hear
                )
        await self._hold_day(hear)
        reply = await self.model.reply(request, hear)
        cost = (
            reply.usage.prompt_tokens * limits.input_token_price_per_million
            + reply.usage.completion_tokens * limits.output_token_price_per_million
        ) / 1e6
        self.spent.tokens += reply.usage.total_tokens
        self.spent.cost_usd += cost
        await self._alert(hear)
        return replace(reply, usage=replace(reply.usage, cost_usd=cost)) if cost else reply

    def _new_day(self) -> None:
        today = int(time.time() // DAY_SECONDS)
        spent = self.spent
        if spent.day != today:
            spent.day, spent.tokens, spent.cost_usd = today, 0, 0.0
            spent.said.clear()

    async def _hold_day(self, hear: Hear) -> None:
        limits, spent = self.limits, self.spent
        if limits.max_tokens_per_day is not None and spent.tokens >= limits.max_tokens_per_day:
            await self._over("max_tokens_per_day", f"{spent.tokens} tokens used today", hear)
        if (
            limits.max_cost_per_day_usd is not None
            and spent.cost_usd >= limits.max_cost_per_day_usd
        ):
            await self._over("max_cost_per_day_usd", f"{spent.cost_usd:.4f} USD spent today", hear)

    async def _over(self, key: str, what: str, hear: Hear) -> None:
        message = f"{what}: over cost_limits.{key} = {getattr(self.limits, key)}"
        if self.limits.block_on_cost_exceed:
            raise ModelError("budget", message)
        await self._once(key, message, hear)

    async def _alert(self, hear: Hear) -> None:
        limits, part = self.limits, self.limits.alert_threshold
        for key, used in (
            ("max_tokens_per_day", self.spent.tokens),
            ("max_cost_per_day_usd", self.spent.cost_usd),
        ):
            limit = getattr(limits, key)
            if limit is not None and used >= part * limit:
                await self._once(
                    f"alert {key}",
                    f"{used:.6g} of cost_limits.{key} = {limit} used today (alert_threshold {part})",
                    hear,
                )

    async def _once(self, key: str, message: str, hear: Hear) -> None:
        if key not in self.spent.said:
            self.spent.said.add(key)
            await hear(Notice("budget", message))
