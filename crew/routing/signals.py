"""Finds signals in text; pure."""

import re
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache

from agents.written.fences import without_code
from tools.text.folding import fold


def normalize(text: str) -> str:
    """Convert to NFC, fold case, join white space, and remove it just inside square brackets."""
    return fold(text).replace("[ ", "[").replace(" ]", "]")


@dataclass(frozen=True, slots=True)
class Signal:
    """A signal that is ready to be looked for."""

    text: str
    normal: str
    # without brackets it must stand as whole words
    bracketed: bool

    @classmethod
    def of(cls, text: str) -> "Signal":
        """Return the signal of crew.yaml."""
        form = normalize(text)
        return cls(text, form, form.startswith("[") and form.endswith("]"))

    @property
    def pattern(self) -> re.Pattern[str]:
        """Its first character and the others, whatever the case and the white space."""
        return _pattern(self.normal)

    def occurs(self, normal_text: str) -> bool:
        """Return whether it is in a text that is in normal form."""
        if not self.normal:
            return False
        at = normal_text.find(self.normal)
        while at >= 0:
            end = at + len(self.normal)
            if self.bracketed or not (_joined(normal_text, at) or _joined(normal_text, end)):
                return True
            at = normal_text.find(self.normal, at + 1)
        return False


def ending_signal(text: str, signals: Iterable[Signal]) -> str:
    """Return the signal with which a text ends, as it is written there; "" where it has none."""
    text = text.rstrip()
    found = (
        match.start()
        for one in signals
        if one.normal
        for match in one.pattern.finditer(text)
        if match.end() == len(text) and (one.bracketed or not _joined(text, match.start()))
    )
    return text[min(found, default=len(text)) :]


# few signals are ever escaped, and each takes 0.1 ms to compile
@lru_cache(maxsize=1000)
def _pattern(form: str) -> re.Pattern[str]:
    words = r"\s+".join(re.escape(word) for word in form[1:].split(" "))
    inside = r"\s*" if form.startswith("[") else ""
    closing = re.sub(r"(\\\])$", r"\\s*\1", words)
    return re.compile(f"({re.escape(form[:1])})({inside}{closing})", re.IGNORECASE)


def find(signals: Sequence[Signal], text: str) -> list[int]:
    """Find the places in `signals` of those that occur in a text, in their own order.

    Code between fences is shown, not said.
    """
    if not signals or not text:
        return []
    form = normalize(without_code(text))
    return [place for place, signal in enumerate(signals) if signal.occurs(form)]


def escape(signals: Sequence[Signal], text: str) -> str:
    """Escape a text in which each signal that occurs has a backslash behind its first character."""
    if not signals:
        return text
    form = normalize(text)
    for signal in signals:
        if signal.occurs(form):
            text = signal.pattern.sub(r"\1\\\2", text)
            form = normalize(text)
            if signal.occurs(form):
                # only its folded form is there
                text = signal.pattern.sub(r"\1\\\2", form)
                form = normalize(text)
    return text


def _joined(text: str, at: int) -> bool:
    """Return whether one word reaches over a place in a text."""
    return 0 < at < len(text) and _in_word(text[at - 1]) and _in_word(text[at])


def _in_word(char: str) -> bool:
    return char.isalnum() or char == "_" or unicodedata.category(char)[0] == "M"
