"""A call as a person reads it before it is made; pure."""

import json
from collections.abc import Mapping
from typing import Any

from tools.calls import ToolCall

# of one argument, and of all of a call where a question is told in short
MAX_ARGUMENT = 4000
MAX_CALL = 1000


def call_text(
    tool: str, arguments: Mapping[str, Any], most: int = MAX_ARGUMENT, *, compact: bool = False
) -> str:
    """Write a call so that nothing of it is overlooked.

    One line where no argument has a line break and all are short. Else a line for each argument,
    with the lines of a text below it, indented. A long text keeps its beginning and its end.

    Args:
        tool: the tool's name.
        arguments: of the call.
        most: characters of one argument.
        compact: JSON without spaces, as lists have it.
    """
    line = f"{tool} {_json(arguments, compact=compact)}"
    has_lines = any(isinstance(value, str) and "\n" in value for value in arguments.values())
    if not has_lines and len(line) <= most:
        return line
    out = [tool]
    for name, value in arguments.items():
        text = shorten(value if isinstance(value, str) else _json(value), most)
        if "\n" in text:
            out += [f"  {name}:", *(f"    {one}" for one in text.split("\n"))]
        else:
            out.append(f"  {name}: {text}")
    return "\n".join(out)


def shorten(text: str, most: int) -> str:
    """Cut a text to about so many characters: its beginning and its end stay."""
    if len(text) <= most:
        return text
    half = most // 2
    left_out = len(text) - 2 * half
    return f"{text[:half]}\n[… {left_out} characters left out …]\n{text[-half:]}"


def _json(value: Any, *, compact: bool = False) -> str:
    separators = (",", ":") if compact else None
    return json.dumps(value, ensure_ascii=False, separators=separators)


def call_key(call: ToolCall) -> str:
    """Return the same for two calls of one tool with the same arguments."""
    return json.dumps([call.tool, call.arguments], sort_keys=True)
