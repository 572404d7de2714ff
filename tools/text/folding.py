"""Texts that are the same but for case, form and white space."""

import unicodedata


def fold(text: str) -> str:
    """Convert to NFC, fold case, and join white space."""
    if text.isascii():
        text = text.lower()
    else:
        # folding may undo the composition
        text = unicodedata.normalize("NFC", unicodedata.normalize("NFC", text).casefold())
    # a tenth of the time that patterns take
    return " ".join(text.split())
