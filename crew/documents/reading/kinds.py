"""What kind of file bytes are: by what they hold, then by their name; pure."""

import codecs
import io
import re
import zipfile
import zlib
from pathlib import PurePosixPath
from typing import Literal, get_args

FileKind = Literal["txt", "md", "csv", "json", "html", "eml", "pdf", "docx", "xlsx", "pptx"]
FILE_KINDS: tuple[FileKind, ...] = get_args(FileKind)
# read with the extra `documents`
OFFICE_KINDS: frozenset[FileKind] = frozenset({"pdf", "docx", "xlsx", "pptx"})
BY_ENDING: dict[str, FileKind] = {
    ".md": "md",
    ".markdown": "md",
    ".csv": "csv",
    ".tsv": "csv",
    ".json": "json",
    ".htm": "html",
    ".html": "html",
    ".xhtml": "html",
    ".eml": "eml",
}
# the part of an archive that makes it one of office
PARTS: dict[bytes, FileKind] = {
    b"word/document.xml": "docx",
    b"xl/workbook.xml": "xlsx",
    b"ppt/presentation.xml": "pptx",
}
# at the start of a line: readers of PDF allow something before it
PDF = re.compile(rb"^\s*%PDF-\d", re.MULTILINE)
# what a part of an archive is, in its list of them; its name may be another one
CONTENT_TYPES = "[Content_Types].xml"
MAIN_PARTS: dict[bytes, FileKind] = {
    b"wordprocessingml.document.main+xml": "docx",
    b"spreadsheetml.sheet.main+xml": "xlsx",
    b"presentationml.presentation.main+xml": "pptx",
}
MAX_TYPES_BYTES = 1_000_000
HTML = re.compile(rb"<(?:!doctype\s+html|html)\b", re.IGNORECASE)
# longest first: that of UTF-32 begins with that of UTF-16
BOMS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
HEAD_BYTES = 4096
# fewer bytes may be by chance what others are
LEAST_BYTES = 32
CONTROL = re.compile(rb"[\x00-\x08\x0b\x0e-\x1f\x7f]")
OLD_OFFICE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"


class UnknownKind(Exception):
    """Bytes that are no kind of file that is read; says why."""


def kind_of_file(data: bytes, name: str) -> FileKind:
    """Return the kind of a file.

    Args:
        data: all of it.
        name: of it.

    Raises:
        UnknownKind: it is none that is read.
    """
    head, ending = data[:HEAD_BYTES], PurePosixPath(name).suffix.lower()
    # texts are about PDF, too
    is_text = ending == ".txt" or ending in BY_ENDING
    is_named = ending == ".pdf" and b"%PDF-" in head[:1024]
    pdf = PDF.search(head[:1024].removeprefix(codecs.BOM_UTF8))
    if is_named or (pdf is not None and (pdf.start() == 0 or not is_text)):
        return "pdf"
    if head.startswith(OLD_OFFICE):
        text = "is encrypted, or of an old Office (.doc, .xls, .ppt): save it as docx, xlsx or pptx"
        raise UnknownKind(text)
    if head.startswith((b"PK\x03\x04", b"PK\x05\x06")):
        return _kind_of_archive(data)
    if encoding_of(head) is None and b"\0" in head:
        raise UnknownKind("is no text, and no kind of file that is read")
    if (encoding := encoding_of(head)) is not None:
        head = head.decode(encoding, "ignore").encode("utf-8", "ignore")
    if HTML.match(_without_comments(head)):
        return "html"
    return BY_ENDING.get(ending, "txt")


def _kind_of_archive(data: bytes) -> FileKind:
    # the list of its parts stands at its end, behind other archives that are within it
    found = {data.rfind(part): kind for part, kind in PARTS.items()}
    if (last := max(found)) >= 0:
        return found[last]
    types = _content_types(data)
    for name, kind in MAIN_PARTS.items():
        if name in types:
            return kind
    raise UnknownKind("is an archive, and none of Office (docx, xlsx, pptx): send what is in it")


def _content_types(data: bytes) -> bytes:
    """Return what an archive says of its parts; nothing where it does not say it."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive, archive.open(CONTENT_TYPES) as part:
            return part.read(MAX_TYPES_BYTES)
    except (zipfile.BadZipFile, KeyError, OSError, RuntimeError, ValueError, zlib.error):
        return b""


def _without_comments(head: bytes) -> bytes:
    """Return the beginning of a file without what may stand before its first element."""
    rest = head.removeprefix(codecs.BOM_UTF8).lstrip()
    if rest.startswith(b"<?xml") and (end := rest.find(b"?>")) >= 0:
        rest = rest[end + 2 :].lstrip()
    while rest.startswith(b"<!--") and (end := rest.find(b"-->")) >= 0:
        rest = rest[end + 3 :].lstrip()
    return rest


def encoding_of(data: bytes) -> str | None:
    """Return the encoding that the first bytes of a text name, or show by their zeros."""
    for mark, encoding in BOMS:
        if data.startswith(mark):
            return encoding
    # letters of Latin have a zero beside them
    pairs = data[:HEAD_BYTES]
    for first, encoding in ((0, "utf-16-be"), (1, "utf-16-le")):
        zeros, others = pairs[first::2], pairs[1 - first :: 2]
        if len(zeros) > 1 and zeros.count(0) > 0.7 * len(zeros) and others.count(0) == 0:
            return encoding
    return None


def has_wrong_mark(data: bytes) -> bool:
    """Return whether a text has the mark of UTF-16, and is UTF-8.

    Letters of UTF-16 that are UTF-8 without control characters, one after the other, do not
    happen by chance.
    """
    if not data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return False
    head = data[2:HEAD_BYTES]
    if len(head) < LEAST_BYTES or CONTROL.search(head) is not None:
        return False
    try:
        # a character may end behind the head
        codecs.getincrementaldecoder("utf-8")().decode(head)
    except UnicodeDecodeError:
        return False
    return True
