"""What people send with their words: images are kept, and documents are found."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

from agents.messages import Attachment
from crew.documents.images import IMAGE_LIMITS, IMAGES
from crew.documents.names import new_document_id
from crew.journal.records.remembered.core import owner_in
from crew.journal.records.remembered.documents import StoredDocument
from crew.runs.documents.library import DocumentLibrary, digest_of_bytes
from crew.runs.errors import AttachmentRefused, DocumentRefused
from tools.clock import rfc3339


@dataclass(frozen=True, slots=True)
class GivenAttachment:
    """One of a request: an image, or the id of a document that is kept already."""

    document_id: str = ""
    content: bytes = b""
    # of an image: png, jpeg, webp
    kind: str = ""


async def attach(
    library: DocumentLibrary,
    given: Sequence[GivenAttachment],
    who: str,
    user_id: str,
    conversation_id: str,
) -> tuple[Attachment, ...]:
    """Keep the images of a request, find its documents, and return both.

    Args:
        library: of the crew.
        given: in the request.
        who: the name of the caller.
        user_id: of the user.
        conversation_id: that it goes on with; "" for none.

    Raises:
        AttachmentRefused: one is not there, or cannot be attached.
        DocumentRefused: the conversation has too many images.
        StoreError: the store does not answer.
    """
    if not library.has_conversations or not conversation_id:
        why = (
            "needs a conversation_id: what is attached belongs to a conversation"
            if library.has_conversations
            else "this crew takes none: it has no conversations"
        )
        raise AttachmentRefused(0, why)
    out: list[Attachment] = []
    for place, one in enumerate(given):
        if one.content:
            document = await _keep(library, one, who, user_id, conversation_id)
        else:
            found = await _find(library, one.document_id, user_id, conversation_id)
            if found is None:
                raise AttachmentRefused(place, f"there is no document {one.document_id!r}")
            document = found
        if document.status == "failed":
            text = f"{document.name} could not be read: {document.reason}"
            raise AttachmentRefused(place, text)
        media_type = f"image/{document.kind}" if document.collection == IMAGES else ""
        attached = (document.document_id, document.name, document.collection, media_type)
        out.append(Attachment(*attached))
    return tuple(dict.fromkeys(out))


async def _keep(
    library: DocumentLibrary,
    given: GivenAttachment,
    who: str,
    user_id: str,
    conversation_id: str,
) -> StoredDocument:
    """Keep an image; the same bytes are the same document."""
    owner = owner_in("conversation", user_id, conversation_id)
    assert owner is not None, "it names a conversation"
    digest = await asyncio.to_thread(digest_of_bytes, given.content)
    now = library.store.now()
    at, name = rfc3339(now), f"{digest[:12]}.{given.kind}"
    place = (owner, new_document_id(now), IMAGES, name)
    size = len(given.content)
    document = StoredDocument(*place, digest, given.kind, size, at, who, "ready", at)
    kept = await library.store.documents.keep(document, given.content, IMAGE_LIMITS)
    if kept.document is None:
        text = f"the conversation has {IMAGE_LIMITS.files} images; delete one first"
        raise DocumentRefused("full", text)
    return kept.document


async def _find(
    library: DocumentLibrary, document_id: str, user_id: str, conversation_id: str
) -> StoredDocument | None:
    """Return a document that this user has in the conversation."""
    for collection, owner in library.places(user_id, conversation_id):
        found = await library.store.documents.get(owner, document_id)
        if found is not None and found.collection == collection:
            return found
    return None
