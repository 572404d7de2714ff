"""A text that is written piece by piece, with the places where its parts stand in the file."""

import re
from collections.abc import Iterator
from contextlib import contextmanager

from crew.documents.cuts import MAX_PLACE

# of what was left out
MAX_NOTE = 500
# control characters, and marks that change the direction of what follows or cannot be seen
RAISED_SIGNS = frozenset("+-\u2212")
UNWANTED = re.compile(
    r"[\x00-\x08\x0e-\x1b\x7f\x80-\x84\x86-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069"
    r"\ufeff\ufff9-\ufffb\U000e0000-\U000e007f\ud800-\udfff]"
)
# of lines, slides (a soft one), pages and records
BREAKS = re.compile(r"\r\n?|[\x0b\x0c\x1c-\x1f\x85\u2028\u2029]")


class UnreadableFile(Exception):
    """A file that cannot be read; says why, as people are shown it."""


def raised(text: str) -> str:
    """Return what stands above its line as it is typed: 10⁶ is `10^6`, not 106; 21st stays so."""
    return f"^{text}" if text[:1].isdigit() or text[:1] in RAISED_SIGNS else text


class MarkedText:
    """What a file comes to."""

    def __init__(self, max_chars: int) -> None:
        """Begin; `max_chars`: more than these are UnreadableFile."""
        self.max_chars = max_chars
        # what was left out
        self.notes: list[str] = []
        # where a part begins, and its name
        self.marks: list[tuple[int, str]] = []
        self._parts: list[str] = []
        self._chars = 0

    def add(self, text: str) -> None:
        """Add text; raises UnreadableFile."""
        cleaned = cleaned_text(text)
        self._chars += len(cleaned)
        if self._chars > self.max_chars:
            text = f"has more text than there is room for ({self.max_chars} characters, max_chars)"
            raise UnreadableFile(text)
        self._parts.append(cleaned)

    def mark(self, place: str) -> None:
        """Note that what follows stands at a place."""
        shown = " ".join(cleaned_text(place).split())
        self.marks.append((self._chars, shown[:MAX_PLACE]))

    @contextmanager
    def paragraph(self) -> Iterator[None]:
        """Add an empty line behind what is added meanwhile."""
        before = self._chars
        yield
        if self._chars > before:
            self.add("\n\n")

    def note(self, text: str) -> None:
        """Note what was left out."""
        self.notes.append(" ".join(cleaned_text(text).split())[:MAX_NOTE])

    @property
    def text_begun(self) -> bool:
        """Whether there is any text yet."""
        return self._chars > 0

    @property
    def text(self) -> str:
        """All of it."""
        return "".join(self._parts)


def cleaned_text(text: str) -> str:
    """Return a text without characters that no one sees, its lines ended in one way."""
    return UNWANTED.sub("", BREAKS.sub("\n", text))
