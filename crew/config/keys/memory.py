"""The shape of `memory`: what a crew remembers beside its conversations."""

from typing import Annotated, Any, Literal, Self

from pydantic import BeforeValidator, Field, WithJsonSchema, model_validator

from crew.config.keys.embeddings import EmbeddingsConfig
from crew.journal.records.remembered.core import ChangedBy, Scope
from crew.memory.recall import Teacher
from tools.schemas.yaml_shape import JsonObject, Name, Shape, between_keys, resolve

Writer = Literal["people", "agents", "learn"]
BY: dict[Writer, ChangedBy] = {"people": "person", "agents": "agent", "learn": "learn"}


class CoreFromConfig(Shape):
    """The typed answer that fills a block."""

    agent: str
    """Of this agent, its newest one in an exchange."""
    field: str
    """The field: a text, or a list of texts."""
    most: Annotated[int, Field(ge=1, le=1000)] = 10
    """So many texts are kept, the newest first, each once."""


class CoreMemoryConfig(Shape):
    """A block that agents are always shown."""

    scope: Scope = "user"
    """What it belongs to: each user, each conversation, or the crew."""
    description: Annotated[str, Field(min_length=1)]
    """What it holds; shown to agents."""
    max_tokens: Annotated[int, Field(ge=1, le=100_000)] = 300
    """A change beyond it is refused."""
    start: Annotated[str | dict[str, Any], BeforeValidator(resolve)] = ""
    """What it holds before the first change: a text or, with a schema, fields."""
    schema_: Annotated[
        Annotated[JsonObject, WithJsonSchema({"type": "object"})] | None, Field(alias="schema")
    ] = None
    """A JSON schema of its fields; a text unless given."""
    write: list[Writer] | None = None
    """Who may change it; people, agents and learn unless given, with `from` people alone."""
    from_: Annotated[CoreFromConfig | None, Field(alias="from")] = None
    """A field of typed answers that fills it at the end of each exchange."""

    @property
    def writers(self) -> frozenset[ChangedBy]:
        """Who may change it."""
        given: list[Writer] = (
            ["people"] if self.from_ is not None else ["people", "agents", "learn"]
        )
        return frozenset(BY[one] for one in (given if self.write is None else self.write))

    @model_validator(mode="after")
    def _require_text_of_conversation(self) -> Self:
        if self.from_ is None:
            return self
        if self.schema_ is not None:
            raise between_keys("a block with from is a text; remove schema", "schema")
        if self.start:
            raise between_keys("a block with from begins empty; remove start", "start")
        if self.scope != "conversation":
            text = "a block with from is filled from turn to turn: write scope: conversation"
            raise between_keys(text, "scope" if "scope" in self.model_fields_set else "from")
        if self.write is not None and set(self.write) - {"people"}:
            raise between_keys("a block with from is changed by people alone", "write")
        return self


class LearnConfig(Shape):
    """What helper `learn` remembers after exchanges of a conversation."""

    idle_seconds: Annotated[float, Field(ge=0, le=30 * 86_400)] = 60
    """So long after the last exchange; each new one puts it off."""
    from_: Annotated[list[Teacher], Field(alias="from", min_length=1)] = ["person"]
    """The words that prove something: of the person, of agents."""
    instructions: str = ""
    """What is worth remembering, beside the built-in instructions."""


class RecallConfig(Shape):
    """Items that agents find by search."""

    scope: Literal["user", "conversation"] = "user"
    """What they belong to."""
    max_items: Annotated[int, Field(ge=1, le=100_000)] = 1000
    """Of a user or a conversation; the least important and oldest are forgotten first."""
    ttl_days: Annotated[float, Field(gt=0, le=36_500)] = 90
    """One that was neither said nor found for so long is forgotten."""
    half_life_days: Annotated[float, Field(gt=0, le=36_500)] = 180
    """An item counts half as much so long after it was last said."""
    merge_similarity: Annotated[float, Field(gt=0, le=1)] | None = None
    """Items are one if so many of their topics are the same (common ones by all); without it only
    those of the same text."""
    embeddings: EmbeddingsConfig | None = None
    """Items are found by vectors, too; by words alone unless given."""
    learn: LearnConfig | None = None
    """What is remembered after exchanges; nothing unless given."""


class MemoryConfig(Shape):
    """What a crew remembers beside its conversations."""

    core: dict[Name, CoreMemoryConfig] = {}
    """Blocks that agents are always shown, by name."""
    recall: RecallConfig | None = None
    """Items that are found by search; none unless given."""

    @property
    def is_used(self) -> bool:
        """Whether there is any."""
        return bool(self.core) or self.recall is not None
