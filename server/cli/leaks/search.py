"""Finds planted values in what a program has written, also URL-encoded or within base64.

Written without `tools.text.secrets`, which it checks.
"""

import base64
import re
from collections.abc import Mapping
from urllib.parse import unquote_plus

BASE64 = re.compile(rb"[A-Za-z0-9+/_-]{12,}")


def found_in(content: bytes, planted: Mapping[str, str]) -> list[str]:
    """Return the names of the planted values that stand in an output."""
    readings = [content, unquote_plus(content.decode(errors="replace")).encode(), _decoded(content)]
    return [name for name, value in planted.items() if any(value.encode() in r for r in readings)]


def _decoded(content: bytes) -> bytes:
    """Return all that may be base64, decoded from each of the places where its groups may begin."""
    pieces = []
    for run in BASE64.findall(content):
        text = run.replace(b"-", b"+").replace(b"_", b"/")
        for start in range(4):
            part = text[start:]
            # what is missing of the last group
            pieces.append(base64.b64decode(part + b"A" * (-len(part) % 4)))
    return b"\n".join(pieces)
