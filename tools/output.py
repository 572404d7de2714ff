"""What of a tool's output the model is shown, and how."""

from collections.abc import Sequence
from typing import Any

from pydantic_core import to_json

from tools.calls import CallStatus, ToolResult


def serialize_output(value: Any) -> str:
    """A handler's return value as text: text unchanged, None as "", everything else as JSON.

    Raises:
        ValueError: the value has no JSON form (PydanticSerializationError is a ValueError).
    """
    if isinstance(value, str):
        return value
    if value is None:
        return ""
    return to_json(value, inf_nan_mode="null").decode()


def truncate_outputs(results: Sequence[ToolResult], each_chars: int, total_chars: int) -> list[str]:
    """The outputs of one sequence as the model is shown them.

    Each is cut to `each_chars`, all of them to `total_chars`: the output that crosses the total
    is cut there, later ones are only named. Notes do not count.
    """
    left, out = total_chars, []
    for result in results:
        text, size = result.output, result.output_chars
        available = min(each_chars, left)
        if len(text) == size <= available:
            out.append(text)
            left -= size
        elif available > 0:
            note = f"[⚠️ OUTPUT TRUNCATED - Original size: {size} characters]"
            out.append(f"{text[:available]}\n\n{note}")
            left -= min(available, len(text))
        else:
            out.append(f"[⚠️ OUTPUT OMITTED - Original size: {size} characters]")
    return out


def format_results(results: Sequence[tuple[str, CallStatus, str]]) -> str:
    """Results (tool, status, output) as one text.

    For models without native calls, and for other agents.
    """
    parts = ["\n[📊 TOOL EXECUTION RESULTS]\n\n"]
    for tool, status, output in results:
        word = "success" if status == "success" else "error"
        parts.append(f"{tool}:\n  Status: {word}\n  Output: {output}\n\n")
    parts.append("[END RESULTS]\n")
    return "".join(parts)
