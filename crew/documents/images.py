"""Images that people send with their words: what they are, and how they are kept; pure."""

import base64
import binascii
import re

from crew.journal.records.remembered.documents import DocumentLimits

# of a conversation: no collection of a crew has this name
IMAGES = "images"
MAX_ATTACHMENTS = 4
MAX_IMAGE_BYTES = 5_000_000
# of a conversation
IMAGE_LIMITS = DocumentLimits(200, 0, 0)
DATA_URL = re.compile(r"data:[a-z]+/[a-z0-9.+-]+;base64,", re.IGNORECASE)
# of a data URL, with the longest beginning
MAX_URL = MAX_IMAGE_BYTES * 4 // 3 + 100


class ImageRefused(Exception):
    """What is no image that is taken; says why."""


def image_kind(data: bytes) -> str | None:
    """Return `png`, `jpeg` or `webp`, by the first bytes; None for anything else."""
    if data.startswith(b"\x89PNG\r\n\x1a\n"):
        return "png"
    if data.startswith(b"\xff\xd8\xff"):
        return "jpeg"
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return "webp"
    return None


def read_data_url(url: str) -> tuple[bytes, str]:
    """Return the bytes of an image in a data URL, and its kind; raises ImageRefused.

    The kind is that of the bytes, whatever the URL says.
    """
    begins = DATA_URL.match(url)
    if begins is None:
        raise ImageRefused("is no data URL with base64, such as data:image/png;base64,…")
    if len(url) > MAX_URL:
        raise _too_large()
    try:
        data = base64.b64decode(url[begins.end() :], validate=True)
    except (ValueError, binascii.Error):
        raise ImageRefused("is no base64 behind the comma") from None
    if len(data) > MAX_IMAGE_BYTES:
        raise _too_large()
    kind = image_kind(data)
    if kind is None:
        raise ImageRefused("is no PNG, JPEG or WebP, by its first bytes")
    return data, kind


def _too_large() -> ImageRefused:
    return ImageRefused(f"has more than {MAX_IMAGE_BYTES // 1_000_000} MB; send a smaller one")
