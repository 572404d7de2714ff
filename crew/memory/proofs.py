"""What proves that a person said something: a quote of their own words; pure.

What they have pasted of a tool or a document is not their own.
"""

import re
import unicodedata
from bisect import bisect_left
from collections.abc import Callable, Iterable

from crew.memory.function_words import BY_LANGUAGE
from tools.text.scripts import FORMAT, UNSPACED

# of a quote, unless it is the whole text: so many words, or so many letters
LEAST_WORDS, LEAST_LETTERS = 3, 12
# of scripts without spaces between words
LEAST_CHARACTERS = 4

# typographic signs, as keyboards have them
SIGNS = str.maketrans(
    {
        **dict.fromkeys("\u2018\u2019\u201a\u201b\u02b9\u02bb\u02bc\u2032\u2039\u203a\u00b4`", "'"),
        **dict.fromkeys("\u201c\u201d\u201e\u201f\u00ab\u00bb\u2033", '"'),
        **dict.fromkeys("\u2010\u2011\u2012\u2013\u2014\u2015\u2212", "-"),
    }
)
# within a number, as in 1,500, 10:30, 1/2, 10-20 and 5'000; before one
NUMBER_SIGNS, FIRST_SIGNS = ".,:/-'^\u00d7\u00b7\u2044\u066b\u066c", ".,-"
# behind a number, maybe after a space
UNITS = "%\u2030\u00b0"
# before and behind a space within a number, as in 5 000
LEADING, THOUSANDS = re.compile(r"(?:^|\D)\d{1,3}$"), re.compile(r"\d{3}(?!\d)")
# a passage of so many characters that stands in a source, too, was pasted
PASTED = 200
# whatever is that long has a block of half its length whole
BLOCK = PASTED // 2
# what quotes or lists a line, and what stands out in it: a copy of a page has it otherwise
MARKS = re.compile(
    r"^[^\S\n]*(?:(?:>+|[*\u2022\u2023\u25e6\u25aa\u00b7]|[-+](?![^\S\n]*\d)|#{1,6})(?=[^\S\n]|>)[^\S\n]*|>+)+"
    r"|\*\*|__|(?<=\s)\|(?=\s)|^\||\|$|[^\S\n]?\[\d{1,3}\](?!\w)",
    re.MULTILINE,
)
CAPITALS = re.compile(r"\b[A-Z]{2,}\b")
# with its apostrophe, as in l'
WORD = re.compile(r"\w+'?")
NUMBERED = re.compile(r"[^\S\n]{0,20}(\d{1,3})[.)][^\S\n]+", re.ASCII)
# may be left out at the end of a whole text
END_SIGNS = " .!\u3002\uff01\u2026"
# of the same block in sources
MAX_PLACES = 8


class PastedTexts:
    """Texts of tools and documents, of which a person may have pasted passages."""

    def __init__(self, texts: Iterable[str] = ()) -> None:
        self._known: set[str] = set()
        # by block: the texts that have it, and where
        self._blocks: dict[str, list[tuple[str, int]]] = {}
        self.add(texts)

    def add(self, texts: Iterable[str]) -> None:
        """Add texts; those that are known already cost nothing."""
        for text in texts:
            if text in self._known:
                continue
            self._known.add(text)
            source = _plain(text)
            for at in range(0, len(source) - BLOCK + 1, BLOCK):
                places = self._blocks.setdefault(source[at : at + BLOCK], [])
                # one that repeats itself has the same block over and over
                if len(places) < MAX_PLACES:
                    places.append((source, at))

    def own_parts(self, text: str) -> list[str]:
        """Return a plain text without the passages that stand in these, too."""
        parts: list[str] = []
        begin = at = 0
        while self._blocks and at <= len(text) - BLOCK:
            first = last = at
            for source, place in self._blocks.get(text[at : at + BLOCK], ()):
                start, end = _common(text, at, source, place)
                if end - start >= PASTED and end - start > last - first:
                    first, last = _whole_words(text, max(begin, start), end)
            if last > at:
                parts.append(text[begin:first])
                begin = at = last
            else:
                at += 1
        return [one for one in (*parts, text[begin:]) if one]


class OwnWords:
    """What a person has said; made once for all quotes of it."""

    def __init__(self, texts: Iterable[str], sources: PastedTexts | None = None) -> None:
        """Of texts; `sources`: of what was pasted, where `may_be_pasted`."""
        plain = [_plain(text) for text in texts]
        # each with its parts that were not pasted
        self._texts = [(one, [one] if sources is None else sources.own_parts(one)) for one in plain]

    def prove(self, quote: str) -> bool:
        """Return whether a quote proves that it was said.

        It stands in one of the texts, from word to word, and in no passage of it that was pasted.
        Form, case and white space aside. It has at least 3 words or 12 letters (4 characters of a
        script without spaces), which are not all `of the` or `it is a`; or it is the whole text.
        """
        wanted = _plain(quote)
        if not wanted:
            return False
        whole = wanted.rstrip(END_SIGNS)
        if any(
            text.rstrip(END_SIGNS) == whole and parts == [text]
            for text, parts in self._texts
            if whole
        ):
            return True
        return (
            _is_long(wanted)
            and not _is_empty(quote, wanted)
            and any(_stands_in(wanted, part) for _, parts in self._texts for part in parts)
        )


def may_be_pasted(texts: Iterable[str]) -> bool:
    """Return whether one of these texts is so long that a passage of it may have been pasted."""
    return any(len(text) >= PASTED for text in texts)


def _whole_words(text: str, start: int, end: int) -> tuple[int, int]:
    """Return a passage without parts of words at its ends, which are of what is around it."""
    while start < end and not _is_border(text, start):
        start += 1
    while end > start and not _is_border(text, end):
        end -= 1
    return start, end


def _common(text: str, at: int, source: str, place: int) -> tuple[int, int]:
    """Return from where to where a text is the same as a source, around a block of both.

    Texts are compared by halves: each sign by itself would take seconds where much is alike.
    """
    most = min(at, place)
    back = _alike(most, lambda size: text[at - size : at] == source[place - size : place])
    most = min(len(text) - at, len(source) - place)
    ahead = _alike(most, lambda size: text[at : at + size] == source[place : place + size])
    return at - back, at + ahead


def _alike(most: int, is_alike: Callable[[int], bool]) -> int:
    """Return the greatest size of which two texts are alike, up to `most`."""
    reach = min(most, BLOCK)
    while reach < most and is_alike(reach):
        reach = min(most, 2 * reach)
    return bisect_left(range(1, reach + 1), x=True, key=lambda size: not is_alike(size))


def _plain(text: str) -> str:
    # passages of documents are shown so, line by line
    text = MARKS.sub("", _unnumbered(text)).translate(SIGNS)
    text = unicodedata.normalize("NFKC", text).translate(SIGNS).casefold()
    if not text.isascii():
        # what has no width joins or parts nothing; the Turkish capital letter is an i with a dot
        text = FORMAT.sub("", text).replace("i\u0307", "i")
    return " ".join(text.split())


def _unnumbered(text: str) -> str:
    """Return a text without the numbers of its lists: lines that are counted one by one."""
    if "\n" not in text:
        return text
    lines = text.split("\n")
    found = [NUMBERED.match(line) for line in lines]
    numbers = [int(one[1]) if one is not None else None for one in found]
    for place, (one, number) in enumerate(zip(found, numbers, strict=True)):
        if one is None or number is None:
            continue
        beside = numbers[max(0, place - 1) : place + 2]
        # a line that begins with a date, or an amount, is none of a list
        if number - 1 in beside or number + 1 in beside:
            lines[place] = lines[place][one.end() :]
    return "\n".join(lines)


def _is_long(text: str) -> bool:
    unspaced = len(UNSPACED.findall(text))
    words = sum(any(map(str.isalnum, word)) for word in text.split())
    letters = sum(map(str.isalpha, text))
    return unspaced >= LEAST_CHARACTERS or words >= LEAST_WORDS or letters >= LEAST_LETTERS


def _is_empty(quote: str, plain: str) -> bool:
    """Return whether all words of a quote say nothing by themselves, in one language.

    `IT` and `US` do: a word of capitals among others is a name.
    """
    if not quote.isupper() and CAPITALS.search(quote) is not None:
        return False
    words = set(WORD.findall(plain))
    return any(words <= known for known in BY_LANGUAGE.values())


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
    if sign == "'" and left.isalpha():
        return right.isalpha()
    if sign in "-@" and left.isalpha() and right.isalpha():
        # half of `non-smoking` may mean the opposite
        return not (UNSPACED.match(left) or UNSPACED.match(right))
    if sign in UNITS:
        return left.isdigit() and not begins
    if sign == " " and right and right in UNITS:
        return left.isdigit() and not begins
    if sign == " ":
        leads = LEADING.search(text[max(0, at - 4) : at]) is not None
        return leads and THOUSANDS.match(text, at + 1) is not None
    if sign not in NUMBER_SIGNS or not right.isdigit():
        return False
    return left.isdigit() or (begins and sign in FIRST_SIGNS and not left.isalnum())


def _is_of_word(character: str) -> bool:
    return character.isalnum() or character == "_" or unicodedata.category(character)[0] == "M"
