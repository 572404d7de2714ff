"""Built-in tools that change what a crew remembers."""

from typing import Annotated

from pydantic import BaseModel, Field

from tools.context import ToolContext
from tools.definition import Tool, tool_from
from tools.errors import PermanentError

EDIT_CORE = "EditCore"


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
    if context.memory is None:
        raise PermanentError("this crew has no memory")
    changes = [(one.old, one.new) for one in edits]
    return await context.memory.edit_core(block, changes, quote, context.key)


MEMORY_TOOLS: tuple[Tool, ...] = (tool_from(edit_core, name=EDIT_CORE),)
