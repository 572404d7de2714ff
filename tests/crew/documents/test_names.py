"""Names of documents, and what bytes are."""

import io
import zipfile

import pytest

from crew.documents.names import NameRefused, checked_name
from crew.documents.reading.kinds import UnknownKind, kind_of_file


@pytest.mark.parametrize(
    "name",
    [
        "",
        " ",
        "../x",
        "a/../b",
        "/etc/passwd",
        "a//b",
        ".",
        "a\0b",
        "a\nb",
        "x\u202egpj.exe",
        "a\u200bb",
        "a\\b",
        "n" * 256,
        "\ud800",
    ],
)
def test_names_that_may_not_be(name: str):
    with pytest.raises(NameRefused):
        checked_name(name)


def test_comments_before_a_page_take_no_time():
    """However many there are: a server looks at what anyone sends."""
    assert kind_of_file(b"<!---->" * 580 + b"<html>", "a.txt") == "html"
    assert kind_of_file(b"<!---->" * 580 + b"x", "a.txt") == "txt"
    assert kind_of_file(b"<!-- never ended <html>", "a.txt") == "txt"


def test_names_are_of_one_form():
    assert checked_name(" re\u0301sume\u0301.txt ") == "résumé.txt"
    assert checked_name("docs/Quy tắc.md") == "docs/Quy tắc.md"
    assert checked_name("n" * 255)


@pytest.mark.parametrize(
    ("name", "data", "kind"),
    [
        ("a.pdf", b"%PDF-1.7", "pdf"),
        ("a.bin", b"junk\n%PDF-1.7", "pdf"),
        ("a.md", b"about\n%PDF-1.7\nheads", "md"),
        ("a.pdf", b"<!DOCTYPE html><p>x", "html"),
        ("a.pdf", b"\xef\xbb\xbf <html>", "html"),
        ("a.pdf", b"plain words", "txt"),
        ("a.md", b"# x", "md"),
        ("A.CSV", b"a,b", "csv"),
        ("a.json", b"{}", "json"),
        ("a.eml", b"From: a", "eml"),
        ("a", b"x", "txt"),
        ("a.txt", "Quy tắc".encode("utf-16"), "txt"),
        ("a.txt", "Rules".encode("utf-16-le"), "txt"),
        ("a.zip", b"PK\x03\x04....word/document.xml", "docx"),
        ("a.docx", b"PK\x03\x04....xl/workbook.xml", "xlsx"),
    ],
)
def test_kinds_are_found_by_what_files_hold_first(name: str, data: bytes, kind: str):
    assert kind_of_file(data, name) == kind


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "old Office"),
        (b"PK\x03\x04....", "an archive"),
        (b"\x7fELF\0\0\0", "no text"),
        (b"\x89PNG\r\n\x1a\n\0\0", "no text"),
    ],
)
def test_others_are_refused(data: bytes, why: str):
    with pytest.raises(UnknownKind, match=why):
        kind_of_file(data, "a.txt")


def test_texts_about_other_kinds():
    """A text that speaks of PDF is a text; an archive is what holds it, not what is in it."""
    assert kind_of_file(b"It begins with %PDF-1.7, always.", "p.txt") == "txt"
    assert kind_of_file(b"\n%PDF-1.7", "p.txt") == "pdf"
    assert kind_of_file(b"junk %PDF-1.7", "p.pdf") == "pdf"
    assert kind_of_file(b"# PDF\n\n%PDF-1.7 is its first line.", "p.md") == "md"
    embedded = b"PK\x03\x04ppt/presentation.xml...xl/workbook.xml...xl/workbook.xml"
    assert kind_of_file(embedded + b"..ppt/presentation.xml", "a.pptx") == "pptx"


def test_office_files_whose_main_part_has_another_name():
    """As SharePoint writes them: what a part is says the list of types."""
    for name, kind in (("word", "docx"), ("sheet", "xlsx"), ("presentation", "pptx")):
        of = {"docx": "wordprocessingml.document", "xlsx": "spreadsheetml.sheet"}
        main = of.get(kind, "presentationml.presentation")
        types = (
            f'<Override PartName="/{name}/part2.xml" ContentType="application/x.{main}.main+xml"/>'
        )
        made = io.BytesIO()
        with zipfile.ZipFile(made, "w") as archive:
            archive.writestr("[Content_Types].xml", f"<Types>{types}</Types>")
            archive.writestr(f"{name}/part2.xml", "<x/>")
        assert kind_of_file(made.getvalue(), "a.bin") == kind
