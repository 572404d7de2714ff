"""Texts as spreadsheets, mail programs and slides write them."""

import io
from email.message import EmailMessage

import pytest
from pptx import Presentation

from tests.support.documents import read

HIDDEN = [
    "[//]: # (HIDDEN)",
    "[comment]: <> (HIDDEN)",
    "<div hidden>HIDDEN\n\nmore</div>",
    "<span style='display:none'>HIDDEN</span>",
    '<p class="x" style="visibility: hidden">HIDDEN</p>',
    "<p style=\"font-family:'Arial'; display:none\">HIDDEN</p>",
    '<p title="a>b" hidden>HIDDEN</p>',
    '<p @x="1" hidden>HIDDEN</p>',
    f"<p data-x='{'x' * 1500}' hidden>HIDDEN</p>",
]
SEEN = [
    "[SEEN][1]\n\n[1]: https://example.org/SEEN",
    "`[//]: # (SEEN)`",
    "```\n[//]: # (SEEN)\n```",
    "<p class='hidden-gem'>SEEN</p>",
    # no definitions of links: more than an address and its title stands there
    "[10:32]: Ann bought 500 SEEN",
    "[API]: Application programming SEEN",
    '<a title="a hidden gem" href="x">SEEN</a>',
    '<span class="btn not hidden">SEEN</span>',
]


@pytest.mark.parametrize("text", HIDDEN)
async def test_what_no_reader_of_markdown_sees(text: str):
    found = await read("a.md", f"# ok\n\n{text}\n\nend\n".encode())
    assert "HIDDEN" not in found.text
    assert found.text.endswith("end\n")


@pytest.mark.parametrize("text", SEEN)
async def test_what_a_reader_of_markdown_sees(text: str):
    assert text in (await read("a.md", f"# ok\n\n{text}\n".encode())).text


@pytest.mark.parametrize("text", ["<a ", "[a ", "List<String ", "<p hidden>x"])
async def test_marks_that_are_none_take_no_time(text: str):
    """A process that takes long is ended, and its file has failed."""
    assert (await read("a.md", (text * (100_000 // len(text))).encode(), seconds=20)).reason == ""


PAGES = {
    "a quote too many": ('<td width="50"">first<p>SEEN', []),
    "a quote in a value": ("<p title=it's>SEEN</p>", []),
    "quotes around a sign": ('<p title="a > b">SEEN</p>', ["> b"]),
    "for print": ("<style>@media print { p { display: none } }</style><p>SEEN</p>", []),
    "for phones": ("<style>@media (max-width:9px){p{display:none}}</style><p>SEEN</p>", []),
    "for print alone": ('<style media="print">p{display:none}</style><p>SEEN</p>', []),
    "for screens": ("<style>@media screen{.x{display:none}}</style><p>SEEN<b class=x>no", ["no"]),
    "behind a condition": (
        "<style>@media print{p{color:red}} .x{display:none}</style><p>SEEN<b class=x>no",
        ["no"],
    ),
}


@pytest.mark.parametrize("name", PAGES)
async def test_slips_of_pages(name: str):
    """What browsers show is read, and nothing else."""
    page, unseen = PAGES[name]
    text = (await read("a.html", f"<html><body>{page}".encode())).text
    assert "SEEN" in text
    assert not any(one in text for one in unseen)


async def test_powers_of_a_page():
    page = b"<p>10<sup>6</sup> m<sup>2</sup>, the 21<sup>st</sup> of May<sup>[1]</sup></p>"
    assert "10^6 m^2, the 21st of May[1]" in (await read("a.html", page)).text


async def test_one_wrong_byte_changes_no_other():
    """What is named UTF-8 stays that; a name that means nothing is no error."""
    head = b"Subject: x\nContent-Type: text/plain; charset=%s\n\n"
    broken = "für Käse".encode() + b"\xff"
    assert "für Käse" in (await read("a.eml", head % b"utf-8" + broken)).text
    assert "abc" in (await read("a.eml", head % b"undefined" + b"abc\xe4")).text


ENCODED = [
    ("iso-8859-1", "cp1252", "500 € – “ok”"),
    ("gb2312", "gb18030", "镕城"),
    ("shift_jis", "cp932", "①髙"),
    ("euc-kr", "cp949", "똠방각하"),
    ("tis-620", "cp874", "ราคา 500 €"),
    ("x-unknown", "utf-8", "Köln"),
]


@pytest.mark.parametrize(("label", "encoding", "words"), ENCODED)
async def test_names_of_encodings_mean_what_browsers_read(label: str, encoding: str, words: str):
    """In pages and in mails; what is encoded otherwise is read by its bytes."""
    data = words.encode(encoding)
    page = b'<meta charset="%s"><p>' % label.encode() + data
    assert words in (await read("a.html", page)).text
    head = f"Subject: x\nContent-Type: text/plain; charset={label}\n\n".encode()
    assert words in (await read("a.eml", head + data)).text
    # an older name for what is UTF-8
    assert (
        "Köln"
        in (await read("a.eml", head.replace(label.encode(), b"us-ascii") + "Köln".encode())).text
    )


async def test_breaks_of_slides_and_pages_part_words():
    deck = Presentation()
    slide = deck.slides.add_slide(deck.slide_layouts[1])
    slide.shapes.title.text = "Annual\x0bReport"
    slide.placeholders[1].text = "first line\x0bsecond line"
    saved = io.BytesIO()
    deck.save(saved)
    text = (await read("a.pptx", saved.getvalue())).text
    assert "## Annual Report\n" in text
    assert "first line\nsecond line" in text
    assert "one\nstart" in (await read("a.txt", b"page one\x0cstart of page two")).text


async def test_tables_as_spreadsheets_write_them():
    """What separates the values may be said, and a title may stand above the names."""
    said = await read("a.csv", b"sep=;\nname;price\nFPT;100\n")
    assert said.text == "name | price\nname: FPT | price: 100\n"
    titled = await read("a.csv", b"Report of 2024\n\nname,price\nFPT,100\nVNM,200\n")
    assert titled.text.splitlines()[-1] == "name: VNM | price: 200"
    assert titled.text.startswith("Report of 2024\n")


async def test_long_names_of_wide_tables_are_shortened():
    """They stand in each row: all of them would take more room than the values."""
    questions = [f"How satisfied are you with the service number {n} of us?" for n in range(60)]
    rows = [",".join(["Yes"] * 60)] * 700
    data = "\n".join([",".join(questions), *rows]).encode()
    found = await read("a.csv", data, max_chars=5_000_000)
    assert all(one in found.text.splitlines()[0] for one in questions)
    assert "How satisfied a…: Yes" in found.text.splitlines()[-1]
    assert len(found.text) < 8 * len(data)


async def test_an_encoding_that_is_not_known_is_noted():
    found = await read("a.txt", "Привет, это короткий текст.".encode("cp1251"))
    assert any("Windows-1252" in note for note in found.notes)
    assert not (await read("a.txt", "Привет".encode())).notes


async def test_a_mail_goes_on_behind_its_picture():
    mail = EmailMessage()
    mail["Subject"] = "trip"
    mail.set_content("before the picture")
    mail.add_attachment(b"\x89PNG", maintype="image", subtype="png", filename="a.png")
    mail.add_attachment("behind the picture", disposition="inline")
    mail.add_attachment("a file", filename="notes.txt")
    found = await read("a.eml", mail.as_bytes())
    assert "before the picture" in found.text
    assert "behind the picture" in found.text
    assert "a file" not in found.text
    assert any("2 attachments" in note for note in found.notes)
