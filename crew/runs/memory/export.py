"""All that is kept of a user, one thing after the other."""

import base64
from collections.abc import AsyncIterator
from dataclasses import asdict
from typing import Any

from pydantic_core import from_json

from crew.documents.images import IMAGES
from crew.journal.records.conversations import owner_of
from crew.journal.records.listing import RunFilter
from crew.journal.records.remembered.core import conversation_of, conversation_owner
from crew.journal.records.rows import PAGE
from crew.journal.store import RunStore
from crew.runs.conversations.conversations import all_exchanges

# of each list, in one read
AT_ONCE = 100
# the kind of a thing, and the thing as JSON
Exported = tuple[str, dict[str, Any]]


async def everything_of(store: RunStore, user_id: str) -> AsyncIterator[Exported]:
    """Yield what a store has of a user: runs with events, conversations, memory, calls, audit.

    Raises:
        StoreError: it could not be read; what came before is not all.
    """
    owner = owner_of(user_id)
    async for exported in _runs(store, user_id):
        yield exported
    owners = [owner]
    async for kind, value in _conversations(store, owner):
        if kind == "conversation":
            owners.append(conversation_owner(owner, value["conversation_id"]))
        yield kind, value
    # an image may have come before its conversation
    for place in await document_owners(store, owner):
        owners += [place] if place not in owners else []
    for place in owners:
        async for exported in _memory(store, place):
            yield exported
    async for exported in _calls(store, user_id):
        yield exported
    for grant in await store.grants.of_user(user_id):
        yield "grant", asdict(grant)
    for entry in await store.people.audit(user_id):
        yield "audit", asdict(entry)


async def document_owners(store: RunStore, owner: str) -> list[str]:
    """Return the conversations of a user that have documents, also deleted ones."""
    found = await store.documents.owners(conversation_owner(owner, ""))
    # an id may have a colon: of another user
    return [one for one in found if (conversation_of(one) or ("",))[0] == owner]


async def _runs(store: RunStore, user_id: str) -> AsyncIterator[Exported]:
    wanted, last = RunFilter(user_id=user_id), None
    while found := await store.rows(wanted, AT_ONCE, last, oldest_first=True):
        for listed in found:
            # a list has the beginning of an answer alone
            row = await store.row(listed.run_id)
            if row is None:
                continue
            yield "run", asdict(row)
            seq = 0
            while True:
                page = await store.records(row.run_id, seq, PAGE)
                for record in page:
                    seq = record.seq
                    event = {"run_id": row.run_id, "seq": seq, **from_json(record.public)}
                    yield "event", event
                if page.is_last:
                    break
        last = found[-1].run_id


async def _calls(store: RunStore, user_id: str) -> AsyncIterator[Exported]:
    after = ("", "")
    while found := await store.costs.of_user(user_id, after, AT_ONCE):
        for one in found:
            yield "call", asdict(one)
        after = (found[-1].at, found[-1].id)


async def _conversations(store: RunStore, owner: str) -> AsyncIterator[Exported]:
    after: tuple[str, str] | None = None
    while found := await store.conversations.listed(owner, AT_ONCE, after):
        for one in found:
            place = (owner, one.conversation_id)
            yield "conversation", asdict(one)
            for exchange in await all_exchanges(store, *place):
                yield "exchange", {"conversation_id": one.conversation_id, **asdict(exchange)}
            summary = await store.conversations.summary(*place)
            while summary is not None:
                yield "summary", {"conversation_id": one.conversation_id, **asdict(summary)}
                summary = await store.conversations.summary(*place, summary.through - 1)
        after = (found[-1].used_at, found[-1].conversation_id)


async def _memory(store: RunStore, owner: str) -> AsyncIterator[Exported]:
    for newest in await store.core.newest([owner]):
        for version in await store.core.versions(owner, newest.block):
            yield "core", asdict(version)
    last = ""
    while items := await store.recall.listed(owner, AT_ONCE, last, replaced=True):
        for item in items:
            yield "recall", asdict(item)
        last = items[-1].item_id
    for document in await store.documents.everything_of(owner):
        place = (owner, document.document_id)
        text = await store.documents.text(*place, 0, max(1, document.chars))
        more: dict[str, Any] = {"text": text}
        if document.collection == IMAGES:
            content = await store.documents.content(*place) or b""
            more = {"content": base64.b64encode(content).decode()}
        yield "document", {**asdict(document), **more}
