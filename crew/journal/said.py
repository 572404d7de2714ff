"""What was said where a run paused, and what a quote of it proves; pure."""

import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, get_args

from agents.messages import Attachment
from crew.journal.events import Paused
from crew.journal.query import Answer, Decision, Query
from crew.journal.questions import question_text
from tools.text.scripts import FORMAT, UNSPACED

# of a quote, unless it is the whole text: so many words, or so many letters
LEAST_WORDS, LEAST_LETTERS = 3, 12
# of scripts without spaces between words
LEAST_CHARACTERS = 4

# typographic signs, as keyboards have them
SIGNS = str.maketrans(
    {
        **dict.fromkeys("\u2018\u2019\u201a\u201b\u02bc\u2032\u2039\u203a\u00b4`", "'"),
        **dict.fromkeys("\u201c\u201d\u201e\u201f\u00ab\u00bb\u2033", '"'),
        **dict.fromkeys("\u2010\u2011\u2012\u2013\u2014\u2015\u2212", "-"),
    }
)
# within a number, as in 1,500, 10:30, 1/2 and 10-20; before one
NUMBER_SIGNS, FIRST_SIGNS = ".,:/-", ".,-"
DECISIONS = frozenset(get_args(Decision))
# a passage of so many characters that stands in a source, too, was pasted
PASTED = 200
QUOTED_LINE = re.compile(r"^[^\S\n]*>+", re.MULTILINE)
# of the same half of a passage in sources
MAX_PLACES = 8


@dataclass(frozen=True, slots=True)
class Said:
    """Words between the query and the answer of a run that paused."""

    text: str
    # who asked, and its display name; "" for the person who answered
    agent_id: str = ""
    agent: str = ""
    # what the person has sent with it
    attached: tuple[Attachment, ...] = ()


def asked(event: Paused, answer: str) -> Said:
    """Return what a pause asks: the agent's last answer, or the question about calls."""
    text = answer if event.question is None else question_text(event.question)
    return Said(text, event.agent_id, event.agent)


def answered(answer: Answer) -> Said:
    """Return what a person says to that: words, reasons, or the decisions by themselves."""
    reasons = [one.reason or one.result for one in answer.decisions]
    words = answer.text or answer.result or "\n".join(filter(None, reasons))
    return Said(words or answer.decides, attached=answer.attachments)


def words_of_person(query: str, said: Iterable[Said]) -> tuple[str, ...]:
    """Return what a person has said; a decision by a button is not in words."""
    answers = (one.text for one in said if not one.agent_id)
    return (query, *(one for one in answers if one not in DECISIONS))


def attached_by_person(query: Query, said: Iterable[Said]) -> list[Attachment]:
    """Return what a person has sent with their words."""
    return [*query.attachments, *(one for part in said for one in part.attached)]


def describe_attached(attached: Sequence[Attachment]) -> dict[str, Any]:
    """Return attachments as programs are shown them, where there are any."""
    shown = [
        {
            "document_id": one.document_id,
            "name": one.name,
            "collection": one.collection,
            "media_type": one.media_type or None,
        }
        for one in attached
    ]
    return {"attachments": shown} if shown else {}


def proves(quote: str, texts: Iterable[str], sources: Iterable[str] = ()) -> bool:
    """Return whether a quote proves that it was said.

    It stands in one of these texts, from word to word, and in no passage of it that was pasted.
    Form, case and white space aside. It has at least 3 words or 12 letters (4 characters of a
    script without spaces), or is the whole text.

    Args:
        quote: of the texts.
        texts: that were said.
        sources: texts of tools and documents, of which a passage may have been pasted.
    """
    wanted = _plain(quote)
    if not wanted:
        return False
    plain = [_plain(text) for text in texts]
    found = [text for text in plain if text == wanted or _stands_in(wanted, text)]
    if not found:
        return False
    blocks = _blocks_of(sources) if any(len(text) >= PASTED for text in found) else {}
    for text in found:
        parts = _own_parts(text, blocks)
        if text == wanted and parts == [text]:
            return True
        if _is_long(wanted) and any(_stands_in(wanted, part) for part in parts):
            return True
    return False


def _blocks_of(sources: Iterable[str]) -> dict[str, list[tuple[str, int]]]:
    """Return texts in blocks of half a passage: whatever is long enough has one of them whole."""
    blocks: dict[str, list[tuple[str, int]]] = {}
    for source in map(_plain, sources):
        for at in range(0, len(source) - PASTED // 2 + 1, PASTED // 2):
            places = blocks.setdefault(source[at : at + PASTED // 2], [])
            # one that repeats itself has the same block over and over
            if len(places) < MAX_PLACES:
                places.append((source, at))
    return blocks


def _own_parts(text: str, blocks: Mapping[str, Sequence[tuple[str, int]]]) -> list[str]:
    """Return a text without the passages that stand in others, too."""
    parts: list[str] = []
    begin = at = 0
    size = PASTED // 2
    while blocks and at <= len(text) - size:
        first = last = at
        for source, place in blocks.get(text[at : at + size], ()):
            start, end = _common(text, at, source, place)
            if end - start >= PASTED and end - start > last - first:
                first, last = _whole_words(text, start, end)
        if last > at:
            parts.append(text[begin:first])
            begin = at = last
        else:
            at += 1
    return [one for one in (*parts, text[begin:]) if one]


def _whole_words(text: str, start: int, end: int) -> tuple[int, int]:
    """Return a passage without parts of words at its ends, which are of what is around it."""
    while start < end and not _is_border(text, start):
        start += 1
    while end > start and not _is_border(text, end):
        end -= 1
    return start, end


def _common(text: str, at: int, source: str, place: int) -> tuple[int, int]:
    """Return from where to where a text is the same as a source, around a place of both."""
    start, other = at, place
    while start > 0 and other > 0 and text[start - 1] == source[other - 1]:
        start, other = start - 1, other - 1
    end, other = at, place
    while end < len(text) and other < len(source) and text[end] == source[other]:
        end, other = end + 1, other + 1
    return start, end


def _plain(text: str) -> str:
    # passages of documents are shown so, line by line
    text = QUOTED_LINE.sub("", text).translate(SIGNS)
    text = unicodedata.normalize("NFKC", text).translate(SIGNS).casefold()
    if not text.isascii():
        # what has no width joins or parts nothing; the Turkish capital letter is an i with a dot
        text = FORMAT.sub("", text).replace("i\u0307", "i")
    return " ".join(text.split())


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
    if _goes_on(text, at - 1, begins=True) or _goes_on(text, at, begins=False):
        return False
    if UNSPACED.match(before) or UNSPACED.match(after):
        # but not between a letter and its mark
        return not unicodedata.category(after).startswith("M")
    return not (_is_of_word(before) and _is_of_word(after))


def _goes_on(text: str, at: int, *, begins: bool) -> bool:
    """Return whether a number or a word goes on across a sign: `1,500`, `10:30`, `-5`, `can't`.

    `begins`: what is looked at begins behind the sign; else it ends before it.
    """
    sign, left, right = text[at], text[at - 1 : at], text[at + 1 : at + 2]
    if sign == "'":
        return left.isalpha() and right.isalpha()
    if sign == "%":
        return left.isdigit() and not begins
    if sign not in NUMBER_SIGNS or not right.isdigit():
        return False
    return left.isdigit() or (begins and sign in FIRST_SIGNS and not left.isalnum())


def _is_of_word(character: str) -> bool:
    return character.isalnum() or character == "_" or unicodedata.category(character)[0] == "M"
