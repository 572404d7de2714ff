"""A response -> text, bounded while it is read."""

import json
import zlib
from collections.abc import AsyncIterator
from typing import Any

from pydantic_core import to_json

from tools.errors import PermanentError
from tools.schemas.json_pointer import value_at

# a content type whose bytes are text, by its beginning or end
TEXT_TYPES = ("text/", "application/json", "application/xml", "application/yaml")
TEXT_TYPES_MORE = ("application/javascript", "application/x-www-form-urlencoded")
TEXT_SUFFIXES = ("+json", "+xml", "+yaml", "-yaml", "/x-ndjson", "/graphql")
CODINGS = {"gzip": 31, "x-gzip": 31, "deflate": 15}
KIB = 1024


class TooLongError(PermanentError):
    """A body is longer than it may be."""

    def __init__(self, limit: int) -> None:
        kib = limit // KIB
        super().__init__(f"the answer is longer than {kib} KB (max_response_kb)")


async def read_body(chunks: AsyncIterator[bytes], coding: str, limit: int) -> bytes:
    """Read a body, decoded.

    Args:
        chunks: as it comes.
        coding: its `Content-Encoding`.
        limit: bytes of it, before and after decoding.

    Raises:
        PermanentError: it is too long, or not in a coding that can be read.
    """
    coding = coding.strip().lower()
    if coding not in ("", "identity", *CODINGS):
        raise PermanentError(f"the answer has the content coding {coding!r}, which was not asked")
    decoder = _Decoder(CODINGS.get(coding), limit)
    async for chunk in chunks:
        decoder.add(chunk)
    return decoder.end()


class _Decoder:
    """Bytes as they come, decoded if they are compressed; never more than a limit."""

    def __init__(self, window_bits: int | None, limit: int) -> None:
        self._limit, self._window_bits = limit, window_bits
        self._zlib = zlib.decompressobj(window_bits) if window_bits is not None else None
        self._body = bytearray()
        self._received = 0

    def add(self, chunk: bytes) -> None:
        """Add more of it."""
        self._received += len(chunk)
        if self._received > self._limit:
            raise TooLongError(self._limit)
        self._body += self._decoded(chunk)
        if len(self._body) > self._limit:
            raise TooLongError(self._limit)

    def _decoded(self, chunk: bytes) -> bytes:
        if self._zlib is None:
            return chunk
        room = self._limit - len(self._body) + 1
        try:
            return self._zlib.decompress(chunk, room)
        except zlib.error as error:
            if self._window_bits == CODINGS["deflate"] and not self._body:
                # many servers send it without the header that RFC 9110, 8.4.1.2 asks for
                self._window_bits = -15
                self._zlib = zlib.decompressobj(-15)
                return self._decoded(chunk)
            raise PermanentError(f"the answer cannot be decompressed: {error}") from None

    def end(self) -> bytes:
        """Return all of it; raises PermanentError where it is cut."""
        if self._zlib is not None and self._received and not self._zlib.eof:
            raise PermanentError("the compressed answer is cut")
        return bytes(self._body)


def body_text(body: bytes, content_type: str, charset: str | None) -> str:
    """Return a body as the model reads it: text, or its type and size.

    Args:
        body: decoded.
        content_type: without parameters; "" where none was given.
        charset: its own, if it names one.
    """
    if not _is_text(body, content_type.lower()):
        size = f"{-(-len(body) // KIB)} KB"
        return f"[{content_type or 'no content type'}, {size}]"
    try:
        return body.decode(charset or "utf-8-sig", "replace")
    except LookupError:
        return body.decode("utf-8", "replace")


def _is_text(body: bytes, content_type: str) -> bool:
    if not content_type:
        return b"\0" not in body
    begins = content_type.startswith((*TEXT_TYPES, *TEXT_TYPES_MORE))
    return begins or content_type.endswith(TEXT_SUFFIXES)


def part_of(text: str, pointer: str) -> str:
    """Return the part of a JSON text that a pointer names (RFC 6901), a text as it is.

    Raises:
        PermanentError: this is no JSON, or has no such part.
    """
    try:
        value: Any = json.loads(text)
    except (ValueError, RecursionError):
        raise PermanentError(f"the answer is no JSON, so it has no part {pointer}") from None
    try:
        value = value_at(value, pointer)
    except KeyError:
        raise PermanentError(f"the answer has no part {pointer} (expect.pointer)") from None
    return value if isinstance(value, str) else to_json(value).decode()
