"""The shape of `documents`: collections of texts that agents search and read."""

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from crew.config.keys.embeddings import EmbeddingsConfig
from crew.documents.reading.kinds import FILE_KINDS, OFFICE_KINDS, FileKind
from crew.journal.records.remembered.core import Scope
from tools.schemas.yaml_shape import Shape, between_keys

PLAIN_KINDS = [one for one in FILE_KINDS if one not in OFFICE_KINDS]


class ChunkConfig(Shape):
    """How a text is cut into the passages that are searched."""

    tokens: Annotated[int, Field(ge=20, le=8000)] = 400
    """Of a passage at most; it ends at a heading, a paragraph, a sentence or a word."""
    overlap: Annotated[int, Field(ge=0, le=2000)] = 50
    """Tokens at the end of a passage that the next one begins with; half of `tokens` at most."""

    @model_validator(mode="after")
    def _require_less(self) -> Self:
        most = self.tokens // 2
        if self.overlap > most and "overlap" in self.model_fields_set:
            raise between_keys(f"overlap is at most half of tokens ({most})", "overlap")
        return self

    @property
    def repeated(self) -> int:
        """The tokens that a passage begins with again."""
        return min(self.overlap, self.tokens // 2)


class CollectionConfig(Shape):
    """Documents that agents search and read."""

    description: Annotated[str, Field(min_length=1)]
    """What it has; shown to agents."""
    files: Annotated[list[Annotated[str, Field(min_length=1)]], Field(min_length=1)] | None = None
    """Files of the crew's folder, as patterns such as `docs/*.md`. Without it the documents are
    uploaded."""
    scope: Scope | None = None
    """What uploads belong to: each conversation, each user, or the crew; conversation unless
    given."""
    accept: Annotated[list[FileKind], Field(min_length=1)] = PLAIN_KINDS
    """Kinds of files: by what they hold, then by their name. pdf, docx, xlsx and pptx need the
    extra `documents`."""
    max_file_mb: Annotated[float, Field(gt=0, le=100)] = 20
    """Of a file, x 1,000,000 bytes."""
    max_files: Annotated[int, Field(ge=1, le=10_000)] = 20
    """Of a user, a conversation or the crew."""
    max_chars: Annotated[int, Field(ge=1, le=100_000_000)] = 5_000_000
    """Of all their texts together."""
    chunk: ChunkConfig = ChunkConfig()
    """How they are cut."""
    summaries: Literal["none", "document", "chunks"] = "document"
    """What helper `describe` writes: a summary of each document, which agents are shown; with
    `chunks` also what each passage is about, by which it is found."""
    untrusted: bool | None = None
    """Whether it holds text of others, as `untrusted` of tools says; unless given, uploads do and
    files do not."""

    embeddings: EmbeddingsConfig | None = None
    """Passages are found by vectors, too; by words alone unless given."""

    @property
    def owner_scope(self) -> Scope:
        """What its documents belong to."""
        return "crew" if self.files is not None else self.scope or "conversation"

    @property
    def is_untrusted(self) -> bool:
        """Whether it holds text of others."""
        return self.files is None if self.untrusted is None else self.untrusted

    @model_validator(mode="after")
    def _require_no_scope_of_files(self) -> Self:
        if self.files is not None and self.scope is not None:
            text = "scope is of uploads; documents of files belong to the crew; remove scope"
            raise between_keys(text, "scope")
        return self
