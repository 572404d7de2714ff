"""Code fences in a text, as CommonMark has them."""

import re

# a fence of backticks has none behind it, a closing one nothing at all
FENCE = re.compile(r"^[ \t]*(?:(`{3,})([^`\n]*)|(~{3,})([^\n]*))$", re.MULTILINE)


def code_fences(text: str) -> list[tuple[int, int]]:
    """Return where the code fences are; one that is never closed goes to the end."""
    out: list[tuple[int, int]] = []
    opened, start = "", 0
    for fence in FENCE.finditer(text):
        marks, behind = fence[1] or fence[3], fence[2] or fence[4] or ""
        if not opened:
            opened, start = marks, fence.start()
        elif marks.startswith(opened) and not behind.strip():
            out.append((start, fence.end()))
            opened = ""
    return [*out, (start, len(text) + 1)] if opened else out


def without_code(text: str) -> str:
    """Return a text without what stands in its code fences."""
    if "```" not in text and "~~~" not in text:
        return text
    out, end = [], 0
    for start, stop in code_fences(text):
        out.append(text[end:start])
        end = stop
    return "".join((*out, text[end:]))
