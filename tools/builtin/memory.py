"""Built-in tools that change what a crew remembers, and find it."""

from dataclasses import replace
from typing import Annotated

from pydantic import BaseModel, Field

from tools.calls import MAX_SHOWN_CHARS
from tools.context import Memory, ToolContext
from tools.definition import Tool, tool_from
from tools.errors import PermanentError

EDIT_CORE = "EditCore"
# of recall memory
REMEMBER, RECALL, FORGET = "Remember", "Recall", "Forget"


class CoreEdit(BaseModel):
    """A change of a block's text."""

    old: Annotated[str, Field(description="Words that stand in the block exactly once.")]
    new: Annotated[str, Field(description="What is to stand there instead.")]


async def edit_core(
    context: ToolContext, block: str, edits: list[CoreEdit], quote: str = ""
) -> str:
    """Change a block of what is known from before. All edits are made, or none.

    Args:
        context: of the call.
        block: the block's name.
        edits: what stands there, word for word, and what is to stand there instead. A field is a
            line `name: value`; one that is not known has the value null. Of an empty block, old is
            empty.
        quote: the words of the person, word for word, that say so.
    """
    changes = [(one.old, one.new) for one in edits]
    return await _memory(context).edit_core(block, changes, quote, context.key)


async def remember(
    context: ToolContext, text: str, key: str = "", importance: float = 0.5, quote: str = ""
) -> str:
    """Remember something for later conversations.

    Args:
        context: of the call.
        text: one fact, in one sentence that is understood by itself.
        key: what it is about, such as "home town", where only one such fact can be true: it takes
            the place of the one before.
        importance: from 0 to 1.
        quote: the words of the person, word for word, that say so.
    """
    return await _memory(context).remember(text, key, importance, quote, context.key)


async def recall(
    context: ToolContext, query: str, most: Annotated[int, Field(ge=1, le=50)] = 5
) -> str:
    """Find what is remembered from earlier conversations, the best first.

    Args:
        context: of the call.
        query: words that may stand there.
        most: so many at most.
    """
    return await _memory(context).recall(query, most)


async def forget_by_id(
    context: ToolContext,
    id: str,  # as models know it
    quote: str = "",
) -> str:
    """Forget something that is remembered.

    Args:
        context: of the call.
        id: as Recall gives it.
        quote: words of the person that ask for it, word for word; needed where a result says so.
    """
    return await _memory(context).forget(id, quote)


def _memory(context: ToolContext) -> Memory:
    if context.memory is None:
        raise PermanentError("this crew has no memory")
    return context.memory


MEMORY_TOOLS: tuple[Tool, ...] = (
    replace(tool_from(edit_core, name=EDIT_CORE), shown_chars=MAX_SHOWN_CHARS),
    tool_from(remember, name=REMEMBER),
    replace(tool_from(recall, name=RECALL), effect="read", shown_chars=MAX_SHOWN_CHARS),
    tool_from(forget_by_id, name=FORGET),
)
