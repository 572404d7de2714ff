"""A Model that keeps to an agent's `cost_limits`: tokens of a call, tokens and cost of a day."""

import asyncio
from dataclasses import dataclass, field

from agents.config import CostLimits
from agents.errors import ModelError
from agents.model import Around, EmitModelEvent, Model, ModelNotice, ModelReply, ModelRequest
from tools.clock import Clock
from tools.loops import PerLoop

DAY_SECONDS = 86_400


@dataclass(slots=True)
class DailyUsage:
    """What one agent has used on one day (UTC), in this process."""

    day: int = 0
    tokens: int = 0
    cost_usd: float = 0.0
    # warnings of this day that were emitted already
    warned: set[str] = field(default_factory=set)
    # calls that are being made
    running: int = 0
    # the most that one call has used, of any day; None: none has ended yet
    largest_tokens: int | None = None
    largest_cost_usd: float = 0.0
    # set when one has ended
    ended: PerLoop[asyncio.Event] = field(default_factory=lambda: PerLoop(asyncio.Event))

    def add(self, tokens: int, cost_usd: float) -> None:
        """Add what a call has used."""
        self.tokens += tokens
        self.cost_usd += cost_usd
        if self.largest_tokens is None or tokens > self.largest_tokens:
            self.largest_tokens = tokens
        if cost_usd > self.largest_cost_usd:
            self.largest_cost_usd = cost_usd


class WithinLimits(Around):
    """Over a limit it refuses (`block_on_cost_exceed`) or warns once a day."""

    def __init__(self, model: Model, limits: CostLimits, usage: DailyUsage, clock: Clock) -> None:
        """`usage`: of the agent, shared by all revisions of the crew."""
        self.model, self.limits, self.usage, self.clock = model, limits, usage, clock

    async def reply(self, request: ModelRequest, emit: EmitModelEvent) -> ModelReply:
        """Answer, or raise ModelError("budget")."""
        self._start_day()
        await self._check_call(request, emit)
        usage = self.usage
        if self.limits.block_on_cost_exceed:
            await self._wait_for_others()
        await self._check_day(emit)
        usage.running += 1
        try:
            reply = await self.model.reply(request, emit)
        finally:
            usage.running -= 1
            # also of a revision that does not block: one that does may wait for it
            usage.ended.get().set()
        usage.add(reply.usage.total_tokens, reply.usage.cost_usd)
        await self._alert(emit)
        return reply

    async def _wait_for_others(self) -> None:
        """Wait while the calls that are being made may use up the day: one at most goes over it."""
        while self._may_be_used_up():
            ended = self.usage.ended.get()
            ended.clear()
            await ended.wait()
            self._start_day()

    def _may_be_used_up(self) -> bool:
        limits, usage = self.limits, self.usage
        if not usage.running:
            return False
        tokens, cost_usd = limits.max_tokens_per_day, limits.max_cost_per_day_usd
        if usage.largest_tokens is None:
            return tokens is not None or cost_usd is not None
        expected_tokens = usage.tokens + usage.running * usage.largest_tokens
        expected_usd = usage.cost_usd + usage.running * usage.largest_cost_usd
        return (tokens is not None and expected_tokens >= tokens) or (
            cost_usd is not None and expected_usd >= cost_usd
        )

    def _start_day(self) -> None:
        today = int(self.clock.now().timestamp() // DAY_SECONDS)
        usage = self.usage
        if usage.day != today:
            usage.day, usage.tokens, usage.cost_usd = today, 0, 0.0
            usage.warned.clear()

    async def _check_call(self, request: ModelRequest, emit: EmitModelEvent) -> None:
        limit = self.limits.max_tokens_per_call
        if limit is None:
            return
        prompt = sum(message.tokens for message in request.messages)
        estimate = prompt + (request.max_tokens or 0)
        if estimate > limit:
            text = f"about {estimate} tokens in one call"
            await self._exceed("max_tokens_per_call", text, emit)

    async def _check_day(self, emit: EmitModelEvent) -> None:
        limits, usage = self.limits, self.usage
        if limits.max_tokens_per_day is not None and usage.tokens >= limits.max_tokens_per_day:
            await self._exceed("max_tokens_per_day", f"{usage.tokens} tokens used today", emit)
        most_usd = limits.max_cost_per_day_usd
        if most_usd is not None and usage.cost_usd >= most_usd:
            text = f"{usage.cost_usd:.4f} USD spent today"
            await self._exceed("max_cost_per_day_usd", text, emit)

    async def _exceed(self, key: str, what: str, emit: EmitModelEvent) -> None:
        message = f"{what}: over cost_limits.{key} = {getattr(self.limits, key)}"
        if self.limits.block_on_cost_exceed:
            raise ModelError("budget", message)
        await self._warn_once(key, message, emit)

    async def _alert(self, emit: EmitModelEvent) -> None:
        usage, part = self.usage, self.limits.alert_threshold
        used_by_key = {
            "max_tokens_per_day": usage.tokens,
            "max_cost_per_day_usd": usage.cost_usd,
        }
        for key, used in used_by_key.items():
            limit = getattr(self.limits, key)
            if limit is not None and used >= part * limit:
                of_limit = f"{used:.6g} of cost_limits.{key} = {limit}"
                text = f"{of_limit} used today (alert_threshold {part})"
                await self._warn_once(f"alert {key}", text, emit)

    async def _warn_once(self, key: str, message: str, emit: EmitModelEvent) -> None:
        if key not in self.usage.warned:
            self.usage.warned.add(key)
            await emit(ModelNotice("budget", message))
