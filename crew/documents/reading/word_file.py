"""The text of a file of Word, as its reader sees it.

It is read from its XML: python-docx knows no content control, no inserted text, no text box.
Element names: ECMA-376, part 1, chapter 17.
"""

import io
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import docx
from docx.oxml.parser import parse_xml

from crew.documents.reading.archives import check_archive, open_office
from crew.documents.reading.marked import MarkedText

W = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
MATH_TEXT = "{http://schemas.openxmlformats.org/officeDocument/2006/math}t"
# the same drawing again, for programs that do not know the newer form
FALLBACK = "{http://schemas.openxmlformats.org/markup-compatibility/2006}Fallback"
PARAGRAPH, RUN, TABLE, ROW, CELL = (f"{W}{name}" for name in ("p", "r", "tbl", "tr", "tc"))
BOX = f"{W}txbxContent"
# what is formatting, was deleted, or is a field's formula
NO_TEXT = frozenset(
    {
        FALLBACK,
        *(
            f"{W}{name}"
            for name in ("pPr", "rPr", "sdtPr", "del", "moveFrom", "delText", "instrText")
        ),
    }
)
CHARACTERS = {
    f"{W}tab": "\t",
    f"{W}ptab": "\t",
    f"{W}br": "\n",
    f"{W}cr": "\n",
    f"{W}noBreakHyphen": "-",
}
OFF = frozenset({"0", "false", "off"})
# in half points: no one can read letters as small
UNSEEN_SIZES = ("0", "1", "2")
WHITE = "FFFFFF"
NOTES = {"footnotes": "Footnote", "endnotes": "Endnote"}


def read_docx(data: bytes, out: MarkedText) -> None:
    """Add the paragraphs, tables, text boxes and notes of a text; raises UnreadableFile."""
    check_archive(data)
    document = open_office("text", lambda: docx.Document(io.BytesIO(data)))
    styles = document.styles.element.iter(f"{W}style")
    shown = _Shown({one.get(f"{W}styleId"): one for one in styles})
    _add_blocks(document.element.body, shown, out)
    for relation in document.part.rels.values():
        kind = relation.reltype.rpartition("/")[2]
        if kind not in NOTES or relation.is_external:
            continue
        for note in parse_xml(relation.target_part.blob):
            # those that have a type are lines which separate them from the text
            text = " ".join(shown.text(note).split())
            if text and note.get(f"{W}type") is None:
                with out.paragraph():
                    out.add(f"{NOTES[kind]}: {text}")


def _add_blocks(parent: Any, shown: "_Shown", out: MarkedText) -> None:
    for block in shown.within(parent, PARAGRAPH, TABLE):
        with out.paragraph():
            if block.tag == TABLE:
                _add_table(block, shown, out)
            else:
                _add_paragraph(block, shown, out)
        for box in shown.within(block, BOX) if block.tag == PARAGRAPH else ():
            _add_blocks(box, shown, out)


def _add_paragraph(paragraph: Any, shown: "_Shown", out: MarkedText) -> None:
    text = shown.text(paragraph)
    if not text.strip():
        return
    name = shown.style_name(paragraph).casefold()
    level = name.removeprefix("heading ")
    is_listed = paragraph.find(f"{W}pPr/{W}numPr") is not None
    if name == "title":
        out.add(f"# {text.strip()}")
    elif level != name and level.isdigit():
        out.add(f"{'#' * min(6, int(level))} {text.strip()}")
    elif is_listed or name.startswith("list"):
        out.add(f"- {text.strip()}")
    else:
        out.add(text)


def _add_table(table: Any, shown: "_Shown", out: MarkedText) -> None:
    for row in shown.within(table, ROW):
        if _is_on(row, "hidden", "trPr") or row.find(f"{W}trPr/{W}del") is not None:
            continue
        values = [" ".join(shown.text(cell).split()) for cell in shown.within(row, CELL)]
        if any(values):
            out.add(f"| {' | '.join(values)} |\n")


def _is_hidden_shape(element: Any) -> bool:
    """Return whether a drawing is there, and not shown."""
    if element.tag in (f"{W}drawing", f"{W}pict"):
        return any(
            one.get("hidden", "0") not in OFF
            if str(one.tag).endswith("}docPr")
            else "visibility:hidden" in one.get("style", "").replace(" ", "").casefold()
            for one in element.iter()
        )
    return False


def _is_on(element: Any, name: str, properties: str) -> bool | None:
    """Return whether a property is switched on, or off; None where it is not named."""
    found = element.find(f"{W}{properties}/{W}{name}")
    return None if found is None else found.get(f"{W}val", "1") not in OFF


@dataclass
class _Shown:
    """What of a text is shown, by the styles of its file."""

    styles: dict[str | None, Any]

    def text(self, element: Any) -> str:
        """Return the text of a paragraph without its text boxes, or of all in a cell or a note."""
        return "".join(self._parts(element))

    def within(self, parent: Any, *wanted: str) -> Iterator[Any]:
        """Yield the outermost elements of some kinds in another, such as in a content control."""
        for child in parent:
            if child.tag in wanted:
                yield child
            elif child.tag not in NO_TEXT and not self._is_hidden(child):
                yield from self.within(child, *wanted)

    def style_name(self, paragraph: Any) -> str:
        """Return the name of a paragraph's style, such as `heading 1`."""
        named = paragraph.find(f"{W}pPr/{W}pStyle")
        style = None if named is None else self.styles.get(named.get(f"{W}val"))
        name = None if style is None else style.find(f"{W}name")
        return "" if name is None else str(name.get(f"{W}val", ""))

    def _parts(self, element: Any) -> Iterator[str]:
        for child in element:
            tag = child.tag
            if tag in (f"{W}t", MATH_TEXT):
                yield child.text or ""
            elif tag in CHARACTERS:
                yield CHARACTERS[tag]
            elif tag in NO_TEXT or tag == BOX or self._is_hidden(child):
                continue
            else:
                yield from self._parts(child)
            if tag == PARAGRAPH:
                for box in self.within(child, BOX):
                    yield from ("\n", *self._parts(box))
                yield "\n"

    def _is_hidden(self, element: Any) -> bool:
        if element.tag != RUN:
            return _is_hidden_shape(element)
        is_hidden = _is_on(element, "vanish", "rPr")
        if is_hidden is None:
            paragraph = next(element.iterancestors(PARAGRAPH))
            # a property that a style switches on is switched off by the other (17.7.3)
            by_paragraph = self._is_hidden_by(paragraph.find(f"{W}pPr/{W}pStyle"), "paragraph")
            is_hidden = by_paragraph != self._is_hidden_by(element.find(f"{W}rPr/{W}rStyle"), "")
        return is_hidden or _cannot_be_read(element)

    def _is_hidden_by(self, named: Any, default: str) -> bool:
        """Return whether a style, or one that it is made of, hides its text."""
        if named is not None:
            style = self.styles.get(named.get(f"{W}val"))
        else:
            found = (one for one in self.styles.values() if _is_default(one, default))
            style = next(found, None)
        for _ in range(len(self.styles)):
            if style is None:
                break
            if (is_hidden := _is_on(style, "vanish", "rPr")) is not None:
                return is_hidden
            base = style.find(f"{W}basedOn")
            style = None if base is None else self.styles.get(base.get(f"{W}val"))
        return False


def _is_default(style: Any, kind: str) -> bool:
    return style.get(f"{W}type") == kind and style.get(f"{W}default", "0") not in OFF


def _cannot_be_read(run: Any) -> bool:
    """Return whether letters are white where nothing says that they stand on a colour, or tiny."""
    size = run.find(f"{W}rPr/{W}sz")
    if size is not None and size.get(f"{W}val") in UNSEEN_SIZES:
        return True
    color = run.find(f"{W}rPr/{W}color")
    if color is None or color.get(f"{W}val", "").upper() != WHITE:
        return False
    coloured = run.find(f"{W}rPr/{W}shd"), run.find(f"{W}rPr/{W}highlight")
    around = [one for one in run.iterancestors() if one.tag in (BOX, CELL, TABLE)]
    shaded = [one.find(f"{W}pPr/{W}shd") for one in run.iterancestors(PARAGRAPH)]
    return not around and not any(one is not None for one in (*coloured, *shaded))
