"""Documents as people and programs handle them: uploaded, listed, read, searched, deleted."""

import asyncio
import hashlib
from collections.abc import Callable, Iterator

from crew.crew import Crew
from crew.documents.images import IMAGES
from crew.documents.names import NameRefused, checked_name, new_document_id
from crew.documents.reading.kinds import UnknownKind, kind_of_file
from crew.documents.rules import IMAGES_RULE, CollectionRule
from crew.engine.memory.counting import counting
from crew.engine.memory.finding import patient_finder
from crew.journal.records.remembered.core import owner_in
from crew.journal.records.remembered.documents import DocumentSearch, FoundPassage, StoredDocument
from crew.journal.store import RunStore
from crew.runs.documents.folder import sync_folder
from crew.runs.errors import DocumentRefused, UnknownConversation, UnknownDocument
from crew.runs.memory.vectors import begin_embeddings
from tools.clock import rfc3339


class DocumentLibrary:
    """The documents of a crew, in its store."""

    def __init__(self, store: RunStore, crew: Callable[[], Crew]) -> None:
        """Of a store; `crew`: returns the newest, which says what collections there are."""
        self.store, self._crew = store, crew

    async def sync(self) -> None:
        """Bring the store into step with the crew's files; raises StoreError.

        The documents of its folder are as these are, and texts get the vectors of its models.
        """
        crew = self._crew()
        await sync_folder(self.store, crew)
        await begin_embeddings(self.store, crew)

    @property
    def has_conversations(self) -> bool:
        """Whether runs can belong to conversations, and so have attachments."""
        return self._crew().config.conversations is not None

    def places(self, user_id: str, conversation_id: str) -> Iterator[tuple[str, str]]:
        """Yield all collections of a user in a conversation, each with its owner in it."""
        rules = self._crew().documents
        yield from rules.owners(rules.collections, user_id, conversation_id)
        owner = owner_in("conversation", user_id, conversation_id)
        if self.has_conversations and owner is not None:
            yield IMAGES, owner

    def rule(self, collection: str) -> CollectionRule:
        """Return the rule of a collection; raises UnknownDocument."""
        if collection == IMAGES and self.has_conversations:
            return IMAGES_RULE
        rule = self._crew().documents.collections.get(collection)
        if rule is None:
            raise UnknownDocument(f"there is no collection {collection!r}")
        return rule

    async def upload(
        self,
        collection: str,
        name: str,
        content: bytes,
        who: str,
        user_id: str,
        conversation_id: str = "",
    ) -> tuple[StoredDocument, bool]:
        """Keep a document; return it, and whether it is new: the same bytes are the same document.

        Args:
            collection: that it is in.
            name: of the document.
            content: its bytes.
            who: the name of the caller.
            user_id: of the user.
            conversation_id: where the collection belongs to one.

        Raises:
            UnknownDocument: there is no such collection of this user.
            UnknownConversation: nor such a conversation.
            DocumentRefused: it may not be kept.
        """
        rule, owner = self._find(collection, user_id, conversation_id)
        require_uploads(rule)
        require_size(rule, len(content))
        try:
            kept = checked_name(self._crew().secrets.mask(name))
        except NameRefused as error:
            raise DocumentRefused("name", str(error)) from error
        try:
            kind = kind_of_file(content, kept)
        except UnknownKind as error:
            raise DocumentRefused("kind", f"{kept} {error}") from error
        if kind not in rule.accept:
            accepted = ", ".join(sorted(rule.accept))
            text = f"{kept} is {kind}; {collection} takes {accepted}"
            raise DocumentRefused("kind", text)
        now = self.store.now()
        at, digest = rfc3339(now), await asyncio.to_thread(digest_of_bytes, content)
        document = StoredDocument(
            *(owner, new_document_id(now), collection, kept, digest, kind, len(content)),
            *(at, who),
            changed_at=at,
        )
        added = await self.store.documents.add(document, content, rule.limits)
        if added.op == "nowhere":
            raise UnknownConversation(conversation_id)
        if added.document is None:
            text = f"{collection} has {rule.limits.files} documents (max_files); delete one first"
            raise DocumentRefused("full", text)
        return added.document, added.op == "added"

    async def listed(
        self, collection: str, user_id: str, conversation_id: str, limit: int, after: str = ""
    ) -> list[StoredDocument]:
        """Return documents, newest first; raises UnknownDocument."""
        _, owner = self._find(collection, user_id, conversation_id)
        return await self.store.documents.listed([(collection, owner)], limit, after)

    async def searched(
        self, collection: str, user_id: str, conversation_id: str, query: str, limit: int
    ) -> list[FoundPassage]:
        """Return the passages that words find, best first; raises UnknownDocument."""
        _, owner = self._find(collection, user_id, conversation_id)
        words = self._crew().documents.words
        if words is None:
            # images alone, which have no words
            return []
        search = DocumentSearch([(collection, owner)], words.query(query), limit)
        emit = counting(self._crew(), self.store, user_id, conversation_id)
        return await patient_finder(self._crew(), self.store, emit).passages(search, query) or []

    async def get(
        self, collection: str, name: str, user_id: str, conversation_id: str
    ) -> StoredDocument:
        """Return the newest version of a document; raises UnknownDocument."""
        _, owner = self._find(collection, user_id, conversation_id)
        found = await self.store.documents.named(owner, collection, _name(name))
        if found is None:
            raise _unknown(collection, name)
        return found

    async def text(
        self,
        collection: str,
        name: str,
        user_id: str,
        conversation_id: str,
        start: int,
        chars: int,
    ) -> tuple[StoredDocument, str]:
        """Return the version that is searched, and characters of its text.

        Raises:
            UnknownDocument: there is none, or it was not read yet.
        """
        newest = await self.get(collection, name, user_id, conversation_id)
        searched: StoredDocument | None = newest
        if newest.replaces:
            searched = await self.store.documents.get(newest.owner, newest.replaces)
        found = None
        if searched is not None:
            place = (searched.owner, searched.document_id)
            found = await self.store.documents.text(*place, start, chars)
        if searched is None or found is None:
            raise UnknownDocument(f"{name!r} has no text yet: its status is {newest.status}")
        return searched, found

    async def content(
        self, collection: str, name: str, user_id: str, conversation_id: str
    ) -> tuple[StoredDocument, bytes]:
        """Return an image and its bytes; raises UnknownDocument, also for what is no image."""
        found = await self.get(collection, name, user_id, conversation_id)
        if collection != IMAGES:
            raise UnknownDocument(f"{name!r} is no image: its text is kept, and not its bytes")
        content = await self.store.documents.content(found.owner, found.document_id)
        if content is None:
            raise _unknown(collection, name)
        return found, content

    async def delete(self, collection: str, name: str, user_id: str, conversation_id: str) -> None:
        """Delete a document; raises UnknownDocument and DocumentRefused."""
        rule, owner = self._find(collection, user_id, conversation_id)
        if rule is not IMAGES_RULE:
            require_uploads(rule)
        if not await self.store.documents.delete(owner, collection, _name(name)):
            raise _unknown(collection, name)

    def _find(
        self, collection: str, user_id: str, conversation_id: str
    ) -> tuple[CollectionRule, str]:
        rule = self.rule(collection)
        owner = owner_in(rule.scope, user_id, conversation_id)
        if owner is None:
            needs = "conversation_id" if rule.scope == "conversation" else "user_id"
            raise UnknownDocument(f"{collection} belongs to a {rule.scope}: it needs {needs}")
        return rule, owner


def digest_of_bytes(content: bytes) -> str:
    """Return by which the same bytes are known again."""
    return hashlib.sha256(content).hexdigest()


def require_uploads(rule: CollectionRule) -> None:
    """Raise DocumentRefused where documents come otherwise."""
    if rule is IMAGES_RULE:
        text = f"{rule.name} are sent with a query (attachments), not uploaded"
        raise DocumentRefused("folder", text)
    if rule.files:
        text = f"{rule.name} has the files of the crew's folder; it takes no uploads"
        raise DocumentRefused("folder", text)


def require_size(rule: CollectionRule, size: int) -> None:
    """Raise DocumentRefused for too many bytes, or none."""
    if size > rule.max_bytes:
        most = rule.max_bytes / 1_000_000
        raise DocumentRefused("large", f"a document has {most:g} MB at most (max_file_mb)")
    if not size:
        raise DocumentRefused("kind", "a document that is empty is not kept")


def _name(name: str) -> str:
    try:
        return checked_name(name)
    except NameRefused as error:
        raise UnknownDocument(f"there is no such document: {error}") from error


def _unknown(collection: str, name: str) -> UnknownDocument:
    return UnknownDocument(f"there is no document {name!r} in {collection}")
