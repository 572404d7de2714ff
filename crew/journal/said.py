"""What was said where a run paused, and what a quote of it proves; pure."""

import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass

from crew.journal.events import Paused
from crew.journal.query import Answer
from crew.journal.questions import question_text

# of a quote, unless it is the whole text: so many words, or so many letters
LEAST_WORDS, LEAST_LETTERS = 3, 12
# of scripts without spaces between words; Han, Kana, Hangul, Thai, Lao, Khmer, Burmese
LEAST_CHARACTERS = 4
UNSPACED = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1100-\u11ff\u1780-\u17ff\u3040-\u30ff\u3130-\u318f\u3400-\u9fff"
    "\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff]"
)


@dataclass(frozen=True, slots=True)
class Said:
    """Words between the query and the answer of a run that paused."""

    text: str
    # who asked, and its display name; "" for the person who answered
    agent_id: str = ""
    agent: str = ""


def asked(event: Paused, answer: str) -> Said:
    """Return what a pause asks: the agent's last answer, or the question about calls."""
    text = answer if event.question is None else question_text(event.question)
    return Said(text, event.agent_id, event.agent)


def answered(answer: Answer) -> Said:
    """Return what a person says to that: words, reasons, or the decisions by themselves."""
    reasons = [one.reason or one.result for one in answer.decisions]
    words = answer.text or answer.result or "\n".join(filter(None, reasons))
    return Said(words or answer.decides)


def proves(quote: str, texts: Iterable[str]) -> bool:
    """Return whether a quote proves that it was said.

    It stands in one of these texts, from word to word.

    Form, case and white space aside. It has at least 3 words or 12 letters (4 characters of a
    script without spaces), or is the whole text.
    """
    wanted = _plain(quote)
    if not wanted:
        return False
    plain = [_plain(text) for text in texts]
    return wanted in plain or (_is_long(wanted) and any(_stands_in(wanted, text) for text in plain))


def _plain(text: str) -> str:
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split())


def _is_long(text: str) -> bool:
    unspaced = len(UNSPACED.findall(text))
    words = sum(any(map(str.isalnum, word)) for word in text.split())
    letters = sum(map(str.isalpha, text))
    return unspaced >= LEAST_CHARACTERS or words >= LEAST_WORDS or letters >= LEAST_LETTERS


def _stands_in(wanted: str, text: str) -> bool:
    at = text.find(wanted)
    while at >= 0:
        if _is_border(text, at) and _is_border(text, at + len(wanted)):
            return True
        at = text.find(wanted, at + 1)
    return False


def _is_border(text: str, at: int) -> bool:
    """Return whether no word goes on across a place of a text."""
    if at in (0, len(text)):
        return True
    before, after = text[at - 1], text[at]
    if UNSPACED.match(before) or UNSPACED.match(after):
        # but not between a letter and its mark
        return not unicodedata.category(after).startswith("M")
    return not (_is_of_word(before) and _is_of_word(after))


def _is_of_word(character: str) -> bool:
    return character.isalnum() or character == "_" or unicodedata.category(character)[0] == "M"
