"""The names and numbers in a text, and whether a quote has one of them; pure."""

import re
import unicodedata
from collections.abc import Iterator
from itertools import groupby

from crew.memory.proofs import SIGNS
from crew.memory.words import Words, without_marks
from tools.text.scripts import UNSPACED

# a name may have another ending in the quote: so many letters are enough
NAME_LETTERS = 4
# a number with its thousands, or a decimal; else letters
TOKEN = re.compile(
    r"(?<!\d)\d{1,3}(?:[.,'\u066b\u066c ]\d{3}(?!\d))+(?:[.,]\d+)?|\d+(?:[.,]\d+)?|[^\W\d_]+"
)
GROUPS = re.compile(r"[.,'\u066b\u066c ](?=\d{3}(?!\d))")
# what ends a sentence, so that a capital letter behind it makes no name; not that of an initial
SENTENCE_END = re.compile(r"(?<!\b[^\W\d_])[.!?:;\n][\s\"'(]*$")
# between the end of a sentence and the first word of the next
MAX_SIGNS, OPENING = 20, " \"'("


def shares_name(text: str, quote: str, words: Words | None = None, known: str = "") -> bool:
    """Return whether a text shares a name or a number with its quote, where it has one.

    A name begins with a capital letter within a sentence, or has another one within it.

    Args:
        text: that is to be remembered.
        quote: that is to prove it.
        words: know the endings of the crew's language, where there are any.
        known: what stood in place of the text before; its names need no proof.
    """
    names = set(_names(_plain(text))) - {_folded(one) for one, _ in _tokens(_plain(known))}
    if not names:
        return True
    said = {_folded(one) for one, _ in _tokens(_plain(quote))}
    if names & said:
        return True
    stems = {stem for one in said for stem in _stems(one, words)}
    return any(_is_said(name, said, stems, words) for name in names)


def _is_said(name: str, said: set[str], stems: set[str], words: Words | None) -> bool:
    # a number has no ending
    if name[0].isdigit():
        return False
    return any(_begins_alike(name, one) for one in said) or bool(stems & _stems(name, words))


def _stems(word: str, words: Words | None) -> set[str]:
    return set(words.query(word)) if words is not None and not word[0].isdigit() else set()


def _plain(text: str) -> str:
    return unicodedata.normalize("NFKC", text.translate(SIGNS)).translate(SIGNS)


def _tokens(text: str) -> Iterator[tuple[str, int]]:
    """Yield the numbers and words of a text, each of one script, and their places."""
    for found in TOKEN.finditer(text):
        at = found.start()
        for _, run in groupby(found.group(), lambda one: UNSPACED.match(one) is None):
            token = "".join(run)
            yield token, at
            at += len(token)


def _names(text: str) -> Iterator[str]:
    for token, at in _tokens(text):
        # what stands before it on the way to the end of a sentence is short
        before = text[max(0, at - MAX_SIGNS) : at]
        begins = not before.strip(OPENING) or SENTENCE_END.search(before) is not None
        # one letter alone names nothing: "I"
        has_capital = token[0].isupper() and not begins and len(token) > 1
        if has_capital or any(map(str.isupper, token[1:])) or token[0].isdigit():
            yield _folded(token)


def _folded(token: str) -> str:
    """Return a word without case and marks, or a number without the signs of its thousands."""
    if token[0].isdigit():
        return GROUPS.sub("", token).replace(",", ".")
    return without_marks(token.casefold())


def _begins_alike(name: str, word: str) -> bool:
    """Return whether one is the other with an ending."""
    short, long = sorted((name, word), key=len)
    return len(short) >= NAME_LETTERS and long.startswith(short)
