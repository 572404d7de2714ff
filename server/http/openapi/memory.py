"""The shapes of answers about what is remembered."""

from typing import Any

from typing_extensions import TypedDict

from crew.journal.records.core import ChangedBy
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
