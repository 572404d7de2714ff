"""PDF, page by page."""

from contextlib import suppress

import pypdfium2

from crew.documents.reading.forms import fields_of
from crew.documents.reading.marked import MarkedText, UnreadableFile

# pages without text that are named
NAMED = 10


def read_pdf(data: bytes, out: MarkedText) -> None:
    """Add the text of each page; raises UnreadableFile."""
    try:
        document = pypdfium2.PdfDocument(data)
    except pypdfium2.PdfiumError as error:
        why = "is encrypted" if "password" in str(error) else "is damaged: it is no PDF"
        raise UnreadableFile(why) from error
    with document:
        # without it no field has a value; scripts of the file are not run
        with suppress(pypdfium2.PdfiumError):
            document.init_forms()
        empty: list[int] = []
        for number in range(len(document)):
            text = _text(document, number)
            if not text.strip():
                empty.append(number + 1)
                continue
            out.mark(f"page {number + 1}")
            out.add(f"{text.strip()}\n\n")
        if empty and len(empty) == len(document):
            raise UnreadableFile("has no text: pages that are images are not read")
        if not len(document):
            raise UnreadableFile("has no pages")
    if empty:
        named = ", ".join(map(str, empty[:NAMED])) + (", …" if len(empty) > NAMED else "")
        out.note(f"{len(empty)} pages without text, such as images: {named}")


def _text(document: pypdfium2.PdfDocument, number: int) -> str:
    try:
        page = document[number]
    except pypdfium2.PdfiumError as error:
        raise UnreadableFile(f"is damaged: page {number + 1} cannot be read") from error
    try:
        words = page.get_textpage()
        try:
            text = str(words.get_text_bounded()).strip()
        finally:
            words.close()
        filled = "\n".join(fields_of(document, page))
        return f"{text}\n\n{filled}" if filled else text
    finally:
        page.close()
