"""The shapes of answers about conversations."""

from typing import Any, Literal, NotRequired

from typing_extensions import TypedDict

from crew.journal.events import RunStatus
from server.http.openapi.answers import Time
from server.http.openapi.documents import AttachmentAnswer


class ListedConversation(TypedDict):
    """A conversation in a list."""

    conversation_id: str
    title: str
    created_at: Time
    used_at: Time
    # how many
    exchanges: int
    status: RunStatus | None
    run_id: str | None


class ConversationsAnswer(TypedDict):
    """Conversations, last used first."""

    conversations: list[ListedConversation]
    next: str | None


class BegunConversation(TypedDict):
    """A conversation that was begun."""

    conversation_id: str
    url: str


class ChangedConversation(TypedDict):
    """A conversation, without its exchanges."""

    conversation_id: str
    title: str
    created_at: Time
    used_at: Time
    exchange_count: int
    status: RunStatus | None
    run_id: str | None
    metadata: dict[str, Any]
    user_id: str | None


class ExchangePart(TypedDict):
    """What was said where the run paused; a person has no agent."""

    by: Literal["agent", "person"]
    text: str
    agent_id: str | None
    agent: str | None
    # a question about calls, or a decision on them that is not in words
    decision: NotRequired[bool]
    # with which the text ends: for the crew, not for people
    signal: NotRequired[str]
    attachments: NotRequired[list[AttachmentAnswer]]


class ExchangeAnswer(TypedDict):
    """One run of a conversation; the last one may be open: its `ended_at` is null."""

    exchange: int
    run_id: str
    query: str
    parts: list[ExchangePart]
    answer: str
    # with which the answer ends: for the crew, not for people
    signal: NotRequired[str]
    agent_id: str
    agent: str
    status: RunStatus
    started_at: Time
    ended_at: Time | None
    attachments: NotRequired[list[AttachmentAnswer]]


class FactDocument(TypedDict):
    """What was said, and where."""

    text: str
    quote: str
    exchange: int


class SummaryDocument(TypedDict):
    """What older exchanges come to."""

    version: int
    through: int
    summary: str
    facts: list[FactDocument]
    made_at: Time


class ExportAnswer(ChangedConversation):
    """A conversation with all of its exchanges."""

    exchanges: list[ExchangeAnswer]
    summary: SummaryDocument | None


class ConversationAnswer(ExportAnswer):
    """A conversation with some of its exchanges, in order."""

    next: int | None
