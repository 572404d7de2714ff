"""Built-in tools that search and read documents."""

from dataclasses import replace
from typing import Annotated

from pydantic import Field

from tools.calls import MAX_SHOWN_CHARS
from tools.context import Documents, ToolContext
from tools.definition import Tool, tool_from
from tools.errors import PermanentError

SEARCH_DOCUMENTS, READ_DOCUMENT, LIST_DOCUMENTS = "SearchDocuments", "ReadDocument", "ListDocuments"
# a document that is being read is awaited
TIMEOUT_SECONDS = 31.0
# of the time of a call, for what comes after that
REST_SECONDS = 1.0


async def search_documents(
    context: ToolContext,
    query: str,
    collection: str = "",
    document: str = "",
    most: Annotated[int, Field(ge=1, le=50)] = 5,
) -> str:
    """Find passages of documents by words, the best first. Cite them by their numbers, as [1].

    Args:
        context: of the call.
        query: words that may stand there.
        collection: in this collection alone.
        document: in the document of this name alone; of two with one name, COLLECTION/NAME.
        most: so many at most.
    """
    return await _documents(context).search(query, collection, document, most, _wait(context))


async def read_document(
    context: ToolContext,
    document: str,
    start: Annotated[int, Field(ge=0, le=999_999_999, alias="from")] = 0,
    chars: Annotated[int, Field(ge=1, le=32_000)] = 8000,
) -> str:
    """Read a document from a place on. Cite what it gives by its number, as [1].

    Args:
        context: of the call.
        document: its name; of two with one name, COLLECTION/NAME.
        start: the character to begin with.
        chars: so many characters at most.
    """
    return await _documents(context).read(document, start, chars, _wait(context))


async def list_documents(context: ToolContext) -> str:
    """List the documents that can be searched and read.

    Args:
        context: of the call.
    """
    return await _documents(context).listed()


def _documents(context: ToolContext) -> Documents:
    if context.documents is None:
        raise PermanentError("this agent has no documents")
    return context.documents


def _wait(context: ToolContext) -> float:
    """Return how long a document that is being read is awaited."""
    return max(0.0, min(TIMEOUT_SECONDS, context.remaining_seconds) - REST_SECONDS)


DOCUMENT_TOOLS: tuple[Tool, ...] = tuple(
    replace(
        tool_from(function, name=name),
        effect="read",
        shown_chars=MAX_SHOWN_CHARS,
        timeout_seconds=TIMEOUT_SECONDS,
    )
    for function, name in (
        (search_documents, SEARCH_DOCUMENTS),
        (read_document, READ_DOCUMENT),
        (list_documents, LIST_DOCUMENTS),
    )
)
DOCUMENT_TOOL_NAMES = tuple(tool.name for tool in DOCUMENT_TOOLS)
