"""Tables and slides of office files."""

import io
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import zip_longest
from typing import Any

import openpyxl
import pptx
from openpyxl.xml.functions import iterparse
from pptx.shapes.base import BaseShape
from pptx.shapes.group import GroupShape

from crew.documents.reading.archives import check_archive, open_office
from crew.documents.reading.marked import MarkedText, UnreadableFile
from crew.documents.reading.plain import add_rows, add_table

MAX_DEPTH = 20
# of a sheet, by the format
MAX_ROWS, MAX_COLUMNS = 1_048_576, 16_384
TRUE = ("1", "true")
C = "{http://schemas.openxmlformats.org/drawingml/2006/chart}"
A = "{http://schemas.openxmlformats.org/drawingml/2006/main}"
# of a series of a chart
MAX_POINTS = 10_000


def read_xlsx(data: bytes, out: MarkedText) -> None:
    """Add the rows of sheets, with the values last computed; raises UnreadableFile."""
    check_archive(data)
    workbook = open_office(
        "table", lambda: openpyxl.load_workbook(io.BytesIO(data), True, False, True, False)
    )
    sheets = [one for one in workbook.worksheets if one.sheet_state == "visible"]
    hidden = Counter(sheets=len(workbook.worksheets) - len(sheets))
    uncomputed = 0
    for sheet in sheets:
        rows, columns, open_formulas = _hidden_places(sheet)
        uncomputed += open_formulas
        hidden.update(rows=len(rows), columns=len(columns))
        # what a file says of its own size may be wrong
        sheet.reset_dimensions()
        out.mark(f"{sheet.title}, row 1")
        out.add(f"## {sheet.title}\n\n")
        add_rows(_shown_rows(sheet, rows, columns), out, sheet.title)
        out.add("\n")
    if uncomputed:
        out.note(
            f"{uncomputed} formulas without a computed value: open the file in a spreadsheet "
            "program, and save it there"
        )
    for what, number in hidden.items():
        if number:
            out.note(f"{number} hidden {what}")


def _hidden_places(sheet: Any) -> tuple[set[int], set[int], int]:
    """Return the numbers of rows and of columns that are not shown, from 1.

    And how many formulas have no computed value: another program than a spreadsheet wrote them.

    A sheet that is read row by row says nothing of them itself.
    """
    rows: set[int] = set()
    columns: set[int] = set()
    number = open_formulas = 0
    data: Any = None
    # openpyxl opens a sheet only to read its values
    with sheet._get_source() as opened:  # noqa: SLF001
        for event, element in iterparse(opened, ("start", "end")):
            name = element.tag.rpartition("}")[2]
            if event == "start":
                data = element if name == "sheetData" else data
            elif name == "c":
                parts = {one.tag.rpartition("}")[2]: one.text for one in element}
                # an empty text is a value, too
                is_text = element.get("t") == "str"
                open_formulas += "f" in parts and not parts.get("v") and not is_text
            elif name == "row":
                number = _number(element.get("r"), number + 1)
                if number > MAX_ROWS:
                    raise UnreadableFile(f"has a row {number}, and sheets have {MAX_ROWS} at most")
                if element.get("hidden") in TRUE:
                    rows.add(number)
                if data is not None:
                    # a million rows are not kept
                    data.clear()
            elif name == "col" and (element.get("hidden") in TRUE or element.get("width") == "0"):
                first = max(_number(element.get("min"), 1), 1)
                last = min(_number(element.get("max"), 0), MAX_COLUMNS)
                columns.update(range(first, last + 1))
    return rows, columns, open_formulas


def _number(text: str | None, otherwise: int) -> int:
    """Return a number as it is written; `otherwise` where there is none, or it is none."""
    return int(text) if text is not None and re.fullmatch(r"[0-9]{1,15}", text) else otherwise


def _shown_rows(sheet: Any, hidden: set[int], columns: set[int]) -> Iterator[list[str]]:
    """Yield the values of each row; of a hidden one none, so that numbers stay."""
    for number, row in enumerate(sheet.iter_rows(values_only=True), 1):
        if number in hidden:
            yield []
            continue
        yield [
            "" if one is None else str(one)
            for place, one in enumerate(row, 1)
            if place not in columns
        ]


def read_pptx(data: bytes, out: MarkedText) -> None:
    """Add the text of each slide, with its notes; raises UnreadableFile."""
    check_archive(data)
    shown = open_office("presentation", lambda: pptx.Presentation(io.BytesIO(data)))
    hidden = 0
    for number, slide in enumerate(shown.slides, 1):
        if slide.element.get("show") in ("0", "false"):
            hidden += 1
            continue
        out.mark(f"slide {number}")
        for shape in _shapes(slide.shapes):
            with out.paragraph():
                if getattr(shape, "has_table", False):
                    add_table(([c.text for c in row.cells] for row in shape.table.rows), out)
                elif getattr(shape, "has_chart", False):
                    _add_chart(shape, out)
                elif shape.has_text_frame and shape.text_frame.text.strip():
                    is_title = shape == slide.shapes.title
                    text = shape.text_frame.text
                    out.add(f"## {' '.join(text.split())}" if is_title else text.strip())
        if slide.has_notes_slide and (frame := slide.notes_slide.notes_text_frame) is not None:
            with out.paragraph():
                out.add(f"Notes: {frame.text.strip()}" if frame.text.strip() else "")
    if hidden:
        out.note(f"{hidden} hidden slides")


def _add_chart(shape: Any, out: MarkedText) -> None:
    """Add the title of a chart, and its numbers as a table: a row for each category.

    From its XML: python-pptx knows not all types of charts. Element names: ECMA-376, part 1, 21.2.
    """
    try:
        space = shape.chart.element
    except KeyError:
        # it stands in no part of the file
        return
    title = space.find(f"{C}chart/{C}title")
    if title is not None and (text := "".join(title.itertext(f"{A}t", f"{C}v")).strip()):
        out.add(f"{text}\n\n")
    tables: dict[tuple[str, ...], list[list[str]]] = {}
    for series in space.iter(f"{C}ser"):
        values = _points(series, "val", "yVal")
        names = _points(series, "cat", "xVal")
        label = " ".join(_texts(series.find(f"{C}tx")))
        # those of one axis stand beside one another
        tables.setdefault(tuple(names), []).append([label, *values])
    for named, columns in tables.items():
        add_table(map(list, zip_longest(["", *named], *columns, fillvalue="")), out)


def _points(series: Any, *kinds: str) -> list[str]:
    """Return the texts of the points of a series, in their places; "" where there is none."""
    found: dict[int, str] = {}
    for kind in kinds:
        for point in series.iterfind(f"{C}{kind}//{C}pt"):
            if (place := _number(point.get("idx"), 0)) < MAX_POINTS:
                # of categories of several levels the lowest stands first
                found.setdefault(place, " ".join(_texts(point)))
    return [found.get(place, "") for place in range(max(found, default=-1) + 1)]


def _texts(element: Any) -> list[str]:
    return [] if element is None else [one.text or "" for one in element.iter(f"{C}v", f"{A}t")]


def _shapes(shapes: Iterable[BaseShape], depth: int = 0) -> Iterator[Any]:
    """Yield shapes, and those within groups, but what is hidden."""
    for shape in shapes:
        if any(one.get("hidden") in TRUE for one in shape.element.iterfind("*/{*}cNvPr")):
            continue
        if not isinstance(shape, GroupShape):
            yield shape
        elif depth < MAX_DEPTH:
            yield from _shapes(shape.shapes, depth + 1)
