"""Secret values: found in texts, also where they stand encoded, and masked."""

import base64
import re
from collections.abc import Callable, Iterable
from json import dumps
from urllib.parse import quote, quote_plus, urlsplit

MASK = "***"
# names of headers whose values are secrets
SECRET_HEADER = re.compile(r"auth|key|token|secret|cookie", re.IGNORECASE)
# shorter values are words such as "none" or "ollama", and stand in too many texts
MIN_CHARS = 8
# a text that stands for what is left out of an output
LEFT_OUT = re.compile(r"(\n\[… \d+ (?:bytes|characters) left out …\]\n)")
# of a secret of several lines, those that are secrets by themselves
MIN_LINE_CHARS = 16


class Secrets:
    """The secret values of a crew, in all revisions of its files; none is forgotten."""

    def __init__(self, values: Iterable[str] = ()) -> None:
        self._values: set[str] = set()
        # as they may stand in a text, the longest first
        self._forms: tuple[str, ...] = ()
        # the same by their first character, for texts that come in pieces, and by their first and
        # last `MIN_CHARS`, for texts that are cut
        self._by_first: dict[str, list[str]] = {}
        self._starts: dict[str, list[str]] = {}
        self._ends: dict[str, list[str]] = {}
        for value in values:
            self.add(value)

    def add(self, value: str) -> None:
        """Add a secret value; do nothing if it is too short to differ from a word."""
        value = value.strip()
        if value in self._values or len(value) < MIN_CHARS:
            return
        self._values.add(value)
        lines = [line for line in value.split("\n")[1:] if len(line) >= MIN_LINE_CHARS]
        forms = {*self._forms, *_forms(value), *lines}
        self._forms = tuple(sorted(forms, key=lambda form: (-len(form), form)))
        self._by_first, self._starts, self._ends = {}, {}, {}
        for form in self._forms:
            self._by_first.setdefault(form[0], []).append(form)
            self._starts.setdefault(form[:MIN_CHARS], []).append(form)
            self._ends.setdefault(form[-MIN_CHARS:], []).append(form)

    def add_address(self, url: str) -> None:
        """Add the password of an address, which alone is a secret."""
        try:
            self.add(urlsplit(url).password or "")
        except ValueError:
            # no address, which another check reports
            return

    def mask(self, text: str) -> str:
        """Mask a text in which `***` stands for each secret."""
        for form in self._forms:
            if form in text:
                text = text.replace(form, MASK)
        return text

    def mask_cut(self, text: str) -> str:
        """Mask a text that may be cut: also the larger part of a secret that a cut has left.

        A cut is at the beginning, at the end, and beside a note of what is left out.
        """
        if not self._forms:
            return text
        parts = LEFT_OUT.split(self.mask(text))
        for at in range(0, len(parts), 2):
            parts[at] = self._mask_ends(parts[at])
        return "".join(parts)

    def _mask_ends(self, text: str) -> str:
        most = len(self._forms[0])
        for at in range(max(0, len(text) - most), len(text) - MIN_CHARS + 1):
            start = text[at : at + MIN_CHARS]
            if start in self._starts and _has_most(text[at:], self._starts[start], str.startswith):
                text = text[:at] + MASK
                break
        for end in range(min(len(text), most), MIN_CHARS - 1, -1):
            last = text[end - MIN_CHARS : end]
            if last in self._ends and _has_most(text[:end], self._ends[last], str.endswith):
                return MASK + text[end:]
        return text

    def beginning(self, text: str) -> int:
        """Return how many characters at the end of a text may be the beginning of a secret."""
        if not self._forms:
            return 0
        for at in range(max(0, len(text) - len(self._forms[0]) + 1), len(text)):
            forms = self._by_first.get(text[at])
            if forms is not None and any(form.startswith(text[at:]) for form in forms):
                return len(text) - at
        return 0


class MaskedStream:
    """A text that comes in pieces: what may be the beginning of a secret waits for the next one."""

    def __init__(self, secrets: Secrets) -> None:
        self._secrets, self._held = secrets, ""

    def add(self, piece: str) -> str:
        """Return what can be shown by now."""
        text = self._secrets.mask(self._held + piece)
        end = len(text) - self._secrets.beginning(text)
        self._held = text[end:]
        return text[:end]

    def rest(self) -> str:
        """Return what is left at the end."""
        rest, self._held = self._held, ""
        return rest


def _has_most(part: str, forms: list[str], is_part: Callable[[str, str], bool]) -> bool:
    """Return whether a part holds so much of a form that it reveals too much of the secret.

    A short beginning is the same for many secrets.
    """
    return any(len(part) >= len(form) // 2 and is_part(form, part) for form in forms)


def _forms(value: str) -> set[str]:
    """Return a value as it stands in a text, a URL, JSON, and within base64."""
    quoted = {quote(value, safe=""), quote(value), quote_plus(value)}
    lower = {_lower_escapes(text) for text in quoted}
    written = {dumps(value)[1:-1], dumps(value, ensure_ascii=False)[1:-1]}
    return {value, *quoted, *lower, *written, *_within_base64(value.encode(errors="replace"))}


def _lower_escapes(text: str) -> str:
    parts = text.split("%")
    return "%".join([parts[0], *(part[:2].lower() + part[2:] for part in parts[1:])])


def _within_base64(data: bytes) -> set[str]:
    """Return what base64 of any text with these bytes in it has, whatever stands around them."""
    forms = set()
    for before in range(3):
        encoded = base64.b64encode(bytes(before) + data).decode()
        # the characters that depend on nothing else
        first, end = -(-before * 8 // 6), (before + len(data)) * 8 // 6
        core = encoded[first:end]
        forms |= {core, core.replace("+", "-").replace("/", "_")}
    return forms
