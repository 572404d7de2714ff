"""Texts as PostgreSQL takes them: it has no NUL, for which the replacement character stands."""

import re

NUL, REPLACEMENT = "\0", "\ufffd"
# in JSON, where a backslash may itself be escaped
ESCAPED_NUL = re.compile(r"(?<!\\)((?:\\\\)*)\\u0000")


def column_text(text: str) -> str:
    """Return a text for a column, or to search for."""
    return text.replace(NUL, REPLACEMENT)


def column_json(document: bytes) -> str:
    """Return a document of which the database reads parts."""
    return ESCAPED_NUL.sub(rf"\1{REPLACEMENT}", document.decode())
