"""Loads what agents are shown beside a run's own messages: the conversation's past."""

import asyncio
from collections.abc import Awaitable
from functools import partial
from typing import TypeVar

from agents.agent import Agent
from agents.context.blocks import cut_to
from agents.context.loaded import NOTHING, Context, Loaded, LoadedBlock, PastExchange
from agents.context.plan import ContextPlan
from agents.messages import AgentMessage, Message, UserMessage, decode_messages
from crew.journal.errors import StoreError
from crew.journal.records.conversations import Conversation, Exchange, owner_of
from crew.journal.state import RunState
from crew.journal.store import RunStore
from tools.clock import Clock

T = TypeVar("T")


class Contexts:
    """Of one run: a Context for each segment of an agent's turns."""

    def __init__(self, state: RunState, store: RunStore, clock: Clock) -> None:
        self.state, self.store, self.clock = state, store, clock
        # by agent and group, with the handoffs before it
        self._known: dict[tuple[str, str | None], tuple[int, Context]] = {}

    def of(self, agent: Agent, group: str | None) -> Context:
        """Return the agent's context, in the segment that it is in now."""
        handoffs, known = self._known.get((agent.id, group), (-1, None))
        if known is None or handoffs != self.state.handoffs:
            # of the parts: with this object in it, neither would be freed before a full collection
            known = Context(partial(_load, self.state, self.store, self.clock, agent.context))
            self._known[agent.id, group] = self.state.handoffs, known
        return known


async def _load(state: RunState, store: RunStore, clock: Clock, plan: ContextPlan) -> Loaded:
    query = state.query
    if not query.conversation_id:
        return NOTHING
    started = clock.monotonic()
    loading = _Loading(store, (owner_of(query.user_id), query.conversation_id), plan, clock)
    known = await loading.in_time(store.conversations.get(*loading.place))
    if known is None:
        blocks = (LoadedBlock("summary", is_late=True),) if plan.summary is not None else ()
        return Loaded(blocks, history_is_late=True, is_conversation=True)
    found, past = await asyncio.gather(loading.summary(known), loading.past(known))
    millis = (clock.monotonic() - started) * 1000
    late = past is None
    return Loaded(tuple(found), tuple(past or ()), millis, late, is_conversation=True)


class _Loading:
    """One look at a conversation, within the time that a plan gives it."""

    def __init__(
        self, store: RunStore, place: tuple[str, str], plan: ContextPlan, clock: Clock
    ) -> None:
        self.store, self.place, self.plan, self.clock = store, place, plan, clock
        self._started = clock.monotonic()

    async def in_time(self, loading: Awaitable[T]) -> T | None:
        """Return what is loaded; None where that takes too long, or fails."""
        left = self.plan.load_timeout_seconds - (self.clock.monotonic() - self._started)
        timeout = self.clock.timeout(max(0.0, left))
        try:
            async with timeout:
                return await loading
        except StoreError:
            return None
        except TimeoutError:
            if not timeout.expired():
                raise
            return None

    async def summary(self, known: Conversation) -> list[LoadedBlock]:
        """Return the newest summary, as a block."""
        block = self.plan.summary
        if block is None or not known.summary_version:
            return []
        began = self.clock.monotonic()
        found = await self.in_time(self.store.conversations.summary(*self.place))
        millis = (self.clock.monotonic() - began) * 1000
        if found is None:
            return [LoadedBlock("summary", load_millis=millis, is_late=True)]
        text = cut_to(found.text_with_facts, block.max_tokens, self.plan.tokenizer)
        return [LoadedBlock("summary", text, versions=(found.version,), load_millis=millis)]

    async def past(self, known: Conversation) -> list[PastExchange] | None:
        """Return the exchanges behind what the summary covers, at least so many as are wanted."""
        history = self.plan.history
        covered = known.summarised if self.plan.summary is not None else 0
        # older ones go by quarters, at places that do not move with each run
        surplus = max(0, known.shown - history.exchanges)
        after = max(covered, surplus // history.quarter * history.quarter)
        loading = self.store.conversations.shown(
            *self.place, after, transcripts=history.transcripts
        )
        found = await self.in_time(loading)
        if found is None:
            return None
        return [PastExchange(one.number, one.position or 0, messages_of(one)) for one in found]


def messages_of(exchange: Exchange) -> list[Message]:
    """Return an exchange as messages, with all that was said in it where it has that."""
    query = UserMessage(exchange.query)
    if exchange.transcript:
        try:
            return [query, *decode_messages(exchange.transcript)]
        except ValueError:
            # another version wrote it
            pass
    said = [
        AgentMessage(one.agent_id, one.agent, one.text) if one.agent_id else UserMessage(one.text)
        for one in exchange.said
    ]
    return [query, *said, AgentMessage(exchange.agent_id, exchange.agent, exchange.answer)]
