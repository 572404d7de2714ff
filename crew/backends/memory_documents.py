"""Documents of a store that ends with its process."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import count
from typing import Literal

from crew.backends.memory_chores import MemoryChores
from crew.backends.memory_vectors import MemoryVectors, Text
from crew.journal.records.conversations import DUE, Chore
from crew.journal.records.remembered.core import conversation_of
from crew.journal.records.remembered.documents import (
    WAITING,
    AddedDocument,
    DocumentLimits,
    DocumentSearch,
    FoundPassage,
    Passage,
    StoredDocument,
    best_passages,
    may_be,
)
from crew.journal.records.remembered.recall import SCORE_STEPS, weights_of, word_score
from crew.journal.records.remembered.vectors import DEPTH, QueryVector

# of a version: its numbers do not meet those of another
MAX_PASSAGES = 1_000_000


@dataclass(slots=True)
class _Version:
    """What is kept of a document."""

    document: StoredDocument
    content: bytes | None
    state: Literal["new", "live", "gone"] = "new"
    text: str = ""
    passages: list[Passage] = field(default_factory=list)
    # of its passages
    words: int = 0
    # by which its passages have numbers
    place: int = field(default_factory=count().__next__)


class MemoryDocuments:
    """See DocumentLog."""

    def __init__(
        self, chores: MemoryChores, has_conversation: Callable[[tuple[str, str]], bool]
    ) -> None:
        """Of a store.

        Args:
            chores: of the store.
            has_conversation: returns whether there is one of an owner and an id.
        """
        self._chores, self._has_conversation = chores, has_conversation
        # by owner and id, in the order in which they came
        self._versions: dict[str, dict[str, _Version]] = {}
        self.vectors = MemoryVectors(chores, self._texts)

    def _texts(self) -> Iterator[Text]:
        for owner, owned in self._versions.items():
            for one in owned.values():
                if one.state == "live":
                    for passage in one.passages:
                        text = "\n".join(filter(None, (passage.place, passage.text)))
                        yield owner, one.document.collection, _number(one, passage), text

    def _of_name(self, owner: str, collection: str, name: str) -> list[_Version]:
        """Return the versions of a name, newest first."""
        versions = sorted(self._versions.get(owner, {}).items(), reverse=True)
        return [
            one
            for _, one in versions
            if one.state != "gone"
            and (one.document.collection, one.document.name) == (collection, name)
        ]

    def _remove(self, version: _Version) -> None:
        version.state, version.content, version.text = "gone", None, ""
        self.vectors.prune()
        one = version.document
        self._chores.insert(Chore("drop", one.owner, one.document_id, DUE))

    def remove_all(self, owner: str) -> None:
        """Delete all versions of an owner, with what they belong to."""
        for version in self._versions.get(owner, {}).values():
            if version.state != "gone":
                self._remove(version)

    async def add(
        self, document: StoredDocument, content: bytes, limits: DocumentLimits
    ) -> AddedDocument:
        """See DocumentLog."""
        conversation = conversation_of(document.owner)
        if conversation is not None and not self._has_conversation(conversation):
            return AddedDocument("nowhere")
        owned = self._versions.setdefault(document.owner, {})
        versions = self._of_name(document.owner, document.collection, document.name)
        if versions:
            newest = versions[0].document
            if newest.sha256 == document.sha256 and newest.status != "failed":
                if newest.status in WAITING:
                    self._chores.insert(_reading(newest))
                return AddedDocument("same", newest)
        else:
            known = [one.document for one in owned.values() if one.state != "gone"]
            names = {one.name for one in known if one.collection == document.collection}
            if len(names) >= limits.files:
                return AddedDocument("full")
        unread = [one for one in versions if one.state != "live"]
        waiting = [one for one in unread if one.document.status != "failed"]
        for version in unread:
            if version not in waiting[:1]:
                self._remove(version)
        added = replace(document, replaces=_searched(versions))
        owned[added.document_id] = _Version(added, content)
        self._chores.insert(_reading(added))
        return AddedDocument("added", added)

    async def keep(
        self, document: StoredDocument, content: bytes, limits: DocumentLimits
    ) -> AddedDocument:
        """See DocumentLog."""
        place = (document.owner, document.collection)
        for version in self._of_name(*place, document.name):
            if version.document.sha256 == document.sha256:
                return AddedDocument("same", version.document)
        owned = self._versions.setdefault(document.owner, {})
        known = [one.document for one in owned.values() if one.state != "gone"]
        names = {one.name for one in known if one.collection == document.collection}
        if len(names) >= limits.files:
            return AddedDocument("full")
        kept = _Version(document, content)
        kept.state = "live"
        owned[document.document_id] = kept
        return AddedDocument("added", document)

    def _find(self, owner: str, document_id: str) -> _Version | None:
        version = self._versions.get(owner, {}).get(document_id)
        return version if version is not None and version.state != "gone" else None

    async def get(self, owner: str, document_id: str) -> StoredDocument | None:
        """See DocumentLog."""
        version = self._find(owner, document_id)
        return version.document if version is not None else None

    async def named(self, owner: str, collection: str, name: str) -> StoredDocument | None:
        """See DocumentLog."""
        versions = self._of_name(owner, collection, name)
        return versions[0].document if versions else None

    async def listed(
        self, owners: Sequence[tuple[str, str]], limit: int = 50, after: str = ""
    ) -> list[StoredDocument]:
        """See DocumentLog."""
        found = [
            one
            for collection, owner in owners
            for one in await self.everything_of(owner)
            if one.collection == collection and (not after or one.document_id < after)
        ]
        return sorted(found, key=lambda one: one.document_id, reverse=True)[:limit]

    async def everything_of(self, owner: str) -> list[StoredDocument]:
        """See DocumentLog."""
        versions = sorted(self._versions.get(owner, {}).items(), reverse=True)
        return [one.document for _, one in versions if one.state != "gone"]

    async def content(self, owner: str, document_id: str) -> bytes | None:
        """See DocumentLog."""
        version = self._find(owner, document_id)
        return version.content if version is not None else None

    async def text(self, owner: str, document_id: str, start: int, chars: int) -> str | None:
        """See DocumentLog."""
        version = self._find(owner, document_id)
        if version is None or version.state != "live":
            return None
        return version.text[start : start + chars]

    async def change(self, document: StoredDocument) -> bool:
        """See DocumentLog."""
        version = self._find(document.owner, document.document_id)
        if version is None or not may_be(version.state, document.status):
            return False
        version.document = document
        if document.status == "failed":
            version.content = None
        return True

    async def add_passages(self, document: StoredDocument, passages: Sequence[Passage]) -> bool:
        """See DocumentLog."""
        version = self._find(document.owner, document.document_id)
        if version is None or version.state != "new":
            return False
        version.passages += passages
        return True

    async def publish(self, document: StoredDocument, text: str, limits: DocumentLimits) -> str:
        """See DocumentLog."""
        version = self._find(document.owner, document.document_id)
        if version is None or version.state != "new":
            return "deleted"
        if len(version.passages) != document.chunks:
            return "differs"
        versions = self._of_name(document.owner, document.collection, document.name)
        if _searched(versions) > document.document_id:
            # a newer version was read sooner
            self._remove(version)
            return "deleted"
        place = document.collection, document.owner
        live = [one.document for one in self._live(place) if one.document.name != document.name]
        if sum(one.chars for one in live) + document.chars > limits.chars:
            return "chars"
        if sum(one.chunks for one in live) + document.chunks > limits.passages:
            return "passages"
        for one in versions:
            if one.document.document_id < document.document_id:
                self._remove(one)
            elif one is not version:
                one.document = replace(one.document, replaces=document.document_id)
        version.document, version.state = replace(document, replaces=""), "live"
        version.text, version.content, version.words = text, None, document.words
        if document.status == "summarizing":
            of = document.owner, document.document_id, document.changed_at
            self._chores.insert(Chore("describe", *of))
        if limits.embeds:
            of = document.owner, document.collection, document.changed_at
            self._chores.insert(Chore("embed", *of))
        return ""

    async def passages(self, owner: str, document_id: str, first: int, limit: int) -> list[Passage]:
        """See DocumentLog."""
        version = self._find(owner, document_id)
        kept = version.passages[first : first + limit] if version is not None else []
        return [replace(one, terms={}, length=0) for one in kept]

    async def describe(self, document: StoredDocument, passage: Passage) -> bool:
        """See DocumentLog."""
        version = self._find(document.owner, document.document_id)
        if version is None:
            return False
        known = version.passages[passage.number]
        if not known.about:
            terms = dict(Counter(known.terms) + Counter(passage.terms))
            length = known.length + passage.length
            more = replace(known, about=passage.about, terms=terms, length=length)
            version.passages[passage.number] = more
            version.words += passage.length
        return True

    async def search(self, search: DocumentSearch) -> list[FoundPassage]:
        """See DocumentLog."""
        live = list(self._live(*search.owners))
        passages = [one for version in live for one in version.passages]
        wanted = dict.fromkeys(search.terms)
        uses = {term: sum(term in one.terms for one in passages) for term in wanted}
        weights = weights_of({term: count for term, count in uses.items() if count}, len(passages))
        average = max(1, sum(one.words for one in live)) / max(1, len(passages))
        found: list[FoundPassage] = []
        for version in live:
            if search.document_id not in ("", version.document.document_id):
                continue
            for one in version.passages:
                score = sum(
                    word_score(weight, one.terms[term], one.length, average)
                    for term, weight in weights.items()
                    if term in one.terms
                )
                if score:
                    rounded = round(score * SCORE_STEPS) / SCORE_STEPS
                    found.append(_found(version, one, rounded))
        return best_passages(found)[: search.most]

    def _live(self, *places: tuple[str, str]) -> Iterator[_Version]:
        """Yield what is searched, of collections and their owners."""
        for collection, owner in places:
            for version in self._versions.get(owner, {}).values():
                if version.state == "live" and version.document.collection == collection:
                    yield version

    async def nearest(self, search: DocumentSearch, query: QueryVector) -> list[FoundPassage]:
        """See DocumentLog."""
        found: list[FoundPassage] = []
        for version in self._live(*search.owners):
            document = version.document
            if search.document_id not in ("", document.document_id):
                continue
            for one in version.passages:
                score = self.vectors.alike(document.owner, _number(version, one), query)
                if score is not None:
                    found.append(_found(version, one, score))
        return best_passages(found)[:DEPTH]

    async def delete(self, owner: str, collection: str, name: str) -> list[StoredDocument]:
        """See DocumentLog."""
        versions = self._of_name(owner, collection, name)
        for version in versions:
            self._remove(version)
        return [one.document for one in versions]

    async def drop(self, owner: str, document_id: str, limit: int) -> int:
        """See DocumentLog."""
        version = self._versions.get(owner, {}).get(document_id)
        if version is None:
            return 0
        dropped, version.passages = version.passages[:limit], version.passages[limit:]
        if not dropped and version.state == "gone":
            del self._versions[owner][document_id]
        return len(dropped)

    async def owners(self, beginning: str) -> list[str]:
        """See DocumentLog."""
        return sorted(one for one in self._versions if one.startswith(beginning))

    async def erase(self, owner: str, limit: int) -> int:
        """See DocumentLog."""
        return self.erase_some(owner, limit)

    def erase_some(self, owner: str, limit: int) -> int:
        """Delete as `erase` does."""
        owned = self._versions.get(owner, {})
        for version in owned.values():
            if version.passages:
                dropped, version.passages = version.passages[:limit], version.passages[limit:]
                return len(dropped)
        erased = len(self._versions.pop(owner, {}))
        self.vectors.prune()
        return erased


def _searched(versions: Sequence[_Version]) -> str:
    """Return the id of the version that is searched; "" if none is."""
    return next((one.document.document_id for one in versions if one.state == "live"), "")


def _number(version: _Version, passage: Passage) -> int:
    return version.place * MAX_PASSAGES + passage.number


def _found(version: _Version, one: Passage, score: float) -> FoundPassage:
    place = (one.number, one.start, one.end, one.place, one.text, one.about)
    return FoundPassage(version.document, *place, score)


def _reading(document: StoredDocument) -> Chore:
    return Chore("read", document.owner, document.document_id, document.created_at)
