"""Conversations as people and programs handle them: begun, named, copied, exported, deleted."""

import contextlib
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from crew.journal.errors import Unreadable
from crew.journal.records.conversations import (
    MAX_TITLE,
    Conversation,
    Exchange,
    Summary,
    owner_of,
)
from crew.journal.replay import replay
from crew.journal.state import RunState
from crew.journal.store import RunStore
from crew.runs.cancellation import RunCanceller
from crew.runs.errors import (
    ConversationBusy,
    NotForkable,
    RunEnded,
    UnknownConversation,
    UnknownRun,
)
from crew.runs.run import new_run_id
from crew.runs.streams.reader import RunReader
from tools.clock import rfc3339
from tools.limits.deadline import Limits

# exchanges in one read
PAGE = 200


class Conversations:
    """The conversations of a store; `user_id` "": of no person."""

    def __init__(self, store: RunStore, canceller: RunCanceller, reader: RunReader) -> None:
        self.store, self._canceller, self._reader = store, canceller, reader

    async def create(
        self, user_id: str, title: str = "", metadata: Mapping[str, Any] | None = None
    ) -> Conversation:
        """Begin one that has no run yet; raises StoreError."""
        now = self.store.now()
        made = Conversation(
            owner_of(user_id),
            new_run_id(now),
            rfc3339(now),
            rfc3339(now),
            one_line(title),
            "person" if title else "query",
            dict(metadata or {}),
        )
        await self.store.conversations.create(made)
        return made

    async def get(self, user_id: str, conversation_id: str) -> Conversation:
        """Return one of them, with the status of its newest run; raises UnknownConversation."""
        found = await self.store.conversations.get(owner_of(user_id), conversation_id)
        if found is None:
            raise UnknownConversation(conversation_id)
        (found,) = await self._as_they_are([found])
        return found

    async def listed(
        self,
        user_id: str,
        limit: int = 50,
        after: tuple[str, str] | None = None,
        text: str | None = None,
    ) -> list[Conversation]:
        """Return a page of them, last used first. See ConversationLog."""
        found = await self.store.conversations.listed(owner_of(user_id), limit, after, text)
        return await self._as_they_are(found)

    async def _as_they_are(self, found: list[Conversation]) -> list[Conversation]:
        """Add the status of busy conversations: a run may have paused since it began."""
        busy = [one.busy for one in found if one.busy is not None]
        newest = await self.store.newest(busy) if busy else {}
        return [
            replace(one, status=newest[one.busy].status) if one.busy in newest else one
            for one in found
        ]

    async def exchanges(
        self, user_id: str, conversation_id: str, after: int = 0, limit: int = 50
    ) -> list[Exchange]:
        """Return those with a number above `after`, in order; the open one is the last."""
        owner = owner_of(user_id)
        return await read_exchanges(self.store, owner, conversation_id, after, limit)

    async def summary(self, user_id: str, conversation_id: str) -> Summary | None:
        """Return what its older exchanges come to."""
        return await self.store.conversations.summary(owner_of(user_id), conversation_id)

    async def change(
        self,
        user_id: str,
        conversation_id: str,
        title: str | None,
        metadata: Mapping[str, Any] | None,
    ) -> Conversation:
        """Name it, so that no helper does, or replace what programs keep with it."""
        owner, log = owner_of(user_id), self.store.conversations
        if title is not None:
            await log.set_title(owner, conversation_id, one_line(title), "person")
        if metadata is not None:
            await log.set_metadata(owner, conversation_id, metadata)
        return await self.get(user_id, conversation_id)

    async def fork(
        self, user_id: str, conversation_id: str, through: int, new_id: str = ""
    ) -> Conversation:
        """Begin another one with its exchanges up to a number; `new_id`: its id, else a new one.

        Raises:
            UnknownConversation: there is none, or one of the new id.
            NotForkable: it has no such number yet.
        """
        known = await self.get(user_id, conversation_id)
        newest = known.started - (known.busy is not None)
        if through > newest:
            why = "has not ended" if through == known.started else "is not there"
            text = f"through is 0 to {newest}, the newest exchange that has ended; {through} {why}"
            raise NotForkable(text)
        now = self.store.now()
        owner, time = owner_of(user_id), rfc3339(now)
        copy = Conversation(owner, new_id or new_run_id(now), time, time)
        if not await self.store.conversations.fork(owner, conversation_id, through, copy):
            raise UnknownConversation(conversation_id)
        return await self.get(user_id, copy.conversation_id)

    async def delete(
        self, user_id: str, conversation_id: str, request_id: str = "", *, cancels: bool = False
    ) -> None:
        """Delete one, with its runs and all that is kept of them.

        Args:
            user_id: of the user.
            conversation_id: the conversation.
            request_id: published where a run is ended.
            cancels: end the runs that are at work or wait first.

        Raises:
            UnknownConversation, StoreError
            ConversationBusy: a run is at work or paused.
        """
        owner = owner_of(user_id)
        while True:
            match await self.store.conversations.delete(owner, conversation_id):
                case "deleted":
                    return
                case "none":
                    raise UnknownConversation(conversation_id)
                case "busy":
                    known = await self.get(user_id, conversation_id)
                    if not cancels:
                        remedy = "delete it when it has, or with cancel=1, which ends the run"
                        raise ConversationBusy(known.busy, remedy)
                    await self._end(known, request_id)

    async def _end(self, known: Conversation, request_id: str) -> None:
        """End the run that a conversation is busy with."""
        if known.busy is not None:
            with contextlib.suppress(RunEnded, UnknownRun):
                await self._canceller.cancel(known.busy, request_id)
                await self._reader.outcome(known.busy)

    async def all_exchanges(self, user_id: str, conversation_id: str) -> list[Exchange]:
        """Return all of them, in order; the open one is the last."""
        return await all_exchanges(self.store, owner_of(user_id), conversation_id)


async def read_exchanges(
    store: RunStore, owner: str, conversation_id: str, after: int, limit: int
) -> list[Exchange]:
    """Return those with a number above `after`, in order.

    The open one is the last. Raises StoreError.
    """
    known = await store.conversations.get(owner, conversation_id)
    busy = known.busy if known is not None else None
    # read before the others: one that ends meanwhile is among them
    still_open = await _open_exchange(store, busy) if busy is not None else None
    found = await store.conversations.exchanges(owner, conversation_id, after, limit)
    last = found[-1].number if found else after
    if still_open is not None and still_open.number > last and len(found) < limit:
        found.append(still_open)
    return found


async def _open_exchange(store: RunStore, run_id: str) -> Exchange | None:
    """Return the exchange of a run that is at work or paused; None if it has ended."""
    row, state = await store.row(run_id), RunState(run_id, Limits())
    if row is None or row.ended_at is not None:
        return None
    with contextlib.suppress(Unreadable):
        await replay(store, state)
    said, attached = tuple(state.said), state.query.attachments
    names = [(one.agent_id, one.agent) for one in said if one.agent_id]
    agent_id, agent = names[-1] if names else (row.agent_id or "", row.agent_id or "")
    place = (row.exchange, run_id, row.query, "", agent_id, agent, row.status, row.started_at, "")
    return Exchange(*place, said, attached=attached)


async def all_exchanges(store: RunStore, owner: str, conversation_id: str) -> list[Exchange]:
    """Return all of a conversation's, in order; the open one is the last. Raises StoreError."""
    found: list[Exchange] = []
    while page := await read_exchanges(
        store, owner, conversation_id, found[-1].number if found else 0, PAGE
    ):
        found += page
    return found


def one_line(title: str) -> str:
    """Return a title on one line, of at most MAX_TITLE characters."""
    return " ".join(title.split())[:MAX_TITLE]


def as_markdown(conversation: Conversation, exchanges: list[Exchange]) -> str:
    """Return a conversation for people to read."""
    parts = [f"# {conversation.title or conversation.conversation_id}"]
    for one in exchanges:
        parts.append(f"## {one.number}. {one.started_at}")
        parts.append(_quoted(one.query))
        parts += [
            f"**{part.agent}:** {part.text}" if part.agent_id else _quoted(part.text)
            for part in one.said
        ]
        parts.append(f"**{one.agent}:** {one.answer}" if one.answer else f"*{one.status}*")
    return "\n\n".join(parts) + "\n"


def _quoted(text: str) -> str:
    return "\n".join(f"> {line}" for line in text.splitlines())
