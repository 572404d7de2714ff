"""Collections of documents, as the configuration says; live."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Literal

from crew.documents.cuts import CutRule
from crew.documents.images import IMAGE_LIMITS, IMAGES, MAX_IMAGE_BYTES
from crew.documents.reading.kinds import FileKind
from crew.documents.reading.results import ReadRequest
from crew.journal.records.remembered.core import Scope, owner_in
from crew.journal.records.remembered.documents import DocumentLimits
from crew.memory.words import Words

MAX_PASSAGES = 50_000


@dataclass(frozen=True, slots=True)
class CollectionRule:
    """What may be in a collection, and how it is read."""

    name: str
    description: str
    # patterns in the crew's folder; () for uploads
    files: tuple[str, ...]
    scope: Scope
    accept: frozenset[FileKind]
    # of a file
    max_bytes: int
    limits: DocumentLimits
    cut: CutRule
    summaries: Literal["none", "document", "chunks"]
    # its text may ask for what no one wants
    is_untrusted: bool

    def request(self, kind: str, language: str) -> ReadRequest:
        """Return what the process that reads a file is sent."""
        return ReadRequest(kind, language, self.limits.chars, self.cut)


# of conversations; no agent searches them
IMAGES_RULE = CollectionRule(
    IMAGES,
    "images that were sent with words",
    (),
    "conversation",
    frozenset(),
    MAX_IMAGE_BYTES,
    IMAGE_LIMITS,
    CutRule(0, 0),
    "none",
    is_untrusted=True,
)


@dataclass(frozen=True, slots=True)
class DocumentRules:
    """Of a crew."""

    collections: Mapping[str, CollectionRule] = field(default_factory=dict)
    # of the crew: in which words are found
    language: str = ""
    words: Words | None = None

    def __bool__(self) -> bool:
        """Whether there is any collection."""
        return bool(self.collections)

    def owners(
        self, names: Iterable[str], user_id: str, conversation_id: str
    ) -> Iterator[tuple[str, str]]:
        """Yield collections that a run has, each with its owner in it."""
        for name in names:
            owner = owner_in(self.collections[name].scope, user_id, conversation_id)
            if owner is not None:
                yield name, owner
