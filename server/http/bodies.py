"""The JSON bodies of requests."""

from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, ConfigDict, Field, Strict, model_validator
from pydantic_core import to_json

from crew.documents.images import MAX_ATTACHMENTS
from crew.journal.query import (
    ID,
    MAX_PRIORITY,
    MAX_USER_ID,
    Decision,
    text_error,
    user_id_error,
)
from crew.memory.recall import MAX_KEY, MAX_TEXT, MAX_TOPICS
from tools.approval import Remember
from tools.schemas.described import Described

MAX_HISTORY = 1000
MAX_DECISIONS = 1000
MAX_MESSAGE_BYTES = 100_000
MAX_METADATA_BYTES = 10_000
MAX_TICKET_SECONDS = 24 * 3600
Glob = Annotated[str, Field(min_length=1, max_length=1000)]


def _check_text(text: str) -> str:
    if (error := text_error(text)) is not None:
        raise ValueError(error)
    return text


def _check_size(text: str) -> str:
    if len(text.encode()) > MAX_MESSAGE_BYTES:
        raise ValueError(f"has more than {MAX_MESSAGE_BYTES:,} bytes")
    return text


def _as_whole(value: Any) -> Any:
    if isinstance(value, bool):
        raise ValueError("is no number")  # noqa: TRY004 # pydantic takes this one
    # JSON has one kind of number
    return int(value) if isinstance(value, float) and value.is_integer() else value


Text = Annotated[str, AfterValidator(_check_text)]
# behind the bounds of a number, so that they stay in its schema
WHOLE = BeforeValidator(_as_whole)
PauseSeq = Annotated[int, Field(ge=1, lt=2**53), WHOLE]


def _check_user_id(text: str) -> str:
    if (error := user_id_error(text)) is not None:
        raise ValueError(error)
    return text


def _check_metadata(value: dict[str, Any]) -> dict[str, Any]:
    if len(to_json(value)) > MAX_METADATA_BYTES:
        raise ValueError(f"has more than {MAX_METADATA_BYTES:,} bytes")
    return value


UserId = Annotated[str, Field(min_length=1, max_length=MAX_USER_ID), AfterValidator(_check_user_id)]
Title = Annotated[Text, Field(max_length=200)]
Metadata = Annotated[dict[str, Any], AfterValidator(_check_metadata)]


class Body(Described):
    """A JSON object: strict, and without unknown keys."""

    model_config = ConfigDict(extra="forbid")


class HistoryMessageBody(Body):
    """A message of a history."""

    role: Literal["user", "assistant", "system"]
    """Who wrote it."""
    content: Annotated[Text, AfterValidator(_check_size)]
    """Its text."""


class CallDecisionBody(Body):
    """What a person decides on one of several calls."""

    call_id: Annotated[str, Field(min_length=1, max_length=1000)]
    """The call, as the `pause` event names it."""
    agent_id: Annotated[str, Field(min_length=1, max_length=1000)] | None = None
    """Whose call it is, where calls of several agents have this id."""
    decision: Decision
    """What is decided."""
    reason: Text = ""
    """Why; the agent reads it."""
    result: Text = ""
    """With `done`: what the call has returned."""
    hash: Annotated[str, Field(max_length=64)] = ""
    """Of the call, as the `pause` event has it: another one is a 409."""
    arguments: dict[str, Any] | None = None
    """With `approve`: the whole arguments to make the call with, instead of its own."""
    remember: Remember | None = None
    """With `approve`: `run` approves the tool for the rest of the run, `always` the same call in
    all runs, for 90 days."""
    patterns: Annotated[dict[str, Glob], Field(max_length=100)] = {}
    """With `always`: globs on the texts of arguments that may be others."""


class AttachmentBody(Body):
    """What goes with a query or an answer: one of the two."""

    document_id: Annotated[str, Field(min_length=1, max_length=64)] | None = None
    """A document of the user's, of the conversation or the crew, or an image that was sent."""
    image: Annotated[str, Field(min_length=1)] | None = None
    """A PNG, JPEG or WebP of at most 5 MB as a data URL: `data:image/png;base64,…`."""

    @model_validator(mode="after")
    def _require_one(self) -> "AttachmentBody":
        if (self.document_id is None) == (self.image is None):
            raise ValueError("is a document_id or an image, one of them")
        return self


Attachments = Annotated[list[AttachmentBody], Field(max_length=MAX_ATTACHMENTS)]


class _AnswerFields(Body):
    deltas: bool = False
    """Publish the text of agents as it is written."""
    decision: Decision | None = None
    """On all tool calls that a pause asks about."""
    decisions: Annotated[list[CallDecisionBody], Field(max_length=MAX_DECISIONS)] = []
    """On each of these calls by itself, instead of `decision`."""
    result: Text = ""
    """With `done`: what the call has returned."""
    pause: PauseSeq | None = None
    """The pause that is answered: the `seq` of its event."""


class StartBody(Body):
    """What starts a run."""

    query: Text = ""
    """What is asked; it may be missing where something is attached."""
    attachments: Attachments = []
    """Images and documents that go with the query; they need a `conversation_id`."""
    history: Annotated[list[HistoryMessageBody], Field(max_length=MAX_HISTORY)] = []
    """What was said before this run."""
    resume_agent_id: Annotated[str, Field(pattern=ID)] | None = None
    """The agent that starts, instead of the entry point."""
    priority: Annotated[int, Field(ge=0, le=MAX_PRIORITY), WHOLE] | None = None
    """Where runs wait, higher ones go first; up to the token's, 5 unless given."""
    deltas: bool = False
    """Publish the text of agents as it is written."""
    user_id: UserId | None = None
    """Whom the run is for; the token's owner unless given. Another one needs the scope `act_as`."""
    conversation_id: Annotated[str, Field(pattern=ID)] | None = None
    """The conversation that the run goes on with; an unknown one is begun."""
    max_usd: Annotated[float, Strict(), Field(ge=1e-9, le=1e9)] | None = None
    """What the run may cost, beside what budgets allow; then it fails."""
    model: Annotated[str, Field(min_length=1, max_length=128)] | None = None
    """One of `settings.client_models`, for the agents that take the model of a request."""


class QueryBody(StartBody, _AnswerFields):
    """What starts a run, or, with `run_id`, answers its pause."""

    query: Text = ""
    """What is asked or answered; with a decision it may be missing, or is the reason."""
    run_id: Annotated[str, Field(pattern=ID)] | None = None
    """The paused run that is answered."""


class PotBody(Body):
    """What is added to the limit of a pot."""

    model_config = ConfigDict(json_schema_extra={"minProperties": 1})

    add_usd: Annotated[float, Field(gt=0, le=1e6)] = 0.0
    """USD more."""
    add_tokens: Annotated[int, Field(gt=0, le=10**12), WHOLE] = 0
    """Tokens more."""

    @model_validator(mode="after")
    def _require_some(self) -> "PotBody":
        if not self.model_fields_set:
            raise ValueError("give add_usd or add_tokens")
        return self


class ConversationBody(Body):
    """A conversation that begins."""

    title: Title = ""
    """Its title; its first words, or what a helper makes of it, unless given."""
    user_id: UserId | None = None
    """Whose it is; the token's owner unless given."""
    metadata: Metadata = {}
    """What a program keeps with it."""


class ChangeBody(Body):
    """What of a conversation is changed."""

    title: Annotated[Title, Field(min_length=1)] | None = None
    """Its title, which no helper changes any more."""
    metadata: Metadata | None = None
    """Instead of what is kept with it."""
    user_id: UserId | None = None
    """Whose it is; the token's owner unless given."""


class ForkConversationBody(Body):
    """Where a conversation is forked."""

    through: Annotated[int, Field(ge=0, lt=2**31), WHOLE]
    """The number of the last exchange that the new one has too."""
    user_id: UserId | None = None
    """Whose it is; the token's owner unless given."""


def _check_core(value: Any) -> Any:
    if not isinstance(value, str | dict):
        raise ValueError("is neither a text nor an object")  # noqa: TRY004 # as above
    return value


class CoreBody(Body):
    """What a block of core memory is to hold."""

    value: Annotated[str | dict[str, Any], BeforeValidator(_check_core)]
    """All of it: a text or, where the block has a schema, its fields."""


class ItemBody(Body):
    """What is to be remembered."""

    text: Annotated[str, Field(min_length=1, max_length=MAX_TEXT)]
    """One fact, in a sentence."""
    key: Annotated[str, Field(max_length=MAX_KEY)] = ""
    """What it is about, where only one such fact can be true: it takes the place of the one
    before."""
    topics: Annotated[list[str], Field(max_length=MAX_TOPICS)] = []
    """What it is about, in words."""
    importance: Annotated[float, Field(ge=0, le=1, strict=True)] = 0.5
    """From 0 to 1."""


class TicketBody(Body):
    """What a ticket is for."""

    model_config = ConfigDict(
        json_schema_extra={"dependentSchemas": {"run_id": {"maxProperties": 1}}}
    )

    run_id: Annotated[str, Field(pattern=ID)] | None = None
    """The run whose events are read; nothing given: one run is started."""
    scopes: Annotated[list[Literal["read", "run", "answer"]], Field(min_length=1)] | None = None
    """What may be done by it: `read` and `run` unless given, as far as the token may."""
    conversation_id: Annotated[str, Field(pattern=ID)] | None = None
    """The conversation in which runs are started and followed, and no others."""
    user_id: UserId | None = None
    """Whose runs they are; the token's owner unless given."""
    seconds: Annotated[int, Field(ge=1, le=MAX_TICKET_SECONDS), WHOLE] | None = None
    """Until it ends; an hour unless given."""

    @property
    def has_place(self) -> bool:
        """Whether it is for more than one run, or one start."""
        given = self.scopes, self.conversation_id, self.user_id, self.seconds
        return any(one is not None for one in given)

    @model_validator(mode="after")
    def _check_run(self) -> "TicketBody":
        if "run_id" in self.model_fields_set and len(self.model_fields_set) > 1:
            raise ValueError("run_id stands alone: such a ticket is for the events of one run")
        return self


class ForkBody(Body):
    """Where a run is forked."""

    after: Annotated[int, Field(ge=1, lt=2**53), WHOLE]
    """The `seq` of the last event that the new run has too."""
    says: Text | None = None
    """What the agent says instead, where that event is an agent's answer."""
    current: bool = False
    """It goes on with the crew that is served now, and not with that of the run."""


class ReplayBody(Body):
    """On which files a run is played again."""

    on: Annotated[str, Field(pattern=r"^(current|[0-9a-f]{16})$")] = "current"
    """`current`: those of new runs; or the revision of a run."""
    match: Literal["route", "exact"] = "route"
    """`exact`: it ends where a model is sent something else, as `unknown`."""


class ReplaysBody(Body):
    """Which stored runs are played again, and on which files."""

    since: Annotated[str, Field(pattern=r"^[0-9]{1,6}[mhd]$")] | None = None
    """Not started before: 30m, 12h, 7d ago; all unless given."""
    status: Literal["completed", "paused", "failed"] | None = None
    """Only those with it."""
    sample: Annotated[int, Field(ge=1, le=10_000), WHOLE] = 1000
    """So many of them, chosen by chance."""
    on: Annotated[str, Field(pattern=r"^(current|[0-9a-f]{16})$")] = "current"
    """`current`: those of new runs; or the revision of a run."""


class AnswerBody(_AnswerFields):
    """An answer to a pause; with a decision the text may be missing."""

    query: Text = ""
    """The answer, or the reason of a decision."""
    attachments: Attachments = []
    """Images and documents that go with words."""
