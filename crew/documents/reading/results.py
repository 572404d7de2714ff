"""What the process that reads is sent, and what it answers; each on one line of JSON."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pydantic_core import from_json, to_json

from crew.documents.cuts import CutRule, Piece


@dataclass(frozen=True, slots=True)
class ReadRequest:
    """What is to be read; the bytes come behind it."""

    kind: str
    # of the words
    language: str
    max_chars: int
    cut: CutRule

    def encode(self) -> bytes:
        """Return it as one line."""
        cut = [self.cut.tokens, self.cut.overlap, self.cut.most]
        return to_json([self.kind, self.language, self.max_chars, cut]) + b"\n"

    @classmethod
    def decode(cls, line: bytes) -> "ReadRequest":
        """Return what a line says."""
        kind, language, max_chars, cut = from_json(line)
        return cls(kind, language, max_chars, CutRule(*cut))


@dataclass(frozen=True, slots=True)
class ReadPiece:
    """A piece of a text, with its words."""

    piece: Piece
    # how often each word stands there, and how many there are
    terms: Mapping[str, int]
    length: int


@dataclass(frozen=True, slots=True)
class ReadText:
    """What was read."""

    text: str
    pieces: tuple[ReadPiece, ...] = ()
    # what was left out
    notes: tuple[str, ...] = ()
    # why nothing was read; "" where it was
    reason: str = ""

    def encode(self) -> bytes:
        """Return it as one line."""
        pieces = [
            [one.piece.start, one.piece.end, one.piece.place, one.terms, one.length]
            for one in self.pieces
        ]
        return to_json([self.text, pieces, self.notes, self.reason]) + b"\n"

    @classmethod
    def decode(cls, line: bytes) -> "ReadText":
        """Return what a line says; raises ValueError."""
        text, pieces, notes, reason = from_json(line)
        read = tuple(_piece(*one) for one in pieces)
        return cls(text, read, tuple(notes), reason)


def _piece(start: int, end: int, place: str, terms: dict[str, Any], length: int) -> ReadPiece:
    return ReadPiece(Piece(start, end, place), terms, length)
