"""A text, cut into pieces that are searched: at headings, paragraphs, sentences, words; pure."""

import bisect
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from agents.tokenizing.tokens import count_tokens

# where a text is cut, the best first; what they match ends the part before
SEPARATORS = (
    re.compile(r"\n(?=#{1,6} )"),
    re.compile(r"\n[^\S\n]*\n\s*"),
    re.compile(r"\n"),
    re.compile(r"(?<=[.!?])[\"'”’)\]]*\s+|(?<=[。！？])"),
    re.compile(r"\s+"),
)
# of a place, as it is shown
MAX_PLACE = 80
# characters between two parts that are no tokens of their own: a space, an empty line
USUAL_SPACE = 2
HEADING = re.compile(r"^(#{1,6}) (.+)$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class CutRule:
    """How large pieces are."""

    # of a piece at most, and of the end of the piece before that stands in it again
    tokens: int
    overlap: int
    # pieces of a text
    most: int = 50_000


@dataclass(frozen=True, slots=True)
class Piece:
    """From where to where, in characters, and where that stands in the file."""

    start: int
    end: int
    place: str


class TooManyPieces(Exception):
    """A text that would be more pieces than there may be."""


def cut_text(text: str, marks: Sequence[tuple[int, str]], rule: CutRule) -> list[Piece]:
    """Cut a text; every character that is no white space stands in a piece.

    Args:
        text: all of it.
        marks: where parts of the file begin, and their names; else headings are places.
        rule: how large pieces are.

    Raises:
        TooManyPieces: there would be more than there may be.
    """
    levels = [0, *(0 for _ in marks)]
    if not marks:
        found = list(HEADING.finditer(text))
        marks = [(one.start(), one[2].strip()[:MAX_PLACE]) for one in found]
        levels = [0, *(len(one[1]) for one in found)]
    starts = [start for start, _ in marks]
    names = ["", *(name for _, name in marks)]
    pieces: list[Piece] = []
    for start, end in _packed(text, rule):
        first = bisect.bisect_right(starts, start)
        past = bisect.bisect_right(starts, end - 1) + 1
        # what stands below a heading that is deeper is a part of it
        others = [one for one in range(first + 1, past) if levels[one] <= levels[first]]
        place = names[first]
        last = min(reversed(others), key=levels.__getitem__, default=first)
        if place and names[last] != place:
            # a citation must not name the page, or the heading, before
            place = _from_to(place, names[last])
        pieces.append(Piece(start, end, place))
        if len(pieces) > rule.most:
            raise TooManyPieces
    return pieces


def _from_to(first: str, last: str) -> str:
    """Return two places as one: "page 1 to 2", "Refunds to Stop loss"."""
    head, _, tail = last.rpartition(" ")
    is_number = tail.isdigit() and first.rpartition(" ")[0] == head
    return f"{first} to {tail if is_number else last}"


def _packed(text: str, rule: CutRule) -> Iterator[tuple[int, int]]:
    """Yield the bounds of pieces: parts together, as many as there is room for."""
    parts = list(_counted(text, rule.tokens))
    first = 0
    while first < len(parts):
        last, tokens = first, parts[first][2]
        while last + 1 < len(parts) and tokens + sum(parts[last + 1][2:]) <= rule.tokens:
            if _begins_section(text, parts[last + 1][0]) and tokens > rule.tokens // 2:
                # a section of its own, rather than the end of the one before
                break
            last += 1
            tokens += sum(parts[last][2:])
        yield parts[first][0], parts[last][1]
        if last + 1 == len(parts):
            return
        again, tokens = last + 1, 0
        while again > first + 1 and tokens + sum(parts[again - 1][2:]) <= rule.overlap:
            if _begins_section(text, parts[again][0]):
                break
            again -= 1
            tokens += sum(parts[again][2:])
        first = again


def _counted(text: str, tokens: int) -> Iterator[tuple[int, int, int, int]]:
    """Yield parts with their tokens, and how many the unusual white space before each has."""
    before = 0
    for start, end in _parts(text, tokens):
        gap = text[before + USUAL_SPACE : start] if before else ""
        yield start, end, count_tokens(text[start:end]), count_tokens(gap)
        before = end


def _begins_section(text: str, start: int) -> bool:
    return HEADING.match(text, start) is not None


def _parts(text: str, tokens: int) -> Iterator[tuple[int, int]]:
    """Yield parts that are small enough to be packed, without white space around them."""
    yield from _split(text, 0, len(text), max(1, tokens // 4), 0)


def _split(text: str, start: int, end: int, tokens: int, level: int) -> Iterator[tuple[int, int]]:
    while start < end and text[start].isspace():
        start += 1
    while end > start and text[end - 1].isspace():
        end -= 1
    if start == end:
        return
    if _fits(text[start:end], tokens):
        yield start, end
        return
    if level == len(SEPARATORS):
        # a character is less than a token
        step = 4 * tokens
        for begin in range(start, end, step):
            yield begin, min(end, begin + step)
        return
    begin = start
    for found in SEPARATORS[level].finditer(text, start, end):
        if found.start() > begin or found.end() > begin:
            yield from _split(text, begin, found.end(), tokens, level + 1)
            begin = found.end()
    yield from _split(text, begin, end, tokens, level + 1)


def _fits(text: str, tokens: int) -> bool:
    # a long text has more tokens than that, whatever it says
    return len(text) <= 16 * tokens and count_tokens(text) <= tokens
