"""What of a tool's output the model is shown, and how."""

from collections.abc import Sequence
from typing import Any

from pydantic_core import to_json

from tools.calls import Status, ToolResult

BLOCK_HEAD = "\n[📊 TOOL EXECUTION RESULTS]\n\n"


def as_text(value: Any) -> str:
    """A handler's return value as text: text as it is, None as nothing, everything else as JSON.

    Raises:
        ValueError: the value has no JSON form (pydantic_core's PydanticSerializationError is one).
    """
    if isinstance(value, str):
        return value
    if value is None:
        return ""
    return to_json(value, inf_nan_mode="null").decode()


def shown(results: Sequence[ToolResult], each_chars: int, total_chars: int) -> list[str]:
    """The outputs of one sequence as the model is shown them.

    Each cut to `each_chars`, all of them to `total_chars`.

    The output that crosses the total is cut there, later ones are only named. Notes do not count.
    """
    left, out = total_chars, []
    for result in results:
        text, size = result.output, result.size
        room = min(each_chars, left)
        if len(text) == size <= room:
            out.append(text)
            left -= size
        elif room > 0:
            out.append(f"{text[:room]}\n\n[⚠️ OUTPUT TRUNCATED - Original size: {size} characters]")
            left -= min(room, len(text))
        else:
            out.append(f"[⚠️ OUTPUT OMITTED - Original size: {size} characters]")
    return out


def as_block(results: Sequence[tuple[str, Status, str]]) -> str:
    """Results (tool, status, shown output) as one text.

    For models without native calls and for other agents.
    """
    parts = [BLOCK_HEAD]
    for tool, status, output in results:
        parts.append(
            f"{tool}:\n  Status: {'success' if status == 'success' else 'error'}\n  Output: {output}\n\n"
        )
    parts.append("[END RESULTS]\n")
    return "".join(parts)
