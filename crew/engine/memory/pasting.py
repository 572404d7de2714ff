"""The texts of a run that a person may have pasted: of tools and documents, as it had them."""

from collections.abc import Iterator, Sequence
from typing import Any

from pydantic_core import from_json

from agents.events import ContextShown, ToolReturned
from agents.messages import Attachment
from crew.journal.records.conversations import CREW_OWNER, Exchange, owner_of
from crew.journal.records.remembered.core import conversation_owner, user_in
from crew.journal.records.rows import PAGE
from crew.journal.remembered.events import DocumentsShown
from crew.journal.replay import read_event
from crew.journal.store import RunStore
from crew.memory.proofs import PASTED

# of each document; behind so many no more of those are read that were only listed
MAX_CHARS = 5_000_000
# earlier exchanges of a conversation
MAX_EARLIER = 20


async def texts_of_others(
    store: RunStore,
    run_id: str,
    owners: Sequence[str],
    attached: Sequence[Attachment],
    known: set[str],
) -> list[str]:
    """Return what tools gave in a run, and documents: shown, listed to its agents or attached.

    Args:
        store: has them, as far as the run's events are kept.
        run_id: of the run.
        owners: that its documents may have.
        attached: what the person has sent.
        known: documents that are left out; gets those that are returned.

    Raises:
        StoreError: it failed.
    """
    found: list[str] = []
    documents = dict.fromkeys(one.document_id for one in attached if not one.media_type)
    listed: dict[str, None] = {}
    seq = 0
    while True:
        page = await store.records(run_id, seq, PAGE)
        for record in page:
            event, _ = read_event(record, run_id)
            seq = record.seq
            if isinstance(event, ToolReturned):
                found += texts_of_output(event.result.output)
            elif isinstance(event, DocumentsShown):
                documents |= dict.fromkeys(one.document_id for one in event.passages)
            elif isinstance(event, ContextShown):
                shown = [one.ids for one in event.blocks if one.kind == "documents"]
                listed |= dict.fromkeys(id_ for ids in shown for id_ in ids)
        if page.is_last:
            break
    left = MAX_CHARS
    new = [one for one in {**documents, **listed} if one not in known]
    for document_id in new:
        if left <= 0 and document_id not in documents:
            break
        known.add(document_id)
        for owner in owners:
            text = await store.documents.text(owner, document_id, 0, MAX_CHARS)
            if text is not None:
                found.append(text)
                left -= len(text)
                break
    return found


async def texts_beside(
    store: RunStore, owner: str, conversation_id: str, one: Exchange, known: set[str]
) -> list[str]:
    """Return these texts of the run of an exchange; `known`: see there. Raises StoreError."""
    attached = [*one.attached, *(sent for part in one.said for sent in part.attached)]
    owners = owners_of_documents(user_in(owner), conversation_id)
    return await texts_of_others(store, one.run_id, owners, attached, known)


async def texts_before(
    store: RunStore, owner: str, conversation_id: str, number: int, known: set[str]
) -> list[str]:
    """Return these texts of the exchanges before one with a number, of the newest of them.

    `known`: see `texts_of_others`. Raises StoreError.
    """
    place, first = (owner, conversation_id), max(0, number - 1 - MAX_EARLIER)
    earlier = await store.conversations.exchanges(*place, first, MAX_EARLIER)
    found: list[str] = []
    for one in earlier:
        if one.number < number:
            found += await texts_beside(store, *place, one, known)
    return found


def owners_of_documents(user_id: str, conversation_id: str) -> tuple[str, ...]:
    """Return the owners that documents of a run may have."""
    owner = owner_of(user_id)
    of_conversation = (conversation_owner(owner, conversation_id),) if conversation_id else ()
    return (CREW_OWNER, owner, *of_conversation)


def texts_of_output(output: str) -> list[str]:
    """Return the output of a tool, and the long texts in it where it is JSON."""
    if output.lstrip()[:1] not in ("{", "["):
        return [output]
    try:
        data = from_json(output)
    except ValueError:
        return [output]
    return [output, *(text for text in _texts(data) if len(text) >= PASTED)]


def _texts(data: Any) -> Iterator[str]:
    match data:
        case str():
            yield data
        case dict():
            for value in data.values():
                yield from _texts(value)
        case list():
            for value in data:
                yield from _texts(value)
