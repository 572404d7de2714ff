"""What of a tool's output the model is shown, and how."""

from collections.abc import Sequence
from typing import Any

from pydantic_core import to_json

from tools.calls import SHOWN_CHARS, CallStatus, ToolResult


class HeadAndTail:
    """The first and the last part of bytes as they come; what is between them is counted."""

    def __init__(self, limit: int, head: int | None = None) -> None:
        """Of at most `limit` bytes, `head` of them from the beginning (half unless given)."""
        self._head_limit = limit // 2 if head is None else head
        self._tail_limit = limit - self._head_limit
        self._head, self._tail = bytearray(), bytearray()
        self._left_out = 0

    def add(self, chunk: bytes) -> None:
        """Add more of them."""
        room = self._head_limit - len(self._head)
        self._head += chunk[:room]
        self._tail += chunk[room:]
        # not each time: what is cut is moved
        if len(self._tail) > 2 * self._tail_limit:
            self._cut()

    def _cut(self) -> None:
        left_out = max(0, len(self._tail) - self._tail_limit)
        del self._tail[:left_out]
        self._left_out += left_out

    def text(self) -> str:
        """Return as text, with a note of what is left out."""
        self._cut()
        head, tail = bytes(self._head), bytes(self._tail)
        if not self._left_out:
            return (head + tail).decode(errors="replace")
        note = f"\n[… {self._left_out} bytes left out …]\n"
        return head.decode(errors="replace") + note + tail.decode(errors="replace")


def serialize_output(value: Any) -> str:
    """Serialize a handler's return value as text.

    Text unchanged, None as "", everything else as JSON.

    Raises:
        ValueError: the value has no JSON form (PydanticSerializationError is a ValueError).
    """
    if isinstance(value, str):
        return value
    if value is None:
        return ""
    return to_json(value, inf_nan_mode="null").decode()


def truncate_outputs(results: Sequence[ToolResult], each_chars: int, total_chars: int) -> list[str]:
    """Truncate the outputs of one sequence as the model is shown them.

    Each is cut to `each_chars`, all of them to `total_chars`: the output that crosses the total
    is cut there, later ones are only named. Notes do not count, nor do outputs of tools that say
    themselves how much is shown.
    """
    left, out = total_chars, []
    for result in results:
        text, size = result.output, result.output_chars
        own = int(result.facts.get(SHOWN_CHARS, 0))
        available = own or min(each_chars, left)
        if len(text) == size <= available:
            out.append(text)
            left -= 0 if own else size
        elif available > 0:
            note = f"[⚠️ OUTPUT TRUNCATED - Original size: {size} characters]"
            out.append(f"{text[:available]}\n\n{note}")
            left -= 0 if own else min(available, len(text))
        else:
            out.append(f"[⚠️ OUTPUT OMITTED - Original size: {size} characters]")
    return out


def format_results(results: Sequence[tuple[str, CallStatus, str]]) -> str:
    """Format results (tool, status, output) as one text.

    For models without native calls, and for other agents.
    """
    parts = ["\n[📊 TOOL EXECUTION RESULTS]\n\n"]
    for tool, status, output in results:
        word = "success" if status == "success" else "error"
        parts.append(f"{tool}:\n  Status: {word}\n  Output: {output}\n\n")
    parts.append("[END RESULTS]\n")
    return "".join(parts)
