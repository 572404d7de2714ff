"""Runs that are exchanges of a conversation: one at a time, decided where the run is stored."""

import asyncio
from weakref import WeakValueDictionary

from crew.config.keys.conversations import ConversationsConfig
from crew.journal.events import InConversation
from crew.journal.query import Answer, Query
from crew.journal.records.conversations import MAX_TITLE, owner_of
from crew.journal.records.exchanges import ExchangeStart
from crew.runs.errors import (
    ConversationAsks,
    ConversationBusy,
    ConversationMoved,
    NoConversations,
    NotPaused,
    key_taken,
)
from crew.runs.factory import RunFactory
from crew.runs.request import RunRequest
from crew.runs.run import Run
from crew.runs.starter import RunStarter

# while others begin runs of the same conversation, on other machines
MAX_TRIES = 20


class ExchangeStarter:
    """Starts runs in conversations, or answers the one that is paused."""

    def __init__(self, factory: RunFactory, starter: RunStarter) -> None:
        self.factory, self.starter, self.store = factory, starter, factory.store
        self._locks: WeakValueDictionary[tuple[str, str], asyncio.Lock] = WeakValueDictionary()

    async def start(self, query: Query, asked: RunRequest) -> Run:
        """Start a run of a conversation. See `Runs.start`."""
        # what is started is done, even if the caller goes away meanwhile
        return await asyncio.shield(asyncio.ensure_future(self._start(query, asked)))

    async def _start(self, query: Query, asked: RunRequest) -> Run:
        settings = self.factory.revisions.current.config.conversations
        if settings is None:
            raise NoConversations
        place = (owner_of(query.user_id), query.conversation_id)
        async with self._locks.setdefault(place, asyncio.Lock()):
            for _ in range(MAX_TRIES):
                known = await self.store.conversations.get(*place)
                if known is not None and known.busy is not None:
                    answer = Answer(
                        query.text,
                        deltas=query.deltas,
                        by=asked.by,
                        attachments=query.attachments,
                    )
                    run = await self._answer(known.busy, answer, asked)
                    if run is not None:
                        return run
                number = known.started + 1 if known is not None else 1
                try:
                    return await self._begin(query, number, settings, asked)
                except ConversationMoved:
                    # another machine was first
                    continue
        raise ConversationBusy(None)

    async def _answer(self, run_id: str, answer: Answer, asked: RunRequest) -> Run | None:
        """Answer the conversation's run, if it is paused on words; None if it is at work."""
        row = await self.store.row(run_id)
        if row is None or row.status != "paused":
            return None
        key = asked.key
        if key is not None and (record := await self.store.idempotency_record(key.key)):
            raise key_taken(key, record)
        if row.asks:
            raise ConversationAsks(run_id, row.asks)
        if not asked.may_answer:
            raise ConversationAsks(run_id, "an answer, for which the scope 'answer' is needed")
        try:
            return await self.starter.resume(run_id, answer, asked)
        except NotPaused:
            return None

    async def _begin(
        self, query: Query, number: int, settings: ConversationsConfig, asked: RunRequest
    ) -> Run:
        of = InConversation(query.conversation_id, number)
        run, event, row = await self.starter.prepare(query, asked, of)
        start = ExchangeStart(
            owner_of(row.user_id),
            row.conversation_id,
            row.run_id,
            number,
            row.started_at,
            first_words(row.query),
            settings.max_exchanges,
            may_wait=settings.on_busy == "queue",
        )
        begun = await self.starter.begin(run, event, row, None, asked.key, exchange=start)
        run.executor.state.apply(event)
        if begun.waits:
            # the end of the run at work lets it go on
            self.factory.discard(run)
            if self.factory.queue is None:
                self.factory.live.in_line.add(run.id)
        else:
            await self.starter.play(run)
        return run


def first_words(text: str) -> str:
    """Return a title until a better one is there: a query's first words."""
    line = " ".join(text.split())
    if len(line) <= MAX_TITLE:
        return line
    cut = line[: MAX_TITLE - 1]
    # not within a word, where there are words
    return f"{cut[: cut.rfind(' ')] if ' ' in cut[MAX_TITLE // 2 :] else cut}…"
