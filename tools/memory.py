"""What a crew remembers, as its tools see it."""

from collections.abc import Sequence
from typing import Protocol


class Memory(Protocol):
    """Of one agent in one run."""

    async def edit_core(
        self, block: str, edits: Sequence[tuple[str, str]], quote: str, key: str
    ) -> str:
        """Change a block of core memory, and return its text as it is then.

        Args:
            block: its name.
            edits: what stands in its text, and what is to stand there instead; all or none.
            quote: words of the person that prove it; "" for none.
            key: of the call: made again, it changes nothing.

        Raises:
            ToolError: it was not changed.
        """
        ...
