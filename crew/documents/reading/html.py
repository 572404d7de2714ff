"""HTML as a reader sees it: no scripts, comments, or elements that are hidden."""

import re
from html.parser import HTMLParser

from crew.documents.reading.marked import MarkedText, UnreadableFile
from crew.documents.reading.plain import decode_text
from crew.documents.reading.styles import StyleSheet, TextLook, look_of

DROPPED = frozenset(
    {
        *("script", "template", "noscript", "iframe", "object", "svg", "math", "canvas"),
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


def read_html(data: bytes, out: MarkedText) -> None:
    """Add what a reader sees of a page."""
    add_html(decode_text(data), out)


def add_html(text: str, out: MarkedText) -> None:
    """Add what a reader sees of HTML."""
    parser = _Page(out)
    parser.feed(text)
    parser.close()
    parser.end()


class _Page(HTMLParser):
    """Writes Markdown of what is seen."""

    def __init__(self, out: MarkedText) -> None:
        super().__init__(convert_charrefs=True)
        self._out = out
        self._sheet, self._style = StyleSheet(), list[str]()
        # open elements, with how they look and whether they are dropped
        self._open: list[tuple[str, TextLook, bool]] = []
        # of these, cells of tables
        self._cells = 0
        # what is written before the next word
        self._before, self._line = "", ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """See HTMLParser."""
        given = {name: value or "" for name, value in attrs}
        self._end_before(tag)
        _, look, is_dropped = self._open[-1] if self._open else ("", TextLook(), False)
        look = look_of(look, tag, given, self._sheet)
        is_dropped = is_dropped or tag in DROPPED or look.is_hidden
        if len(self._open) > MAX_DEPTH:
            raise UnreadableFile("is nested too deeply")
        if tag not in VOID:
            self._open.append((tag, look, is_dropped))
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

    def _end_before(self, tag: str) -> None:
        """End the element before, which this one ends without saying so."""
        while self._open and tag in ENDED_BY.get(self._open[-1][0], ()):
            self.handle_endtag(self._open[-1][0])

    def handle_endtag(self, tag: str) -> None:
        """See HTMLParser."""
        if tag == "style":
            self._sheet.add("".join(self._style))
            self._style.clear()
        if not any(name == tag for name, _, _ in self._open):
            return
        while self._open:
            name, _, is_dropped = self._open.pop()
            self._cells -= name in CELLS
            if name in BLOCKS and not is_dropped:
                self._break(2 if name not in ("li", "tr", "dt", "dd") else 1)
            if name == tag:
                return

    def handle_data(self, data: str) -> None:
        """See HTMLParser."""
        name, look, is_dropped = self._open[-1] if self._open else ("", TextLook(), False)
        if name == "style":
            self._style.append(data)
            return
        if is_dropped or look.is_unseen:
            return
        if any(tag == "pre" for tag, _, _ in self._open):
            self._write(data)
            return
        text = SPACES.sub(" ", data)
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
