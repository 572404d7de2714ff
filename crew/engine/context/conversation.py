"""What an agent is shown of the run's conversation: earlier exchanges and their summary."""

import asyncio
from collections.abc import Container

from agents.context.blocks import cut_to
from agents.context.loaded import Loaded, LoadedBlock, PastExchange
from agents.context.plan import ContextPlan
from agents.messages import AgentMessage, Message, UserMessage, decode_messages
from crew.engine.context.sources import Look
from crew.journal.query import Query
from crew.journal.records.conversations import Conversation, Exchange, owner_of
from crew.journal.said import parts_in_words


class ConversationSource:
    """The exchanges of the run's conversation, and what older ones come to."""

    def has_any(self, query: Query, plan: ContextPlan) -> bool:
        """See ContextSource."""
        return bool(query.conversation_id)

    async def load(self, look: Look) -> Loaded:
        """See ContextSource."""
        place = owner_of(look.query.user_id), look.query.conversation_id
        known = await look.in_time(look.store.conversations.get(*place))
        if known is None:
            lost = [LoadedBlock("summary", is_late=True)] if look.plan.summary is not None else []
            return Loaded(tuple(lost), history_is_late=True, is_conversation=True)
        found, past = await asyncio.gather(_summary(look, known, place), _past(look, known, place))
        (blocks, taint), late = found, past is None
        silent, shown = look.silent, past or []
        exchanges = [
            PastExchange(one.number, one.position or 0, messages_of(one, silent)) for one in shown
        ]
        sources = (*taint, *(name for one in shown for name in one.taint))
        return Loaded(
            tuple(blocks),
            past=tuple(exchanges),
            history_millis=look.millis,
            history_is_late=late,
            is_conversation=True,
            taint=tuple(dict.fromkeys(sources)),
        )


async def _summary(
    look: Look, known: Conversation, place: tuple[str, str]
) -> tuple[list[LoadedBlock], tuple[str, ...]]:
    """Return the newest summary as a block, and what it has read."""
    block = look.plan.summary
    if block is None or not known.summary_version:
        return [], ()
    began = look.millis
    found = await look.in_time(look.store.conversations.summary(*place))
    millis = look.millis - began
    if found is None:
        return [LoadedBlock("summary", load_millis=millis, is_late=True)], ()
    text = cut_to(found.text_with_facts, block.max_tokens, look.plan.tokenizer)
    shown = LoadedBlock("summary", text, versions=(found.version,), load_millis=millis)
    return [shown], found.taint


async def _past(look: Look, known: Conversation, place: tuple[str, str]) -> list[Exchange] | None:
    """Return the exchanges behind what the summary covers, at least so many as are wanted."""
    history = look.plan.history
    covered = known.summarised if look.plan.summary is not None else 0
    # older ones go by quarters, at places that do not move with each run
    surplus = max(0, known.shown - history.exchanges)
    after = max(covered, surplus // history.quarter * history.quarter)
    loading = look.store.conversations.shown(*place, after, transcripts=history.transcripts)
    return await look.in_time(loading)


def messages_of(exchange: Exchange, silent: Container[str] = ()) -> list[Message]:
    """Return an exchange as messages, with all that was said in it where it has that.

    Args:
        exchange: of a conversation.
        silent: agents the typed answers of which are for no other agent.
    """
    query = UserMessage(exchange.query, exchange.attached)
    if exchange.transcript:
        try:
            return [query, *decode_messages(exchange.transcript)]
        except ValueError:
            # another version wrote it
            pass

    def answer(agent_id: str, name: str, text: str) -> AgentMessage:
        return AgentMessage(agent_id, name, text, words="" if agent_id in silent else None)

    said = [
        answer(one.agent_id, one.agent, one.text)
        if one.agent_id
        else UserMessage(one.text, one.attached)
        for one in parts_in_words(exchange.said)
    ]
    return [query, *said, answer(exchange.agent_id, exchange.agent, exchange.answer)]
