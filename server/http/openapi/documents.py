"""The shapes of answers about documents."""

from typing import Literal, NotRequired

from typing_extensions import TypedDict

from crew.documents.reading.kinds import FileKind
from crew.journal.records.remembered.documents import DocumentStatus
from server.http.openapi.answers import Time


class DocumentAnswer(TypedDict):
    """A version of a document."""

    document_id: str
    collection: str
    name: str
    status: DocumentStatus
    # why it failed
    reason: str | None
    summary: str | None
    # what was left out when it was read
    notes: list[str]
    kind: FileKind | Literal["png", "jpeg", "webp"]
    # of its bytes
    size: int
    sha256: str
    # of its text, and its passages
    chars: int
    chunks: int
    created_at: Time
    # of the newest change of its status
    changed_at: Time
    # the name of the caller; null for a file of the crew's
    who: str | None
    # the version that is searched until this one is
    replaces: str | None


class AttachmentAnswer(TypedDict):
    """What a person has sent with their words."""

    document_id: str
    name: str
    collection: str
    # of an image, as `image/png`
    media_type: str | None


# `from` is a word of Python; a place is a page or a heading, from and to are characters of the text
PassageAnswer = TypedDict(
    "PassageAnswer",
    {
        "document": str,
        "name": str,
        "place": str | None,
        "from": int,
        "to": int,
        "text": str,
        "score": float,
    },
)


class DocumentsAnswer(TypedDict):
    """Documents: newest first, or those that words find."""

    documents: list[DocumentAnswer]
    # with `q`
    passages: NotRequired[list[PassageAnswer]]
    next: str | None


DocumentTextAnswer = TypedDict(
    "DocumentTextAnswer",
    {"document_id": str, "from": int, "to": int, "chars": int, "text": str},
)
