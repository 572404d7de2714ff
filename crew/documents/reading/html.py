"""HTML as a reader sees it: no scripts, comments, or elements that are hidden."""

import re
from html.parser import HTMLParser

from crew.documents.reading.kinds import encoding_of
from crew.documents.reading.marked import MarkedText, UnreadableFile, raised
from crew.documents.reading.plain import decode_as, decode_text
from crew.documents.reading.sheets import Element, StyleSheet
from crew.documents.reading.styles import TextLook, look_of

DROPPED = frozenset(
    {
        *("script", "style", "template", "noscript", "iframe", "object", "svg", "math", "canvas"),
        *("audio", "video", "select", "datalist", "textarea", "noembed", "noframes", "dialog"),
    }
)
VOID = frozenset(
    "area base br col embed hr img input link meta param source track wbr".split()  # noqa: SIM905
)
BLOCKS = frozenset(
    {
        *("address", "article", "aside", "blockquote", "body", "caption", "center", "details"),
        *("dd", "div", "dl", "dt", "fieldset", "figcaption", "figure", "footer", "form", "header"),
        *("h1", "h2", "h3", "h4", "h5", "h6", "hr", "li", "main", "nav", "ol", "p", "pre"),
        *("section", "summary", "table", "tbody", "tfoot", "thead", "title", "tr", "ul"),
    }
)
# a new one ends the one before, if that stands just within the same element
ENDED_BY = {
    "p": BLOCKS,
    "li": frozenset({"li"}),
    "dt": frozenset({"dt", "dd"}),
    "dd": frozenset({"dt", "dd"}),
    "td": frozenset({"td", "th", "tr"}),
    "th": frozenset({"td", "th", "tr"}),
    "tr": frozenset({"tr"}),
    "option": frozenset({"option"}),
}
CELLS = frozenset({"td", "th"})
SPACES = re.compile(r"\s+")
MAX_DEPTH = 2000


# a whole script or style, and a whole tag, are kept; a comment, and a tag without an end, are not
PARTS = re.compile(
    # a quote is one only behind `=`: another one is a slip that browsers pass over
    r"(?P<kept><(script|style)\b[^>]*+>.*?</\2\s*+>"
    r"|</?[a-z](?:=\s*+\"[^\"]*+\"|=\s*+'[^']*+'|[^>])*+>)"
    r"|<!--(?:-?>|.*?(?:--!?>|\Z))|<\?[^>]*+>|<(?=[a-z/?]).*\Z",
    re.DOTALL | re.IGNORECASE,
)
STYLE = re.compile(
    r"<style\b(?![^>]*\bmedia\s*=\s*[\"']?\s*(?:print|speech))[^>]*+>(.*?)(?:</style\b|\Z)",
    re.DOTALL | re.IGNORECASE,
)
CHARSET = re.compile(
    rb"""<(?:meta\b[^>]*?\bcharset|\?xml\b[^>]*?\bencoding)\s*=\s*["']?\s*([\w:.-]+)""",
    re.IGNORECASE,
)
# where a page says how it is encoded
HEAD_BYTES = 4096


def read_html(data: bytes, out: MarkedText) -> None:
    """Add what a reader sees of a page."""
    add_html(_decode_page(data), out)


def _decode_page(data: bytes) -> str:
    """Return a page as text: as its first bytes say, as UTF-8, as it says itself."""
    found = CHARSET.search(data[:HEAD_BYTES])
    if found is None or encoding_of(data) is not None:
        return decode_text(data)
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        return decode_as(data, found[1].decode("ascii", "replace"))


def add_html(text: str, out: MarkedText) -> None:
    """Add what a reader sees of HTML."""
    text = PARTS.sub(lambda found: found["kept"] or "", text)
    # a style that stands later holds for what comes before it, too
    parser = _Page(out, StyleSheet("\n".join(STYLE.findall(text))))
    parser.feed(text)
    parser.close()
    parser.end()


class _Page(HTMLParser):
    """Writes Markdown of what is seen."""

    def __init__(self, out: MarkedText, sheet: StyleSheet) -> None:
        super().__init__(convert_charrefs=True)
        self._out, self._sheet = out, sheet
        # open elements, with how they look and whether they are dropped
        self._open: list[tuple[Element, TextLook, bool]] = []
        # of these, cells of tables
        self._cells = 0
        # what is written before the next word
        self._before, self._line = "", ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """See HTMLParser."""
        self._end_before(tag)
        parent, look, is_dropped = self._open[-1] if self._open else (None, TextLook(), False)
        element = Element(tag, {name: value or "" for name, value in attrs}, parent)
        look = look_of(look, element, self._sheet.of(element))
        is_dropped = is_dropped or tag in DROPPED or look.is_hidden
        if len(self._open) > MAX_DEPTH:
            raise UnreadableFile("is nested too deeply")
        if tag not in VOID:
            self._open.append((element, look, is_dropped))
            self._cells += tag in CELLS
        if is_dropped:
            return
        if tag in BLOCKS:
            self._break(2 if tag not in ("li", "tr", "dt", "dd") else 1)
        if tag == "br":
            self._break(1)
        elif tag == "li":
            self._before += "- "
        elif tag in CELLS:
            self._before += "| " if not self._line and not self._before.strip() else " | "
        elif tag == "title":
            self._before += "# "
        elif len(tag) == 2 and tag[0] == "h" and tag[1].isdigit():
            self._before += f"{'#' * min(6, int(tag[1]))} "

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """See HTMLParser: the sign at the end of a tag means nothing in HTML."""
        self.handle_starttag(tag, attrs)
        if tag in self.CDATA_CONTENT_ELEMENTS:
            self.set_cdata_mode(tag)

    def _end_before(self, tag: str) -> None:
        """End the element before, which this one ends without saying so."""
        while self._open and tag in ENDED_BY.get(self._open[-1][0].tag, ()):
            self.handle_endtag(self._open[-1][0].tag)

    def handle_endtag(self, tag: str) -> None:
        """See HTMLParser."""
        if not any(one.tag == tag for one, _, _ in self._open):
            return
        while self._open:
            element, _, is_dropped = self._open.pop()
            name = element.tag
            self._cells -= name in CELLS
            if name in BLOCKS and not is_dropped:
                self._break(2 if name not in ("li", "tr", "dt", "dd") else 1)
            if name == tag:
                return

    def handle_data(self, data: str) -> None:
        """See HTMLParser."""
        _, look, is_dropped = self._open[-1] if self._open else (None, TextLook(), False)
        if is_dropped or look.is_unseen:
            return
        if any(one.tag == "pre" for one, _, _ in self._open):
            self._write(data)
            return
        text = SPACES.sub(" ", data)
        if text.strip() and self._open and self._open[-1][0].tag == "sup":
            text = raised(text.strip())
        if text == " ":
            self._before += " " if self._line and not self._before else ""
            return
        self._write(text.lstrip() if not self._line and not self._before.strip() else text)

    def _break(self, lines: int) -> None:
        if self._cells:
            # a row is one line, whatever stands in its cells
            self._before += "" if self._before.endswith(" ") else " "
            return
        wanted = "\n" * lines
        self._before = wanted if len(self._before.strip(" ")) < lines else self._before
        self._line = ""

    def _write(self, text: str) -> None:
        if self._before.startswith("\n") and not self._out.text_begun:
            self._before = self._before.lstrip("\n")
        self._out.add(f"{self._before}{text}")
        self._before, self._line = "", text

    def end(self) -> None:
        """Write the end of the last line."""
        if self._out.text_begun:
            self._out.add("\n")
