"""Files of each kind, read in a process that can do nothing else: what stands there, and no more."""

import codecs
import io
import sys
import zipfile
from typing import Any

import docx
import openpyxl
import pptx
import pytest
from docx.oxml import parse_xml
from pptx.chart.data import CategoryChartData, XyChartData
from pptx.enum.chart import XL_CHART_TYPE
from pptx.oxml.ns import qn

from tests.support.documents import read

PAGE = """<!doctype html><html><head><title>House &amp; rules</title>
<style>.gone, #gone2 { display: none } p.small { font-size: 0 }</style>
<script>var hidden = "HIDDEN 1"</script></head>
<body bgcolor="#ffffff"><h1>Rules</h1><p>Stop <b>loss</b> at 8&nbsp;%.
<p hidden>HIDDEN 2<p>Size.<!-- HIDDEN 3 -->
<div class="gone">HIDDEN 4</div><div id=gone2><p>HIDDEN 5</p></div><p class=small>HIDDEN 6</p>
<span style="color: #fff">HIDDEN 7</span><font color=white>HIDDEN 8</font>
<span style="visibility:hidden">HIDDEN 9</span><div style="display : none !important">HIDDEN 10</div>
<p style="position:absolute; left:-9999px">HIDDEN 11</p><p style="opacity:0">HIDDEN 12</p>
<div style="height:0; overflow:hidden">HIDDEN 13</div><p aria-hidden="true">HIDDEN 14</p>
<img alt="HIDDEN 15" src="http://evil.example/x"><template>HIDDEN 16</template>
<input type=hidden value="HIDDEN 17"><textarea>HIDDEN 18</textarea><svg><text>HIDDEN 19</text></svg>
<span style="color:rgb(254, 254, 254)">HIDDEN 20</span><noscript>HIDDEN 21</noscript>
<div style="background:#000; color:#fff">Shown on black.</div>
<ul><li>one<li>two</ul><table><tr><th>share<th>part<tr><td>FPT<td>20 %</table>
<pre>  as it
    is</pre></body></html>"""


async def test_html_is_what_a_reader_sees():
    """No script, comment, attribute or hidden element, however it is hidden."""
    found = await read("a.html", PAGE.encode())
    assert "HIDDEN" not in found.text, found.text
    for shown in (
        *("# House & rules", "# Rules", "Stop loss at 8 %.", "Size.", "Shown on black."),
        *("- one\n- two", "| share | part", "| FPT | 20 %", "  as it\n    is"),
    ):
        assert shown in found.text


NOTE = "its mark says UTF-16, and it is UTF-8: it was read as that"


async def test_texts():
    assert (await read("a.txt", b"one\r\ntwo\r three")).text == "one\ntwo\n three"
    assert (await read("a.md", b"# A\n<!-- HIDDEN\n-->text<!-- HIDDEN")).text == "# A\ntext"
    apart = b"Press ` to open.\n\n<!-- HIDDEN -->\n\nPress ` again.\n\n`<!-- shown -->`"
    assert (await read("a.md", apart)).text.count("<!--") == 1, "code ends with its paragraph"
    assert "shown" in (await read("a.md", b"```\n\n<!-- shown -->\n\n```\n")).text
    assert (await read("a.txt", "Quy tắc".encode("utf-16"))).text == "Quy tắc"
    assert (await read("a.txt", "Rules of".encode("utf-16-be"))).text == "Rules of"
    # its mark is of another encoding than what follows
    words = "Quy tắc của công ty về hoàn tiền, trong 30 ngày."
    for mark in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE):
        found = await read("a.csv", mark + f"a,b\r\n1,{words}\r\n".encode())
        assert ("hoàn tiền" in found.text, found.notes) == (True, (NOTE,)), found
    for text in ("上海市的退款规则适用于三十天内的所有订单" * 2, words):
        assert (await read("a.txt", text.encode("utf-16"))).text == text
    assert (await read("a.txt", b"\xef\xbb\xbfna\xefve")).text == "ï»¿naïve", "a mark that is wrong"
    assert (await read("a.txt", "a\u202eb\u200f\x07c\ud7ff".encode())).text == "abc\ud7ff"


async def test_tables_of_values_are_never_evaluated():
    prices = await read("b.csv", b"price, net;number\n1,5;2\n2,5;3\n")
    assert "price, net: 1,5 | number: 2" in prices.text
    found = await read("a.csv", b'share;part\nFPT;=1+1\n\n"a;b";2\nx;1;extra\n')
    assert (
        found.text
        == "share | part\nshare: FPT | part: =1+1\nshare: a;b | part: 2\nshare: x | part: 1 | extra\n"
    )
    assert found.pieces[0].piece.place == "row 1 to 5"
    wide = await read(
        "a.csv", (",".join(f"c{n}" for n in range(1000)) + "\n" + ",".join("1" * 1000)).encode()
    )
    assert "c999: 1" in wide.text


async def test_json():
    assert (await read("a.json", b'{"a": [1, {"b": "c"}]}')).text.split() == [
        "{",
        '"a":',
        "[",
        "1,",
        "{",
        '"b":',
        '"c"',
        "}",
        "]",
        "}",
    ]
    assert "is no JSON" in (await read("a.json", b"{")).reason
    assert (await read("a.json", b"[" * 100_000 + b"]" * 100_000)).reason


async def test_mail():
    """Its text, and the names of what is attached; of two forms of the text the plain one."""
    head = "From: =?utf-8?q?Ann_N=C3=BA=C3=B1ez?= <a@b.example>\r\nSubject: Rules\r\nMIME-Version: 1.0\r\n"
    parts = "".join(
        f"--x\r\nContent-Type: application/pdf\r\nContent-Disposition: attachment; filename=f{n}.pdf\r\n\r\nHIDDEN\r\n"
        for n in range(100)
    )
    body = (
        f"{head}Content-Type: multipart/mixed; boundary=x\r\n\r\n--x\r\nContent-Type: multipart/alternative; boundary=y\r\n"
        "\r\n--y\r\nContent-Type: text/plain\r\n\r\nThe plain text.\r\n--y\r\nContent-Type: text/html\r\n\r\n"
        f"<p>HIDDEN</p>\r\n--y--\r\n{parts}--x--\r\n"
    )
    found = await read("a.eml", body.encode())
    assert "From: Ann Núñez <a@b.example>" in found.text
    assert "The plain text." in found.text
    assert "HIDDEN" not in found.text
    assert found.notes[0].startswith("100 attachments that are not read: f0.pdf, f1.pdf")
    html = await read(
        "b.eml", f"{head}Content-Type: text/html\r\n\r\n<p>Only</p><p hidden>HIDDEN".encode()
    )
    assert "Only" in html.text
    assert "HIDDEN" not in html.text


def written(save: object) -> bytes:
    buffer = io.BytesIO()
    save(buffer)  # type: ignore[operator]
    return buffer.getvalue()


MC = "http://schemas.openxmlformats.org/markup-compatibility/2006"
W = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
NAMES = f'xmlns:w="{W}" xmlns:v="urn:schemas-microsoft-com:vml" xmlns:mc="{MC}"'
CONTROL = (
    "<w:sdt {}><w:sdtPr/><w:sdtContent><w:p><w:r><w:t>controlled</w:t></w:r></w:p>"
    "</w:sdtContent></w:sdt>"
)
MERGED = (
    '<w:tc {}><w:tcPr><w:gridSpan w:val="2"/></w:tcPr><w:p><w:r><w:t>wide</w:t></w:r></w:p></w:tc>'
)
BOX = "<w:pict><v:shape{}><v:textbox><w:txbxContent><w:p><w:r><w:t>{}</w:t></w:r></w:p></w:txbxContent></v:textbox></v:shape></w:pict>"
HIDDEN_PARTS = (
    "<w:hyperlink {}><w:r><w:t>target</w:t></w:r><w:r><w:rPr><w:vanish/></w:rPr><w:t>HIDDEN</w:t>"
    "</w:r></w:hyperlink>",
    '<w:r {}><w:rPr><w:vanish w:val="0"/></w:rPr><w:t xml:space="preserve"> more</w:t></w:r>',
    "<w:del {}><w:r><w:delText>HIDDEN</w:delText></w:r></w:del>",
    "<w:moveFrom {}><w:r><w:t>HIDDEN</w:t></w:r></w:moveFrom>",
    '<w:r {}><w:rPr><w:sz w:val="1"/></w:rPr><w:t>HIDDEN</w:t></w:r>',
    "<w:r {}><mc:AlternateContent><mc:Choice>" + BOX.format("", "boxed") + "</mc:Choice>"
    "<mc:Fallback>" + BOX.format("", "HIDDEN") + "</mc:Fallback></mc:AlternateContent></w:r>",
    "<w:r {}>" + BOX.format(' style="visibility: hidden"', "HIDDEN") + "</w:r>",
    "<w:r {}><w:rPr><w:vanish/></w:rPr>" + BOX.format("", "HIDDEN") + "</w:r>",
)


async def test_office():
    text = docx.Document()
    text.add_heading("Policy", 1)
    text.add_paragraph("Stop loss at 8 %.")
    text.add_paragraph("")
    text.paragraphs[-1].add_run("seen ")
    text.paragraphs[-1].add_run("HIDDEN").font.hidden = True
    text.add_table(1, 2).cell(0, 1).text = "cell"
    words = text.add_paragraph("link: ")._p
    for part in HIDDEN_PARTS:
        words.append(parse_xml(part.format(NAMES)))
    text.element.body.insert(0, parse_xml(CONTROL.format(NAMES)))
    text.tables[0].rows[0]._tr.append(parse_xml(MERGED.format(NAMES)))
    found = await read("a.docx", written(text.save))
    assert found.text == (
        "controlled\n\n# Policy\n\nStop loss at 8 %.\n\nseen \n\n|  | cell | wide |\n\n\n"
        "link: target more\n\nboxed\n\n"
    )
    assert "HIDDEN" not in found.text
    book = openpyxl.Workbook()
    book.active.title = "Shares"
    for row in (["share", "part"], ["FPT", 0.2], ["VNM", "=1+1"]):
        book.active.append(row)
    book.create_sheet("secret").append(["HIDDEN"])
    book["secret"].sheet_state = "hidden"
    found = await read("a.xlsx", written(book.save))
    assert "share: FPT | part: 0.2" in found.text
    assert "HIDDEN" not in found.text
    assert "=1+1" not in found.text, "a formula that was never computed has no value"
    (formulas, hidden) = found.notes
    assert formulas.startswith("1 formulas without a computed value: open the file")
    assert hidden == "1 hidden sheets"
    assert found.pieces[0].piece.place == "Shares, row 1 to 3"
    deck = pptx.Presentation()
    for title in ("First", "HIDDEN"):
        slide = deck.slides.add_slide(deck.slide_layouts[0])
        slide.shapes.title.text = title
    slide.element.set("show", "0")
    deck.slides[0].notes_slide.notes_text_frame.text = "to say"
    found = await read("a.pptx", written(deck.save))
    assert "## First" in found.text
    assert "Notes: to say" in found.text
    assert "HIDDEN" not in found.text
    assert found.pieces[0].piece.place == "slide 1"


async def test_charts_of_slides():
    """A chart is its title and its numbers, also of several series and without them."""
    deck = pptx.Presentation()
    slide = deck.slides.add_slide(deck.slide_layouts[6])
    data: Any = CategoryChartData()  # type: ignore[no-untyped-call]
    data.categories = ["Q1", "Q2"]
    data.add_series("North", (1.5, None))
    data.add_series("South", (3, 4.25))
    place = (0, 0, pptx.util.Inches(4), pptx.util.Inches(3))
    chart = slide.shapes.add_chart(XL_CHART_TYPE.LINE, *place, data).chart
    chart.has_title = True
    chart.chart_title.text_frame.text = "Sales"
    points: Any = XyChartData()  # type: ignore[no-untyped-call]
    points.add_series("Points").add_data_point(1, 2)
    slide.shapes.add_chart(XL_CHART_TYPE.XY_SCATTER, *place, points)
    broken = slide.shapes.add_chart(XL_CHART_TYPE.PIE, *place, data)
    # its part is gone
    broken.element.graphic.graphicData.chart.set(qn("r:id"), "rId99")
    found = await read("a.pptx", written(deck.save))
    assert found.reason == ""
    for shown in (
        "Sales\n\n",
        "|  | North | South |\n| Q1 | 1.5 | 3 |\n| Q2 |  | 4.25 |",
        "Points",
    ):
        assert shown in found.text, found.text


def archive(**parts: bytes) -> bytes:
    def save(buffer: io.BytesIO) -> None:
        with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as packed:
            packed.writestr("word/document.xml", parts.pop("document", b"<x/>"))
            for name, content in parts.items():
                packed.writestr(name, content)

    return written(save)


BOMB = b'<!DOCTYPE x [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;">]><x>&b;</x>'
XXE = b'<?xml version="1.0"?><!DOCTYPE x [<!ENTITY a SYSTEM "file:///etc/passwd">]><x>&a;</x>'


@pytest.mark.parametrize(
    ("name", "data", "why"),
    [
        ("a.pdf", b"%PDF-1.7 junk", "no PDF"),
        ("a.pdf", b"%PDF-1.7\n" + b"1 0 obj\n" * 50_000, "no PDF"),
        ("a.docx", b"PK\x03\x04word/document.xml" + b"\0" * 50, "damaged"),
        ("a.docx", archive(), "damaged"),
        ("a.docx", archive(**{"more.zip": b"x"}), "an archive within it"),
        ("a.docx", archive(**{"word/media/x.docx": b"x"}), "an archive within it"),
        ("a.docx", archive(document=b"0" * 20_000_000), "more than 200 to 1"),
        ("a.docx", archive(document=BOMB), "declares entities"),
        ("a.docx", archive(document=XXE), "declares entities"),
        ("a.docx", archive(document=XXE.decode().encode("utf-16")), "declares entities"),
        ("a.docx", archive(**{f"p{n}": b"" for n in range(20_001)}), "parts"),
        ("a.txt", b"  \n ", "no text"),
        ("a.txt", b"x" * 1_000_001, "max_chars"),
        ("a.html", b"<html>" + b"<div>" * 3000, "nested too deeply"),
        ("a.eml", b"\n\nwords", "no headers"),
    ],
)
async def test_what_cannot_be_read_says_why(name: str, data: bytes, why: str):
    """And ends nothing but its own process."""
    found = await read(name, data)
    assert why in found.reason
    assert not found.text


async def test_an_encrypted_archive_says_so():
    data = bytearray(archive())
    # the flag of each entry, in its head and in the directory
    for mark, place in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        data[data.index(mark) + place] |= 1
    assert (await read("a.docx", bytes(data))).reason == "is encrypted"


@pytest.mark.parametrize(
    ("script", "why"),
    [
        ("import time; time.sleep(1000)", "s to be read"),
        ("import os, signal; os.kill(os.getpid(), signal.SIGKILL)", "may have"),
        ("import os, signal; os.kill(os.getpid(), signal.SIGSEGV)", "damaged"),
        ("import os, signal; os.kill(os.getpid(), signal.SIGXCPU)", "of CPU"),
        ("print('no answer')", "its process has ended"),
        ("import sys\nwhile True: sys.stdout.write('x' * 100000)", "MB when it is read"),
        ("import sys; sys.exit(3)", "its process has ended"),
    ],
)
async def test_a_process_that_does_otherwise(script: str, why: str):
    """It is ended in time, and the file has failed."""
    program = (sys.executable, "-c", script)
    seconds = 1.0 if "sleep" in script else 60.0
    found = await read("a.txt", b"text", program=program, seconds=seconds)
    assert why in found.reason
    assert not found.text
