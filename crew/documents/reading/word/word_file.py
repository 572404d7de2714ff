"""The text of a file of Word, as its reader sees it.

It is read from its XML: python-docx knows no content control, no inserted text, no text box.
Element names: ECMA-376, part 1, chapter 17.
"""

import io
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, TypeVar

import docx
from docx.oxml.parser import parse_xml

from crew.documents.reading.archives import check_archive, open_office
from crew.documents.reading.marked import MarkedText, raised
from crew.documents.reading.plain import add_table
from crew.documents.reading.word.pages import OFF, W, page_texts

T = TypeVar("T")
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
SYMBOL = f"{W}sym"
# of fonts that have signs in the place of letters, as Word writes them
SYMBOLS = {
    "symbol": {
        0xA3: "≤",
        0xB3: "≥",
        0xB1: "±",
        0xB0: "°",
        0xB4: "×",
        0xB8: "÷",
        0xB9: "≠",
        0xBB: "≈",
        0xA5: "∞",
        0xB7: "•",
        0x6D: "μ",
        0x57: "Ω",
        0x44: "Δ",
        0x70: "π",
        0xAE: "→",
    },
    "wingdings": {0xFC: "✓", 0xFB: "✗", 0xFE: "☑", 0xA8: "☐", 0xFD: "☒", 0xE0: "→"},
}
# where Word puts such signs
PRIVATE = 0xF000
ROOT = f"{M}rad"
# of a formula: what stands between its two parts, and these
FORMULAS = {
    f"{M}f": ("/", "num", "den"),
    f"{M}sSup": ("^", "e", "sup"),
    f"{M}sSub": ("_", "e", "sub"),
    ROOT: ("", "deg", "e"),
}
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
    background = document.element.find(f"{W}background")
    is_white = background is None or background.get(f"{W}color") in PLAIN
    shown = _Shown.of(document.styles.element, is_white=is_white)
    for text in page_texts(document, "header", shown.text):
        with out.paragraph():
            out.add(f"Header: {text}")
    _add_blocks(document.element.body, shown, out)
    for text in page_texts(document, "footer", shown.text):
        with out.paragraph():
            out.add(f"Footer: {text}")
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
                rows = (shown.within(row, CELL) for row in shown.within(block, ROW))
                add_table(([shown.text(cell) for cell in row] for row in rows), out)
            else:
                _add_paragraph(block, shown, out)
        for box in shown.boxes(block) if block.tag == PARAGRAPH else ():
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


@dataclass
class _Shown:
    """What of a text is shown, by the styles of its file."""

    # by their ids, and that of paragraphs without one
    styles: dict[str, Any]
    default: Any
    # the page is
    is_white: bool
    # that shown text refers to: their kind, and their id
    notes: set[tuple[str, str | None]] = field(default_factory=set)
    # for each field that has begun: whether its formula is over
    _fields: list[bool] = field(default_factory=list)

    @classmethod
    def of(cls, styles: Any, *, is_white: bool) -> "_Shown":
        """Return what is shown by the styles of a file."""
        known = list(styles.iter(f"{W}style"))
        by_id = {name: one for one in known if (name := one.get(f"{W}styleId"))}
        ones = (one for one in known if one.get(f"{W}default", "0") not in OFF)
        default = next((one for one in ones if one.get(f"{W}type") == "paragraph"), None)
        return cls(by_id, default, is_white)

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

    def boxes(self, paragraph: Any) -> Iterator[Any]:
        """Yield the text boxes of a paragraph; most have none."""
        if next(paragraph.iter(BOX), None) is not None:
            yield from self.within(paragraph, BOX)

    def style_name(self, paragraph: Any) -> str:
        """Return the name of a paragraph's style, such as `heading 1`."""
        style = self.styles.get(_value(paragraph, "pPr", "pStyle") or "")
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
            elif tag == SYMBOL:
                yield _symbol(child)
            elif tag in FORMULAS:
                yield from self._formula(child)
            elif tag == RUN and _value(child, "rPr", "vertAlign") == "superscript":
                yield raised("".join(self._parts(child)))
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
                for box in self.boxes(child):
                    yield from ("\n", *self._parts(box))
                yield "\n"

    def _formula(self, element: Any) -> Iterator[str]:
        """Yield a fraction, a power, an index or a root, as they are typed."""
        sign, first, second = FORMULAS[element.tag]
        parts = (element.find(f"{M}{name}") for name in (first, second))
        one, other = ("" if part is None else "".join(self._parts(part)) for part in parts)
        if element.tag == ROOT:
            yield f"{one}√({other})"
        else:
            yield f"{_bracketed(one)}{sign}{_bracketed(other)}" if other else one

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
            return is_deleted or bool(_is_on(element, "trPr", "hidden"))
        if tag == CELL:
            return element.find(f"{W}tcPr/{W}cellDel") is not None
        if tag == f"{M}r":
            return bool(_is_on(element, "rPr", "vanish"))
        if tag != RUN:
            return _is_hidden_shape(element)
        styles = self._styles_of(element)
        is_hidden = _is_on(element, "rPr", "vanish")
        if is_hidden is None:
            # a property that a style switches on is switched off by the other (17.7.3)
            outer, own = (self._of_style(one, _vanishes) for one in styles)
            is_hidden = bool(outer) != bool(own)
        return is_hidden or self._cannot_be_read(element, styles)

    def _styles_of(self, run: Any) -> tuple[Any, Any]:
        """Return the style of a run's paragraph, and its own; None: it has none."""
        paragraph = next(run.iterancestors(PARAGRAPH), None)
        named = None if paragraph is None else _value(paragraph, "pPr", "pStyle")
        outer = self.default if named is None else self.styles.get(named)
        own = _value(run, "rPr", "rStyle")
        return outer, None if own is None else self.styles.get(own)

    def _of_style(self, style: Any, find: Callable[[Any], T | None]) -> T | None:
        """Return what is found in a style, or in one that it is made of."""
        for _ in range(len(self.styles)):
            if style is None:
                break
            if (found := find(style)) is not None:
                return found
            base = style.find(f"{W}basedOn")
            style = None if base is None else self.styles.get(base.get(f"{W}val"))
        return None

    def _cannot_be_read(self, run: Any, styles: tuple[Any, Any]) -> bool:
        """Return whether letters are tiny, or white where nothing says they stand on a colour."""
        if _value(run, "rPr", "sz") in UNSEEN_SIZES:
            return True
        own = (self._of_style(one, _color) for one in reversed(styles))
        color = _color(run) or next(filter(None, own), "")
        return color.upper() == WHITE and self.is_white and not self._is_on_colour(run, styles)

    def _is_on_colour(self, run: Any, styles: tuple[Any, Any]) -> bool:
        fills = {self._of_style(one, _fill) for one in styles}
        fills |= {_fill(run), _value(run, "rPr", "highlight")}
        for one in run.iterancestors(PARAGRAPH, CELL, TABLE, BOX):
            if one.tag == BOX or _value(one, "tblPr", "tblStyle") is not None:
                # what a shape, or the style of a table, is filled with is not looked at
                return True
            fills.add(_fill(one))
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


def _is_on(element: Any, properties: str, name: str) -> bool | None:
    """Return whether a property is switched on, or off; None where it is not named."""
    found = element.find(f"{W}{properties}/{W}{name}")
    return None if found is None else found.get(f"{W}val", "1") not in OFF


def _symbol(element: Any) -> str:
    """Return the character that a font of signs shows; "" for one that is not known."""
    font = str(element.get(f"{W}font", "")).casefold()
    try:
        code = int(element.get(f"{W}char", ""), 16)
    except ValueError:
        return ""
    if code >= PRIVATE:
        return SYMBOLS.get(font, {}).get(code - PRIVATE, "")
    if (known := SYMBOLS.get(font, {}).get(code)) is not None:
        return known
    return chr(code) if 0x20 < code < 0xD800 else ""


def _bracketed(text: str) -> str:
    return text if text.isalnum() else f"({text})"


def _value(element: Any, properties: str, name: str, attribute: str = "val") -> str | None:
    """Return the value of a property; None where it is not named."""
    found = element.find(f"{W}{properties}/{W}{name}")
    return None if found is None else str(found.get(f"{W}{attribute}", "auto"))


def _vanishes(style: Any) -> bool | None:
    return _is_on(style, "rPr", "vanish")


def _color(element: Any) -> str | None:
    return _value(element, "rPr", "color")


def _fill(element: Any) -> str | None:
    """Return the colour behind a run, a paragraph, a cell, a table or what has a style."""
    found = (_value(element, one, "shd", "fill") for one in ("rPr", "pPr", "tcPr", "tblPr"))
    return next(filter(None, found), None)
