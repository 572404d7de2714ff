"""Texts, tables and slides of office files."""

import io
from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeVar

import docx
import openpyxl
import pptx
from docx.table import Table
from docx.text.paragraph import Paragraph
from pptx.shapes.base import BaseShape
from pptx.shapes.group import GroupShape

from crew.documents.reading.archives import check_archive
from crew.documents.reading.marked import MarkedText, UnreadableFile
from crew.documents.reading.plain import add_rows

T = TypeVar("T")
MAX_DEPTH = 20


def read_docx(data: bytes, out: MarkedText) -> None:
    """Add the paragraphs and tables of a text; raises UnreadableFile."""
    check_archive(data)
    document = _opened("text", lambda: docx.Document(io.BytesIO(data)))
    for block in document.iter_inner_content():
        with out.paragraph():
            if isinstance(block, Table):
                _add_table(([_cell(cell) for cell in row.cells] for row in block.rows), out)
            else:
                _add_paragraph(block, out)


def _shown(paragraph: Paragraph) -> str:
    """Return the text of a paragraph without what is hidden."""
    runs = paragraph.runs
    if any(run.font.hidden for run in runs):
        return "".join(run.text for run in runs if not run.font.hidden)
    return str(paragraph.text)


def _cell(cell: Any) -> str:
    return "\n".join(map(_shown, cell.paragraphs))


def _add_paragraph(paragraph: Paragraph, out: MarkedText) -> None:
    text = _shown(paragraph)
    if not text.strip():
        return
    style = (paragraph.style.name or "") if paragraph.style is not None else ""
    level = style.removeprefix("Heading ")
    if style == "Title":
        out.add(f"# {text.strip()}")
    elif level != style and level.isdigit():
        out.add(f"{'#' * min(6, int(level))} {text.strip()}")
    elif style.startswith("List"):
        out.add(f"- {text.strip()}")
    else:
        out.add(text)


def _add_table(rows: Iterable[list[str]], out: MarkedText) -> None:
    for row in rows:
        values = [" ".join(one.split()) for one in row]
        if any(values):
            out.add(f"| {' | '.join(values)} |\n")


def read_xlsx(data: bytes, out: MarkedText) -> None:
    """Add the rows of sheets, with the values last computed; raises UnreadableFile."""
    check_archive(data)
    workbook = _opened(
        "table", lambda: openpyxl.load_workbook(io.BytesIO(data), True, False, True, False)
    )
    hidden = 0
    for sheet in workbook.worksheets:
        if sheet.sheet_state != "visible":
            hidden += 1
            continue
        # what a file says of its own size may be wrong
        sheet.reset_dimensions()
        out.mark(f"{sheet.title}, row 1")
        out.add(f"## {sheet.title}\n\n")
        rows = sheet.iter_rows(values_only=True)
        add_rows(
            (["" if one is None else str(one) for one in row] for row in rows), out, sheet.title
        )
        out.add("\n")
    if hidden:
        out.note(f"{hidden} hidden sheets")


def read_pptx(data: bytes, out: MarkedText) -> None:
    """Add the text of each slide, with its notes; raises UnreadableFile."""
    check_archive(data)
    shown = _opened("presentation", lambda: pptx.Presentation(io.BytesIO(data)))
    hidden = 0
    for number, slide in enumerate(shown.slides, 1):
        if slide.element.get("show") == "0":
            hidden += 1
            continue
        out.mark(f"slide {number}")
        for shape in _shapes(slide.shapes):
            with out.paragraph():
                if getattr(shape, "has_table", False):
                    _add_table(([c.text for c in row.cells] for row in shape.table.rows), out)
                elif shape.has_text_frame and shape.text_frame.text.strip():
                    is_title = shape == slide.shapes.title
                    out.add(f"{'## ' if is_title else ''}{shape.text_frame.text.strip()}")
        if slide.has_notes_slide and (frame := slide.notes_slide.notes_text_frame) is not None:
            with out.paragraph():
                out.add(f"Notes: {frame.text.strip()}" if frame.text.strip() else "")
    if hidden:
        out.note(f"{hidden} hidden slides")


def _shapes(shapes: Iterable[BaseShape], depth: int = 0) -> Iterator[Any]:
    """Yield shapes, and those within groups."""
    for shape in shapes:
        if not isinstance(shape, GroupShape):
            yield shape
        elif depth < MAX_DEPTH:
            yield from _shapes(shape.shapes, depth + 1)


def _opened(what: str, open_it: Callable[[], T]) -> T:
    try:
        return open_it()
    except (MemoryError, RecursionError):
        raise
    except Exception as error:
        # these libraries raise errors of any kind for files that are not what they say
        raise UnreadableFile(f"is damaged: its {what} cannot be opened") from error
