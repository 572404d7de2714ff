"""What office files are packed in, looked at before anything is unpacked."""

import io
import re
import zipfile
from collections.abc import Callable
from typing import TypeVar

from crew.documents.reading.marked import UnreadableFile

T = TypeVar("T")
MAX_UNPACKED, MAX_RATIO, MAX_ENTRIES = 200 << 20, 200, 20_000
ARCHIVE = re.compile(
    r"\.(?:zip|jar|7z|rar|tar|gz|tgz|bz2|xz|zst|docx|xlsx|pptx|docm|xlsm)$", re.IGNORECASE
)
# what Office itself packs into its files, such as the values of a chart; it is never opened
EMBEDDED = re.compile(r"(?:^|/)embeddings/")
XML_BYTES = 4096
DECLARATION = re.compile(rb"<!\s*(?:DOCTYPE|ENTITY)", re.IGNORECASE)


def check_archive(data: bytes) -> None:
    """Raise UnreadableFile for one that may hold more than it should, or is damaged."""
    try:
        archive = zipfile.ZipFile(io.BytesIO(data))
    except (zipfile.BadZipFile, ValueError, NotImplementedError, OverflowError) as error:
        raise UnreadableFile("is damaged: its archive cannot be opened") from error
    with archive:
        entries = archive.infolist()
        if len(entries) > MAX_ENTRIES:
            raise UnreadableFile(f"has {len(entries)} parts; {MAX_ENTRIES} at most are read")
        if any(one.flag_bits & 1 for one in entries):
            raise UnreadableFile("is encrypted")
        unpacked = sum(one.file_size for one in entries)
        if unpacked > MAX_UNPACKED:
            text = f"would be {unpacked >> 20} MiB when unpacked; {MAX_UNPACKED >> 20} at most"
            raise UnreadableFile(f"{text} are read")
        if unpacked > MAX_RATIO * len(data):
            raise UnreadableFile(f"is packed more than {MAX_RATIO} to 1")
        for one in entries:
            if ARCHIVE.search(one.filename) and not EMBEDDED.search(one.filename):
                raise UnreadableFile("has an archive within it")
        for one in entries:
            if one.filename.endswith((".xml", ".rels")):
                _require_plain(archive, one)


def _require_plain(archive: zipfile.ZipFile, entry: zipfile.ZipInfo) -> None:
    """Raise UnreadableFile for XML with declarations of its own, which office files never have."""
    try:
        with archive.open(entry) as opened:
            head = opened.read(XML_BYTES)
    except (zipfile.BadZipFile, NotImplementedError, EOFError, OSError, ValueError) as error:
        raise UnreadableFile("is damaged: a part of it cannot be unpacked") from error
    # UTF-16 has zeros between its letters
    if DECLARATION.search(head.replace(b"\0", b"")):
        raise UnreadableFile("declares entities, which office files never do")


def open_office(what: str, open_it: Callable[[], T]) -> T:
    """Return what a library makes of an office file; raises UnreadableFile, with what it has."""
    try:
        return open_it()
    except (MemoryError, RecursionError):
        raise
    except Exception as error:
        # these libraries raise errors of any kind for files that are not what they say
        raise UnreadableFile(f"is damaged: its {what} cannot be opened") from error
