"""Signals that nearly stood in an answer: in a code fence, or in another spelling."""

import re
import unicodedata
from collections.abc import Iterator, Sequence

from agents.written.fences import code_fences, without_code
from crew.routing.rules import Route
from crew.routing.signals import Signal, normalize
from crew.why.steps import MatchedText

# on each side of the words that decided
AROUND = 40
# a signal with fewer letters is in nearly every text
LEAST_LETTERS, LONG_WORD = 3, 8
WORD = re.compile(r"[^\W_]+")
# beside a word that is meant as a signal
OPENING, CLOSING = tuple("[({<*_#"), tuple("])}>*_")


def find_matched(signal: Signal, text: str) -> MatchedText | None:
    """Return where a signal stands in an answer, outside of code; places are of its NFC form."""
    whole = unicodedata.normalize("NFC", text)
    for match in signal.pattern.finditer(_blank_code(whole)):
        start, end = match.span()
        if signal.occurs(normalize(match[0])):
            first, last = max(0, start - AROUND), min(len(whole), end + AROUND)
            shown = " ".join(whole[first:last].split())
            before = "…" if first else ""
            behind = "…" if last < len(whole) else ""
            return MatchedText(f"{before}{shown}{behind}", start, end)
    return None


def near_signals(routes: Sequence[Route], text: str) -> Iterator[str]:
    """Yield in words why signals that nearly stand in an answer do not count."""
    whole, counted = normalize(text), normalize(without_code(text))
    words = list(WORD.finditer(_plain(without_code(text))))
    for route in routes:
        signal = route.signal
        if signal.occurs(counted):
            continue
        if signal.occurs(whole):
            yield f"{signal.text} stands in a code fence, which does not count"
        elif len(form := _letters(signal.text)) >= LEAST_LETTERS and _stands_in(form, words):
            yield f"{signal.text} stands there in another spelling"


def _blank_code(text: str) -> str:
    """Return a text with spaces in place of its code fences."""
    for start, end in code_fences(text):
        text = text[:start] + " " * (min(end, len(text)) - start) + text[end:]
    return text


def _plain(text: str) -> str:
    """Return a text without accents."""
    plain = unicodedata.normalize("NFKD", text)
    return "".join(one for one in plain if not unicodedata.combining(one))


def _letters(text: str) -> str:
    """Return the letters and digits of a text, without accents and case."""
    return re.sub(r"[\W_]+", "", _plain(text)).casefold()


def _stands_in(form: str, words: Sequence[re.Match[str]]) -> bool:
    """Return whether whole words of a text spell a signal, and are written as one.

    One short word only in brackets or other signs, or in capitals: it may be one of a sentence.
    """
    for place, first in enumerate(words):
        spelt, last = "", first
        for last in words[place : place + len(form)]:
            spelt += last[0].casefold()
            if len(spelt) >= len(form):
                break
        if spelt != form:
            continue
        text = first.string
        before, behind = text[: first.start()][-1:], text[last.end() :][:1]
        written = text[first.start() : last.end()]
        is_own = last is not first or len(form) >= LONG_WORD
        if is_own or before in OPENING or behind in CLOSING or written.isupper():
            return True
    return False
