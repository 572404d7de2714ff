"""The shapes of events about memory and documents."""

from typing import Any, Literal, NotRequired

from typing_extensions import TypedDict


class MemoryMetadata(TypedDict):
    """An agent has changed what the crew remembers."""

    run_id: str
    seq: int
    agent_id: str
    group: str | None
    op: Literal["edited", "added", "again", "replaced", "forgot"]
    # of core memory; "" and 0 for items
    block: str
    version: int
    # of items; none of a block
    ids: list[str]
    by: Literal["agent"]
    task: NotRequired[str]
    call: NotRequired[str]


class TaintedMetadata(TypedDict):
    """The run has read text of others."""

    run_id: str
    seq: int
    agent_id: str
    group: str | None
    # the tool, or the collection of documents, that gave it
    source: str
    task: NotRequired[str]
    call: NotRequired[str]


# `from` is a word of Python; from and to are characters of the document's text
_PASSAGE: dict[str, Any] = {
    "n": int,
    "document": str,
    "collection": str,
    "name": str,
    "place": str | None,
    "from": int,
    "to": int,
}
PassageDocument = TypedDict("PassageDocument", _PASSAGE)  # type: ignore[misc] # made of names
# with whether its number stands in the answer
SourceDocument = TypedDict("SourceDocument", {**_PASSAGE, "cited": bool})  # type: ignore[misc] # the same


class PassagesMetadata(TypedDict):
    """An agent is shown passages of documents, which have these numbers in the run."""

    run_id: str
    seq: int
    agent_id: str
    group: str | None
    passages: list[PassageDocument]
    task: NotRequired[str]
    call: NotRequired[str]
