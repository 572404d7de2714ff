"""What the person has sent with their words: images, which go to models, and documents."""

import base64
from collections.abc import Sequence

from agents.context.loaded import Loaded
from agents.messages import Attachment
from agents.model import ShownImage
from crew.documents.images import IMAGES
from crew.engine.context.sources import Look
from crew.journal.errors import StoreError
from crew.journal.records.remembered.core import owner_in


async def load_attached(look: Look, attached: Sequence[Attachment]) -> Loaded:
    """Return the images, and the collections that give text of others.

    It has no time limit: an answer without the image that it is about is worse than a late one.
    """
    query, rules = look.query, look.documents.collections
    images: dict[str, ShownImage] = {}
    owner = owner_in("conversation", query.user_id, query.conversation_id)
    for one in attached:
        if one.media_type and owner is not None and one.document_id not in images:
            data = await _content(look, owner, one.document_id)
            if data is not None:
                text = base64.b64encode(data).decode()
                images[one.document_id] = ShownImage(one.document_id, one.media_type, text)
    names = dict.fromkeys(one.collection for one in attached)
    untrusted = [
        one for one in names if one == IMAGES or (one in rules and rules[one].is_untrusted)
    ]
    return Loaded(taint=tuple(untrusted), images=images)


async def _content(look: Look, owner: str, document_id: str) -> bytes | None:
    try:
        return await look.store.documents.content(owner, document_id)
    except StoreError:
        # what is said in its place
        return None
