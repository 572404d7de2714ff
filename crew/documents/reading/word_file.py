"""The text of a file of Word, as its reader sees it.

It is read from its XML: python-docx knows no content control, no inserted text, no text box.
Element names: ECMA-376, part 1, chapter 17.
"""

import io
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import docx
from docx.oxml.parser import parse_xml

from crew.documents.reading.archives import check_archive, open_office
from crew.documents.reading.marked import MarkedText

W = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
M = "{http://schemas.openxmlformats.org/officeDocument/2006/math}"
MC = "{http://schemas.openxmlformats.org/markup-compatibility/2006}"
VML = "{urn:schemas-microsoft-com:vml}"
PARAGRAPH, RUN, TABLE, ROW, CELL = (f"{W}{name}" for name in ("p", "r", "tbl", "tr", "tc"))
BOX, FIELD, RUBY = f"{W}txbxContent", f"{W}fldChar", f"{W}ruby"
# what is formatting, was deleted, or is a field's formula
NO_TEXT = frozenset(
    f"{W}{name}" for name in ("pPr", "rPr", "sdtPr", "del", "moveFrom", "delText", "instrText")
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
# what says that there is no colour
PLAIN = frozenset({None, "", "auto", WHITE, "none", "white"})
NOTES = {f"{W}footnoteReference": "footnotes", f"{W}endnoteReference": "endnotes"}
NAMES = {"footnotes": "Footnote", "endnotes": "Endnote"}


def read_docx(data: bytes, out: MarkedText) -> None:
    """Add the paragraphs, tables, text boxes and notes of a text; raises UnreadableFile."""
    check_archive(data)
    document = open_office("text", lambda: docx.Document(io.BytesIO(data)))
    styles = {one.get(f"{W}styleId"): one for one in document.styles.element.iter(f"{W}style")}
    background = document.element.find(f"{W}background")
    is_white = background is None or background.get(f"{W}color") in PLAIN
    shown = _Shown(styles, is_white)
    _add_blocks(document.element.body, shown, out)
    for relation in document.part.rels.values():
        kind = relation.reltype.rpartition("/")[2]
        if kind not in NAMES or relation.is_external:
            continue
        for note in parse_xml(relation.target_part.blob):
            # what no shown text refers to is not shown either, such as the line above them all
            if isinstance(note.tag, str) and (kind, note.get(f"{W}id")) in shown.notes:
                with out.paragraph():
                    out.add(f"{NAMES[kind]}: {' '.join(shown.text(note).split())}")


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
    number = paragraph.find(f"{W}pPr/{W}numPr/{W}numId")
    if name == "title":
        out.add(f"# {text.strip()}")
    elif level != name and level.isdigit():
        out.add(f"{'#' * min(6, int(level))} {text.strip()}")
    elif name.startswith("list") or (number is not None and number.get(f"{W}val") != "0"):
        out.add(f"- {text.strip()}")
    else:
        out.add(text)


def _add_table(table: Any, shown: "_Shown", out: MarkedText) -> None:
    for row in shown.within(table, ROW):
        cells = shown.within(row, CELL)
        values = [" ".join(shown.text(cell).split()) for cell in cells]
        if any(values):
            out.add(f"| {' | '.join(values)} |\n")


@dataclass
class _Shown:
    """What of a text is shown, by the styles of its file."""

    styles: dict[str | None, Any]
    # the page is
    is_white: bool
    # that shown text refers to: their kind, and their id
    notes: set[tuple[str, str | None]] = field(default_factory=set)
    # for each field that has begun: whether its formula is over
    _fields: list[bool] = field(default_factory=list)

    def text(self, element: Any) -> str:
        """Return the text of a paragraph without its text boxes, or of all in a cell or a note."""
        self._fields.clear()
        return "".join(self._parts(element))

    def within(self, parent: Any, *wanted: str) -> Iterator[Any]:
        """Yield the outermost elements of some kinds in another, such as in a content control."""
        for child in _children(parent):
            if child.tag in NO_TEXT or self._is_hidden(child):
                continue
            if child.tag in wanted:
                yield child
            else:
                yield from self.within(child, *wanted)

    def style_name(self, paragraph: Any) -> str:
        """Return the name of a paragraph's style, such as `heading 1`."""
        named = paragraph.find(f"{W}pPr/{W}pStyle")
        style = None if named is None else self.styles.get(named.get(f"{W}val"))
        name = None if style is None else style.find(f"{W}name")
        return "" if name is None else str(name.get(f"{W}val", ""))

    def _parts(self, element: Any) -> Iterator[str]:
        for child in _children(element):
            tag = child.tag
            if tag in NO_TEXT or tag == BOX or self._is_hidden(child):
                continue
            if tag in NOTES:
                self.notes.add((NOTES[tag], child.get(f"{W}id")))
            if tag == FIELD:
                self._note_field(child.get(f"{W}fldCharType"))
            elif tag in (f"{W}t", f"{M}t"):
                # what is compared in a formula is no text
                yield (child.text or "") if all(self._fields) else ""
            elif tag in CHARACTERS:
                yield CHARACTERS[tag]
            elif tag == f"{VML}textpath":
                yield child.get("string", "")
            elif tag == RUBY:
                # how it is read stands above it, and before it in the file
                read, base = child.find(f"{W}rt"), child.find(f"{W}rubyBase")
                yield from self._parts(base) if base is not None else ()
                yield from (" (", *self._parts(read), ")") if read is not None else ()
            else:
                yield from self._parts(child)
            if tag == PARAGRAPH:
                for box in self.within(child, BOX):
                    yield from ("\n", *self._parts(box))
                yield "\n"

    def _note_field(self, kind: str | None) -> None:
        if kind == "begin":
            self._fields.append(False)
        elif self._fields and kind == "separate":
            self._fields[-1] = True
        elif self._fields and kind == "end":
            self._fields.pop()

    def _is_hidden(self, element: Any) -> bool:
        tag = element.tag
        if tag == ROW:
            is_deleted = element.find(f"{W}trPr/{W}del") is not None
            return is_deleted or bool(_is_on(element, "hidden", "trPr"))
        if tag == CELL:
            return element.find(f"{W}tcPr/{W}cellDel") is not None
        if tag == f"{M}r":
            return bool(_is_on(element, "vanish", "rPr"))
        if tag != RUN:
            return _is_hidden_shape(element)
        is_hidden = _is_on(element, "vanish", "rPr")
        if is_hidden is None:
            # a property that a style switches on is switched off by the other (17.7.3)
            of_paragraph, own = (self._of_style(one, "vanish") for one in self._styles_of(element))
            is_hidden = (of_paragraph not in (None, "off")) != (own not in (None, "off"))
        return is_hidden or self._cannot_be_read(element)

    def _styles_of(self, run: Any) -> tuple[Any, Any]:
        """Return the style of a run's paragraph, and its own; None: it has none."""
        paragraph = next(run.iterancestors(PARAGRAPH), None)
        named = None if paragraph is None else paragraph.find(f"{W}pPr/{W}pStyle")
        if named is not None:
            outer = self.styles.get(named.get(f"{W}val"))
        else:
            outer = next(filter(_is_default_of_paragraphs, self.styles.values()), None)
        own = run.find(f"{W}rPr/{W}rStyle")
        return outer, None if own is None else self.styles.get(own.get(f"{W}val"))

    def _of_style(self, style: Any, name: str, *places: str) -> str | None:
        """Return the value of a property of a style or of its base; None: neither has it.

        A switch is `on` or `off`.
        """
        for _ in range(len(self.styles)):
            if style is None:
                break
            for place in places or ("rPr",):
                found = style.find(f"{W}{place}/{W}{name}")
                if found is not None and name == "vanish":
                    return "off" if found.get(f"{W}val", "1") in OFF else "on"
                if found is not None:
                    return str(found.get(f"{W}{'fill' if name == 'shd' else 'val'}", "auto"))
            base = style.find(f"{W}basedOn")
            style = None if base is None else self.styles.get(base.get(f"{W}val"))
        return None

    def _cannot_be_read(self, run: Any) -> bool:
        """Return whether letters are tiny, or white where nothing says they stand on a colour."""
        size = run.find(f"{W}rPr/{W}sz")
        if size is not None and size.get(f"{W}val") in UNSEEN_SIZES:
            return True
        styles = self._styles_of(run)
        color = run.find(f"{W}rPr/{W}color")
        values = [None if color is None else color.get(f"{W}val")]
        values += [self._of_style(one, "color") for one in reversed(styles)]
        value = next((one for one in values if one is not None), "")
        return value.upper() == WHITE and self.is_white and not self._is_on_colour(run, styles)

    def _is_on_colour(self, run: Any, styles: tuple[Any, Any]) -> bool:
        fills = {self._of_style(one, "shd", "rPr", "pPr") for one in styles}
        for path, name in ((f"{W}rPr/{W}shd", "fill"), (f"{W}rPr/{W}highlight", "val")):
            found = run.find(path)
            fills.add(None if found is None else found.get(f"{W}{name}"))
        for one in run.iterancestors(PARAGRAPH, CELL, TABLE, BOX):
            if one.tag == BOX or one.find(f"{W}tblPr/{W}tblStyle") is not None:
                # what a shape, or the style of a table, is filled with is not looked at
                return True
            for place in ("pPr", "tcPr", "tblPr"):
                found = one.find(f"{W}{place}/{W}shd")
                fills.add(None if found is None else found.get(f"{W}fill"))
        return not fills <= PLAIN


def _children(parent: Any) -> Iterator[Any]:
    """Yield elements; of the forms of one drawing only the first."""
    for child in parent.iterchildren(tag="*"):
        if child.tag == f"{MC}AlternateContent":
            yield from list(child.iterchildren(tag="*"))[:1]
        else:
            yield child


def _is_hidden_shape(element: Any) -> bool:
    """Return whether a drawing, or a shape of one, is there and not shown."""
    if element.tag.startswith(VML):
        return "visibility:hidden" in element.get("style", "").replace(" ", "").casefold()
    names = ("{*}docPr", "{*}cNvPr", "*/{*}cNvPr")
    found = (element.find(one) for one in names)
    return any(one is not None and one.get("hidden", "0") not in OFF for one in found)


def _is_on(element: Any, name: str, properties: str) -> bool | None:
    """Return whether a property is switched on, or off; None where it is not named."""
    found = element.find(f"{W}{properties}/{W}{name}")
    return None if found is None else found.get(f"{W}val", "1") not in OFF


def _is_default_of_paragraphs(style: Any) -> bool:
    is_default = style.get(f"{W}default", "0") not in OFF
    return is_default and style.get(f"{W}type") == "paragraph"
