"""Files that other programs wrote.

LibreOffice 7.4, Chromium (`picture`, `page-of-chromium`), ReportLab 5 and pypdf 7 (`form`).
"""

from pathlib import Path

import pytest

from tests.support.documents import read

FILES = Path(__file__).parent / "files"
POLICY = (
    *("House rules", "Stop loss", "Every position has a stop loss at 8 %", "Kích thước"),
    *("Không cổ phiếu nào chiếm hơn 20 % danh mục.", "FPT", "On holidays nothing is traded."),
)


@pytest.mark.parametrize(
    ("name", "place"),
    [
        ("policy.docx", "House rules to Holidays"),
        ("policy.pdf", "page 1 to 2"),
        ("policy.html", "House rules to Holidays"),
        ("page-of-chromium.pdf", "page 1 to 2"),
    ],
)
async def test_a_text_of_two_pages(name: str, place: str):
    found = await read(name, (FILES / name).read_bytes())
    for words in POLICY:
        assert words in found.text
    assert [one.piece.place for one in found.pieces] == [place]
    # by which it is found
    assert {"trade", "kich", "fpt"} <= found.pieces[0].terms.keys()


async def test_cells_are_on_one_line():
    found = await read("policy.html", (FILES / "policy.html").read_bytes())
    assert "FPT | 20 %" in " ".join(found.text.split(" ")).replace("  ", " ")


async def test_a_table():
    """With the values that the program has computed."""
    found = await read("shares.xlsx", (FILES / "shares.xlsx").read_bytes())
    assert "share: FPT | part: 0.2 | double: 0.4" in found.text
    assert found.pieces[0].piece.place == "Shares, row 1 to 3"


async def test_slides():
    found = await read("deck.pptx", (FILES / "deck.pptx").read_bytes())
    assert "## Ngày nghỉ" in found.text
    assert found.pieces[0].piece.place == "slide 1 to 2"


async def test_what_is_filled_into_a_form():
    """By the words beside each field; nothing of one that is empty, or hides what is typed."""
    found = await read("form.pdf", (FILES / "form.pdf").read_bytes())
    filled = [line for line in found.text.splitlines() if ": " in line and "Abroad" not in line]
    assert filled == [
        "Full name: Trần Thị Ánh",
        "days: 17",
        "Paid leave: yes",
        "Kind of leave: parental",
        "Half day: morning",
        # of a page that has nothing else
        "Signed by: Bob",
    ]
    assert "4711" not in found.text
    assert [one.piece.place for one in found.pieces] == ["page 1 to 2"]
    assert found.notes == ()


@pytest.mark.parametrize(
    ("name", "why"), [("encrypted.pdf", "is encrypted"), ("picture.pdf", "has no text")]
)
async def test_what_has_no_words(name: str, why: str):
    assert why in (await read(name, (FILES / name).read_bytes())).reason


async def test_a_text_has_what_its_reader_sees():
    """Inserted text, notes, boxes and content controls; nothing that is deleted, hidden or white."""
    found = await read("hidden-parts.docx", (FILES / "hidden-parts.docx").read_bytes())
    assert "HIDDEN" not in found.text, found.text
    for shown in (
        *(
            "# House rules",
            "Stop loss at eight per cent.",
            "See the page of all rules, and a note.",
        ),
        *("- one share", "Words in a box.", "| share | part |", "Choose: a control."),
        "Footnote: Holidays are in the appendix.",
    ):
        assert found.text.count(shown) == 1, found.text


async def test_a_table_without_its_hidden_rows_and_columns():
    found = await read("hidden-rows.xlsx", (FILES / "hidden-rows.xlsx").read_bytes())
    assert found.text == "## Shares\n\nshare | part\nshare: FPT | part: 0.2\n\n"
    assert found.notes == ("2 hidden rows", "1 hidden columns")
    # the first that is shown, and the last, by the numbers of the sheet
    assert found.pieces[0].piece.place == "Shares, row 1 to 4"
