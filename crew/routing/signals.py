"""Finds signals in text; pure."""

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass

SPACE = re.compile(r"\s+")
INSIDE = re.compile(r"(?<=\[) | (?=\])")


def normalize(text: str) -> str:
    """NFC, case folded, runs of white space as one space, none just inside square brackets."""
    if not text.isascii():
        # folding may undo the composition
        text = unicodedata.normalize("NFC", unicodedata.normalize("NFC", text).casefold())
    else:
        text = text.lower()
    return INSIDE.sub("", SPACE.sub(" ", text).strip())


@dataclass(frozen=True, slots=True)
class Signal:
    """A signal that is ready to be looked for."""

    text: str
    normal: str
    # without brackets it must stand as whole words
    bracketed: bool

    @classmethod
    def of(cls, text: str) -> "Signal":
        """The signal of crew.yaml."""
        form = normalize(text)
        return cls(text, form, form.startswith("[") and form.endswith("]"))

    def occurs(self, normal_text: str) -> bool:
        """Whether it is in a text that is in normal form."""
        if not self.normal:
            return False
        at = normal_text.find(self.normal)
        while at >= 0:
            end = at + len(self.normal)
            if self.bracketed or not (_joined(normal_text, at) or _joined(normal_text, end)):
                return True
            at = normal_text.find(self.normal, at + 1)
        return False


def find(signals: Sequence[Signal], text: str) -> list[int]:
    """The places in `signals` of those that occur in a text, in their own order."""
    if not signals or not text:
        return []
    form = normalize(text)
    return [place for place, signal in enumerate(signals) if signal.occurs(form)]


def _joined(text: str, at: int) -> bool:
    """Whether one word reaches over a place in a text."""
    return 0 < at < len(text) and _in_word(text[at - 1]) and _in_word(text[at])


def _in_word(char: str) -> bool:
    return char.isalnum() or char == "_" or unicodedata.category(char)[0] == "M"
