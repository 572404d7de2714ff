"""The shape of `context`: what a model is shown beside its prompt and the newest words."""

from typing import Annotated, Any, Literal, Self

from pydantic import BeforeValidator, Field, model_validator

from tools.schemas.yaml_shape import Shape, between_keys

Tokens = Annotated[int, Field(ge=1, le=10_000_000)]


class TextBlockConfig(Shape):
    """A text of the operator's, at the end of the system prompt."""

    kind: Literal["text"]
    """What it is."""
    file: Annotated[str, Field(min_length=1)] | None = None
    """A text file in the crew's folder."""
    text: Annotated[str, Field(min_length=1)] | None = None
    """The text itself, instead of a file."""
    max_tokens: Tokens = 1000
    """A longer one is cut at the end of a paragraph."""

    @model_validator(mode="after")
    def _require_one(self) -> Self:
        if (self.file is None) == (self.text is None):
            if self.file is None:
                raise between_keys("a text block needs file or text", "kind")
            raise between_keys("a text block has file or text, not both; remove one", "text")
        return self


class CoreBlockConfig(Shape):
    """Blocks of core memory."""

    kind: Literal["core"]
    """What it is."""
    names: list[str] = []
    """These blocks of `memory.core`; all unless given."""
    max_tokens: Tokens = 1000
    """More are cut, the last blocks first."""


class SummaryBlockConfig(Shape):
    """What the conversation's older exchanges come to, kept up to date by helper `summary`."""

    kind: Literal["summary"]
    """What it is."""
    every: Annotated[int, Field(ge=1, le=1000)] = 10
    """Summarise when so many exchanges beyond the newest `keep` are not in it."""
    keep: Annotated[int, Field(ge=0, le=1000)] = 10
    """The newest so many exchanges are never in it."""
    max_tokens: Tokens = 600
    """A longer one is cut at the end of a paragraph."""
    compact: Literal["after", "inline"] = "after"
    """`inline`: in a run that becomes too long, the helper shortens the run's own oldest part.

    `after`: only between runs.
    """


class HistoryBlockConfig(Shape):
    """The conversation's exchanges, and the run's own messages."""

    kind: Literal["history"]
    """What it is."""
    exchanges: Annotated[int, Field(ge=1, le=10_000)] = 40
    """At least so many of the newest exchanges, as far as there is room."""
    transcripts: bool = False
    """All that agents said and tools gave in them, not only the query and the answer."""
    keep_results: Annotated[int, Field(ge=0, le=1000)] = 3
    """Where there is no room, all tool results but the newest so many are left out first."""
    min_tokens: Tokens = 2000
    """Room that is kept for it."""


class RecallBlockConfig(Shape):
    """Items of recall memory that the person's words find."""

    kind: Literal["recall"]
    """What it is."""
    most: Annotated[int, Field(ge=1, le=100)] = 8
    """So many items at most."""
    max_tokens: Tokens = 800
    """More are left out, the least likely first."""
    min_score: Annotated[float, Field(ge=0)] = 0
    """Items with a lower score are not shown."""


class OutputsBlockConfig(Shape):
    """The newest typed answers of other agents in this run, as JSON."""

    kind: Literal["outputs"]
    """What it is."""
    of: list[str] = []
    """Of these agents; of all with an `output` unless given."""
    max_tokens: Tokens = 600
    """A longer one is cut."""


class DocumentsBlockConfig(Shape):
    """The agent's documents: their names, whether they are read, and their summaries."""

    kind: Literal["documents"]
    """What it is."""
    max_tokens: Tokens = 600
    """More are left out, the oldest first."""


def _as_kind(value: Any) -> Any:
    return {"kind": value} if isinstance(value, str) else value


BlockConfig = (
    TextBlockConfig
    | CoreBlockConfig
    | SummaryBlockConfig
    | HistoryBlockConfig
    | RecallBlockConfig
    | OutputsBlockConfig
    | DocumentsBlockConfig
)
Block = Annotated[
    Annotated[BlockConfig, Field(discriminator="kind")],
    BeforeValidator(_as_kind, json_schema_input_type=str | BlockConfig),
]


class ContextConfig(Shape):
    """What a model is shown, and how much of it."""

    window_tokens: Tokens | None = None
    """How much fits; `settings.max_context_window` unless given."""
    answer_tokens: Tokens | None = None
    """Kept free for the answer; the agent's `max_tokens` unless given, else 1024."""
    load_timeout_millis: Annotated[float, Field(gt=0, le=60_000)] = 100
    """What is not loaded by then is left out of the request, with a warning."""
    blocks: Annotated[list[Block], Field(min_length=1)] | None = None
    """In this order: a kind's name, or `{kind, …}`.

    `[summary, history]` with `conversations`, else `[history]`, unless given; with `memory.core`
    behind `core`, with `memory.recall` before `recall`, with `documents` of the agent before
    `documents`.
    """

    @model_validator(mode="after")
    def _require_each_once(self) -> Self:
        kinds = [block.kind for block in self.blocks or ()]
        for kind in ("core", "summary", "history", "recall", "outputs", "documents"):
            if kinds.count(kind) > 1:
                second = kinds.index(kind, kinds.index(kind) + 1)
                text = f"blocks has {kind} twice; it can stand there once"
                raise between_keys(text, "blocks", second)
        if self.blocks is not None and "history" not in kinds:
            text = "blocks needs history: without it the model gets no question"
            raise between_keys(text, "blocks")
        return self
