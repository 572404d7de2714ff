"""The shapes of answers about what is remembered."""

from typing import Any, Literal

from typing_extensions import TypedDict

from crew.journal.records.remembered.core import ChangedBy
from crew.journal.records.remembered.recall import RememberedBy
from server.http.openapi.answers import Time


class CoreAnswer(TypedDict):
    """A block of core memory; before its first change its version is 0."""

    block: str
    # a text or, where the block has a schema, its fields
    value: str | dict[str, Any]
    version: int
    changed_at: Time | None
    by: ChangedBy | None
    # the agent, or the name of the caller
    who: str | None
    run: str | None
    quote: str | None


class ItemSource(TypedDict):
    """Where something was said."""

    conversation: str | None
    exchange: int | None
    run: str | None


class ItemAnswer(TypedDict):
    """An item of recall memory."""

    id: str
    text: str
    # of which one item is live; null for none
    key: str | None
    topics: list[str]
    # 0 to 1
    importance: float
    # what became of the conversation in which it was said
    outcome: str | None
    # words of the person that prove it
    quote: str | None
    source: ItemSource
    created_at: Time
    # how often it was said, and when last
    seen: int
    seen_at: Time
    # when it was last found for an agent
    recalled_at: Time | None
    # the item that has taken its place
    replaced_by: str | None
    by: RememberedBy
    # the agent, or the name of the caller
    who: str | None


class ErasureAnswer(TypedDict):
    """That all of a user will be erased."""

    # of the user's id; by it the erasure is known
    digest: str
    requested_at: Time


class ItemsAnswer(TypedDict):
    """Items: newest first, or the best ones that words find."""

    items: list[ItemAnswer]
    next: str | None


class AddedItem(TypedDict):
    """An item that is remembered."""

    op: Literal["added", "again", "replaced"]
    item: ItemAnswer
