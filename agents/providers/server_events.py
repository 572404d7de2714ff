"""The bytes of an answer: bounded, decompressed, and taken apart into server-sent events."""

import contextlib
import json
import re
import zlib
from collections.abc import Mapping

import aiohttp
from pydantic_core import from_json

from agents.errors import ModelError
from tools.clock import Clock

# of an answer that comes at once
MAX_ANSWER_BYTES = 8 * 2**20
# of all events of a streamed one: a few characters come in some hundred bytes
MAX_STREAM_BYTES = 512 * 2**20
MAX_EVENT_BYTES = 4 * 2**20
# how long the end of a stream may come behind its last event: its connection is used again then
END_SECONDS = 0.05
# at the lines of one event, whether they are whole
MAX_LOOKS = 100
DONE = (b"[DONE]", b'"[DONE]"', b"DONE")
BOM = b"\xef\xbb\xbf"
# before an answer that comes whole, comments of a stream; behind it, its end
COMMENTS = re.compile(rb"(?:\s*:[^\r\n]*[\r\n]+)+")
END = re.compile(rb"\s*data:\s*\[DONE\]\s*\Z")
# what lines of a stream begin with; the last is llama.cpp's
FIELDS = (b"data:", b":", b"event:", b"id:", b"retry:", b"error: {")
# what a proxy may have done to an answer by itself: by coding, the window of zlib
CODINGS = {"gzip": 31, "x-gzip": 31, "deflate": 15}
# what gateways write so that nothing behind them compresses an answer
PLAIN = frozenset({"", "identity", "none", "utf-8", "utf8", "binary", "8bit"})
RAW_DEFLATE = -15
# of gzip
MEMBER = b"\x1f\x8b"


def refuse_too_large(headers: Mapping[str, str]) -> None:
    """Refuse an answer before any of its body is read, also of errors; raises ModelError."""
    coding = _coding_of(headers)
    if coding not in PLAIN and coding not in CODINGS:
        text = f"the answer is compressed ({coding[:40]}), unasked"
        raise ModelError("unreadable", text, final=True)
    length = headers.get("content-length", "0")
    if not length.isdecimal() or int(length[:20]) > MAX_ANSWER_BYTES:
        raise _too_large("the answer", MAX_ANSWER_BYTES)


def _coding_of(headers: Mapping[str, str]) -> str:
    coding = headers.get("content-encoding")
    # nearly always there is none
    return coding.strip().lower() if coding else ""


class BoundedBody:
    """The body of an answer, bounded and decompressed."""

    def __init__(self, response: aiohttp.ClientResponse, limit: int) -> None:
        """Read nothing yet.

        Args:
            response: the answer.
            limit: how many bytes it may have, also decompressed.
        """
        coding = _coding_of(response.headers)
        self._content, self._limit, self._size = response.content, limit, 0
        self._inflating = _Inflating(coding) if coding in CODINGS else None

    async def read(self) -> bytes:
        """Read the next piece; b"" at the end.

        Raises:
            ModelError: it is too large, or its coding is broken.
        """
        while piece := await self._content.readany():
            self._size += len(piece)
            if self._size > self._limit:
                raise _too_large("the answer", self._limit)
            if self._inflating is None:
                return piece
            if inflated := b"".join(self._inflating.feed(piece, self._limit)):
                return inflated
        return b""

    async def read_rest(self, first: bytes = b"") -> bytes:
        """Read all that is left, behind a first piece; raises ModelError.

        A connection that is lost behind a whole answer loses nothing.
        """
        pieces = [first] if first else []
        try:
            while piece := await self.read():
                pieces.append(piece)
        except aiohttp.ClientError:
            if not _is_json(b"".join(pieces)):
                raise
        return pieces[0] if len(pieces) == 1 else b"".join(pieces)


class _Inflating:
    """A compressed body that comes in pieces."""

    def __init__(self, coding: str) -> None:
        self._window = CODINGS[coding]
        self._zlib = zlib.decompressobj(self._window)
        self._may_be_raw = coding == "deflate"
        # of what came out
        self.size = 0

    def feed(self, piece: bytes, limit: int) -> list[bytes]:
        """Return what a piece holds, in parts.

        Raises ModelError where it is too much, or broken.
        """
        out: list[bytes] = []
        while piece:
            if self._zlib.eof:
                # a body may have several members (RFC 1952, 2.2)
                if not piece.startswith(MEMBER):
                    break
                self._zlib = zlib.decompressobj(self._window)
            room = limit - self.size + 1
            try:
                part = self._zlib.decompress(piece, room)
            except zlib.error as error:
                if not self._may_be_raw or self.size:
                    text = f"the answer cannot be decompressed: {error}"
                    raise ModelError("unreadable", text) from None
                # many servers send it without the header that RFC 9110, 8.4.1.2 asks for
                self._may_be_raw, self._window = False, RAW_DEFLATE
                self._zlib = zlib.decompressobj(self._window)
                continue
            self.size += len(part)
            if part:
                out.append(part)
            if self.size > limit:
                raise _too_large("the answer", limit)
            piece = self._zlib.unused_data if self._zlib.eof else self._zlib.unconsumed_tail
        return out


async def read_whole(response: aiohttp.ClientResponse) -> bytes:
    """Read the body of an answer; raises ModelError where it is too large."""
    return await BoundedBody(response, MAX_ANSWER_BYTES).read_rest()


def without_frame(data: bytes) -> bytes:
    """Return an answer that came at once without what belongs to a stream around it."""
    data = data.removeprefix(BOM).lstrip()
    if data[:1] == b":":
        data = COMMENTS.sub(b"", data, count=1).lstrip()
    return END.sub(b"", data) if data[:1] == b"{" else data


def may_be_events(data: bytes) -> bool:
    """Return whether a stream of events may begin so."""
    return any(data.startswith(field) or field.startswith(data[:8]) for field in FIELDS)


def decoded_once(data: bytes) -> bytes:
    """Return the JSON that stands in a text of JSON; any other data as it is."""
    if not data.startswith(b'"'):
        return data
    try:
        inner = json.loads(data)
    except ValueError:
        return data
    return str(inner).encode(errors="replace") if inner.lstrip().startswith("{") else data


def chunks_in(data: bytes) -> list[bytes] | None:
    """Return the chunks of a stream that came at once: events, or lines of JSON; else None."""
    # fields that no one knows may stand before the first
    if data.startswith(FIELDS) or (data[:1] not in (b"{", b"[", b"<") and b"\ndata:" in data):
        events = EventData()
        found = [*events.feed(data), *events.rest()]
        return [one for one in found if one[:1] in (b"{", b"[") and one not in DONE]
    lines = [one for one in data.splitlines() if one.strip()]
    if len(lines) > 1 and all(
        one.startswith(b"{") and one.rstrip().endswith(b"}") for one in lines
    ):
        return lines
    return None


async def read_end(response: aiohttp.ClientResponse, clock: Clock) -> None:
    """Read what is left of a stream behind its last event: nothing, as a rule, or its end."""
    with contextlib.suppress(TimeoutError, aiohttp.ClientError):
        async with clock.timeout(END_SECONDS):
            while await response.content.readany():
                continue


class EventData:
    """The data of each server-sent event of a stream that comes in pieces.

    An event ends with an empty line. Some servers leave that out, so that a line of data that is
    an object is taken at once; one that is not yet goes on with the next line of data.
    """

    def __init__(self) -> None:
        self._rest = b""
        self._size = 0
        # its lines end with carriage returns alone
        self._has_returns = False
        # lines of data that are no whole object yet, their size, and how often that was looked at
        self._data: list[bytes] = []
        self._held = self._looks = 0

    def feed(self, piece: bytes) -> list[bytes]:
        """Return the data of the events that a piece completes.

        Raises ModelError where it is too much.
        """
        self._size += len(piece)
        if self._size > MAX_STREAM_BYTES:
            raise _too_large("the answer", MAX_STREAM_BYTES)
        if self._size == len(piece):
            self._has_returns = b"\r" in piece and b"\n" not in piece
        if self._has_returns:
            piece = piece.replace(b"\r", b"\n")
        *lines, self._rest = (self._rest + piece).split(b"\n")
        if len(self._rest) > MAX_EVENT_BYTES:
            raise _too_large("an event of the answer", MAX_EVENT_BYTES)
        found: list[bytes] = []
        for line in lines:
            if line.startswith(b"data:"):
                self._add(line[5:].strip(), found)
            elif line.startswith(b"error: {"):
                # llama.cpp
                self._add(b'{"error":%b}' % line[6:].strip(), found)
            elif self._data and not line.strip():
                found.append(self._take())
        return found

    def _add(self, data: bytes, found: list[bytes]) -> None:
        if not self._data and data.startswith(b"{") and data.endswith(b"}"):
            # as nearly always
            found.append(data)
            return
        if data in DONE:
            found += [self._take(), data] if self._data else [data]
            return
        if not self._data and not data.startswith((b"{", b"[")):
            found += [data] if data else []
            return
        self._data.append(data)
        self._held += len(data)
        if self._held > MAX_EVENT_BYTES:
            raise _too_large("an event of the answer", MAX_EVENT_BYTES)
        if data.endswith((b"}", b"]")) and self._looks < MAX_LOOKS:
            self._looks += 1
            if _is_json(b"\n".join(self._data)):
                found.append(self._take())

    def _take(self) -> bytes:
        data = b"\n".join(self._data)
        self._data, self._held, self._looks = [], 0, 0
        return data

    def rest(self) -> list[bytes]:
        """Return the data at the end of a stream that ends without an empty line."""
        found = self.feed(b"\n\n") if self._rest or self._data else []
        self._rest = b""
        return found


def _is_json(data: bytes) -> bool:
    try:
        from_json(data)
    except ValueError:
        return False
    return True


def _too_large(what: str, most: int) -> ModelError:
    return ModelError("unreadable", f"{what} is larger than {most >> 20} MiB")
