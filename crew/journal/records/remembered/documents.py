"""Documents: their text, and the passages of it that words find.

Pure but for the contract: how passages rank. Each store does the rest in its own way.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from crew.journal.records.remembered.recall import Terms
from crew.journal.records.remembered.vectors import QueryVector

# received: its bytes are kept; summarizing: it is searched, and will have a summary
DocumentStatus = Literal["received", "reading", "summarizing", "ready", "failed"]
WAITING: frozenset[DocumentStatus] = frozenset({"received", "reading"})


def may_be(state: str, status: DocumentStatus) -> bool:
    """Return whether a version may have a status: one that is not searched yet, or is."""
    is_new = status in (*WAITING, "failed")
    return state == ("new" if is_new else "live")


@dataclass(frozen=True, slots=True)
class StoredDocument:
    """A version of a document. Times are RFC 3339, UTC."""

    owner: str
    # the greater, the newer
    document_id: str
    collection: str
    name: str
    # of its bytes, in hexadecimal
    sha256: str
    # as `FileKind` has them, or of an image
    kind: str
    # bytes
    size: int
    created_at: str
    # the caller, or "" for a file of the crew's
    who: str
    status: DocumentStatus = "received"
    # of the newest change of its status
    changed_at: str = ""
    # why it failed
    reason: str = ""
    summary: str = ""
    # what was left out when it was read
    notes: tuple[str, ...] = ()
    # of its text, its passages, and the words of these
    chars: int = 0
    chunks: int = 0
    words: int = 0
    # passages of which it was said what they are about
    described: int = 0
    # the version that was searched when this one came, until this one is; "" for none
    replaces: str = ""


@dataclass(frozen=True, slots=True)
class Passage:
    """A piece of a document's text that is searched."""

    # from 0 on
    number: int
    # in characters of the text
    start: int
    end: int
    # in the file: a page, a heading; "" where there is none
    place: str
    text: str
    terms: Terms
    # how many words it has
    length: int
    # what it is about; "" where no helper has said so
    about: str = ""


@dataclass(frozen=True, slots=True)
class FoundPassage:
    """A passage that words have found."""

    document: StoredDocument
    number: int
    start: int
    end: int
    place: str
    text: str
    about: str
    score: float


@dataclass(frozen=True, slots=True)
class DocumentSearch:
    """What is looked for, in collections that each have one owner."""

    # by collection
    owners: Sequence[tuple[str, str]]
    terms: Sequence[str]
    most: int
    # in this document alone; "" for all
    document_id: str = ""


@dataclass(frozen=True, slots=True)
class DocumentLimits:
    """What an owner may have in a collection."""

    files: int
    chars: int
    passages: int
    # they get vectors
    embeds: bool = False


@dataclass(frozen=True, slots=True)
class AddedDocument:
    """What has become of bytes that were sent."""

    # full: there are too many; nowhere: the conversation does not exist
    op: Literal["added", "same", "full", "nowhere"]
    document: StoredDocument | None = None


def best_passages(found: Sequence[FoundPassage]) -> list[FoundPassage]:
    """Return passages best first; of equal ones of the newest document, in order."""
    newest = sorted(found, key=lambda one: one.number)
    newest.sort(key=lambda one: (one.score, one.document.document_id), reverse=True)
    return newest


class DocumentLog(Protocol):
    """Keeps documents. The owner comes first in all; methods raise StoreError.

    A version with a name that is there already takes the place of the other when it is searchable.
    What is deleted is found no more at once; its passages go in parts, by `drop`.
    """

    async def add(
        self, document: StoredDocument, content: bytes, limits: DocumentLimits
    ) -> AddedDocument:
        """Keep a document and its bytes, with the chore that reads it.

        The same bytes under the same name are the same document, unless that has failed. Of older
        versions the one that is searched stays, and the newest that is still to be read: this one
        may turn out to be unreadable.
        """
        ...

    async def keep(
        self, document: StoredDocument, content: bytes, limits: DocumentLimits
    ) -> AddedDocument:
        """Keep a document that is not read: it is ready at once, and its bytes stay.

        The same bytes under the same name are the same document. Its conversation may begin later.
        """
        ...

    async def get(self, owner: str, document_id: str) -> StoredDocument | None:
        """Return a version that is not deleted."""
        ...

    async def named(self, owner: str, collection: str, name: str) -> StoredDocument | None:
        """Return the newest version of a name."""
        ...

    async def listed(
        self, owners: Sequence[tuple[str, str]], limit: int = 50, after: str = ""
    ) -> list[StoredDocument]:
        """Return the versions of collections, newest first.

        Args:
            owners: collections with their owners.
            limit: so many at most.
            after: the id of the last one of the page before.
        """
        ...

    async def everything_of(self, owner: str) -> list[StoredDocument]:
        """Return the versions of an owner in all collections, newest first."""
        ...

    async def content(self, owner: str, document_id: str) -> bytes | None:
        """Return the bytes of one that was not read yet, or is never read."""
        ...

    async def text(self, owner: str, document_id: str, start: int, chars: int) -> str | None:
        """Return characters of the text of one that was read."""
        ...

    async def change(self, document: StoredDocument) -> bool:
        """Keep what has changed of a version; the bytes of one that failed are deleted.

        False: it is deleted, or has come further meanwhile.
        """
        ...

    async def add_passages(self, document: StoredDocument, passages: Sequence[Passage]) -> bool:
        """Add passages of a version that is not searched yet; False: it is deleted."""
        ...

    async def publish(self, document: StoredDocument, text: str, limits: DocumentLimits) -> str:
        """Let a version be searched, in the place of the one before, with its text.

        Returns:
            "" if it is; else why not: `deleted`, `chars` or `passages` (there would be too many),
            `differs` (it has not the passages that it says: another process reads it, too).
        """
        ...

    async def passages(self, owner: str, document_id: str, first: int, limit: int) -> list[Passage]:
        """Return passages of a version from a number on, in order, without their words."""
        ...

    async def describe(self, document: StoredDocument, passage: Passage) -> bool:
        """Keep what a passage is about, with the words of that, by which it is found, too.

        One that was described stays as it is. False: the version is deleted.
        """
        ...

    async def search(self, search: DocumentSearch) -> list[FoundPassage]:
        """Return the best passages, best first; of equal ones of the newest document, in order."""
        ...

    async def nearest(self, search: DocumentSearch, query: QueryVector) -> list[FoundPassage]:
        """Return the passages with the vectors that are most alike, best first."""
        ...

    async def delete(self, owner: str, collection: str, name: str) -> list[StoredDocument]:
        """Delete all versions of a name, with chores that drop their passages; return them."""
        ...

    async def drop(self, owner: str, document_id: str, limit: int) -> int:
        """Delete some passages of a version; of one that is deleted, at last all there is.

        Returns:
            How many passages; 0 at the end.
        """
        ...

    async def owners(self, beginning: str) -> list[str]:
        """Return the owners of documents that begin so, also of documents that are deleted."""
        ...

    async def erase(self, owner: str, limit: int) -> int:
        """Delete some passages of an owner and, where there are none, all the rest.

        Returns:
            How many passages and documents; 0 where nothing is left.
        """
        ...
