"""Files of Word as their readers see them: what is hidden, and signs, powers and fractions."""

import docx
import pytest
from docx.oxml import parse_xml

from tests.crew.documents.test_reading import BOX, NAMES, written
from tests.support.documents import read


def document_of(body: str, **parts: str) -> bytes:
    """A file of Word with this body, and styles beside its own."""
    text = docx.Document()
    for style in parts.values():
        text.styles.element.append(parse_xml(style.format(NAMES)))
    old = text.element.body
    new = parse_xml(f"<w:body {NAMES}>{body}</w:body>")
    old.getparent().replace(old, new)
    return written(text.save)


def run_of(text: str, properties: str = "") -> str:
    return f"<w:r><w:rPr>{properties}</w:rPr><w:t>{text}</w:t></w:r>"


WHITE = '<w:color w:val="FFFFFF"/>'
STYLED = '<w:style {} w:type="character" w:styleId="S"><w:name w:val="S"/><w:rPr>' + WHITE
DARK, UNSHADED = '<w:shd w:fill="1F3864"/>', '<w:shd w:fill="FFFFFF"/>'
RAISED = '<w:vertAlign w:val="superscript"/>'
MATH = 'xmlns:m="http://schemas.openxmlformats.org/officeDocument/2006/math"'
BY_STYLE = '<w:rStyle w:val="S"/>'
BODIES: dict[str, tuple[str, str, dict[str, str]]] = {
    "a comment in a drawing": (
        f"<w:p><w:r><w:pict><!-- x --><v:shape/></w:pict></w:r>{run_of('seen')}</w:p>",
        "seen",
        {},
    ),
    "a run without a paragraph": (f"{run_of('lost')}<w:p>{run_of('seen')}</w:p>", "seen", {}),
    "rows in a cell": (
        f"<w:tbl><w:tr><w:tc><w:tbl><w:tr><w:trPr><w:del/></w:trPr><w:tc><w:p>{run_of('HIDDEN')}"
        f"</w:p></w:tc></w:tr><w:tr><w:tc><w:p>{run_of('seen')}</w:p></w:tc></w:tr></w:tbl>"
        f"<w:p/></w:tc></w:tr></w:tbl>",
        "| seen |",
        {},
    ),
    "what a field compares": (
        '<w:p><w:r><w:fldChar w:fldCharType="begin"/></w:r>'
        + run_of("HIDDEN")
        + '<w:r><w:fldChar w:fldCharType="separate"/></w:r>'
        + run_of("seen")
        + '<w:r><w:fldChar w:fldCharType="end"/></w:r></w:p>',
        "seen",
        {},
    ),
    "white by a style": (
        f"<w:p>{run_of('seen')}{run_of('HIDDEN', BY_STYLE)}</w:p>",
        "seen",
        {"style": f"{STYLED}</w:rPr></w:style>"},
    ),
    "white on white": (
        f"<w:p>{run_of('seen')}{run_of('HIDDEN', WHITE + UNSHADED)}</w:p>",
        "seen",
        {},
    ),
    "white on a style's colour": (
        f"<w:p>{run_of('seen', BY_STYLE)}</w:p>",
        "seen",
        {"style": f"{STYLED}{DARK}</w:rPr></w:style>"},
    ),
    "two forms of a drawing": (
        "<w:p><w:r><mc:AlternateContent><mc:Choice>"
        + BOX.format("", "seen")
        + "</mc:Choice><mc:Choice>"
        + BOX.format("", "HIDDEN")
        + "</mc:Choice></mc:AlternateContent></w:r></w:p>",
        "seen",
        {},
    ),
    "powers and fractions": (
        f"<w:p>{run_of('10')}{run_of('6', RAISED)}{run_of(' is ')}<m:oMath {MATH}><m:f><m:num><m:r>"
        "<m:t>1</m:t></m:r></m:num><m:den><m:r><m:t>2</m:t></m:r></m:den></m:f></m:oMath>"
        f"<m:oMath {MATH}><m:rad><m:deg><m:r><m:t>3</m:t></m:r></m:deg><m:e><m:r><m:t>27</m:t></m:r>"
        "</m:e></m:rad></m:oMath></w:p>",
        "10^6 is 1/23√(27)",
        {},
    ),
    "signs of fonts": (
        '<w:p><w:r><w:t>x </w:t><w:sym w:font="Symbol" w:char="F0B3"/><w:t> 5 </w:t>'
        '<w:sym w:font="Wingdings" w:char="F0FC"/><w:sym w:font="Odd" w:char="zz"/></w:r></w:p>',
        "x ≥ 5 ✓",
        {},
    ),
    "no number": (
        f'<w:p><w:pPr><w:numPr><w:numId w:val="0"/></w:numPr></w:pPr>{run_of("seen")}</w:p>',
        "seen",
        {},
    ),
}


@pytest.mark.parametrize("name", BODIES)
async def test_what_a_reader_of_word_sees(name: str):
    body, shown, styles = BODIES[name]
    found = await read("a.docx", document_of(body, **styles))
    assert (found.reason, "HIDDEN" in found.text) == ("", False), found
    assert found.text.strip().split("\n")[-1] == shown


async def test_headers_and_footers():
    """Once each, those that a page shows; a page's number alone is none of them."""
    text = docx.Document()
    text.add_paragraph("The body.")
    first = text.sections[0]
    first.header.paragraphs[0].text = "Contract no 77"
    first.footer.paragraphs[0].text = "Page "
    number = '<w:r {0}><w:fldChar w:fldCharType="begin"/><w:instrText> PAGE </w:instrText></w:r>'
    first.footer.paragraphs[0]._p.append(parse_xml(number.format(NAMES)))
    # neither is shown: no page is a title, none is an even one
    first.first_page_header.paragraphs[0].text = "HIDDEN first"
    first.even_page_footer.paragraphs[0].text = "HIDDEN even"
    first.different_first_page_header_footer = False
    off = parse_xml(f'<w:evenAndOddHeaders {NAMES} w:val="0"/>')
    text.settings.element.append(off)
    second = text.add_section()
    second.footer.is_linked_to_previous = False
    second.footer.paragraphs[0].text = "Annex to the contract"
    simple = parse_xml(
        f'<w:p {NAMES}><w:fldSimple w:instr=" PAGE "><w:r><w:t>Page 3</w:t></w:r></w:fldSimple></w:p>'
    )
    third = text.add_section()
    third.footer.is_linked_to_previous = False
    third.footer._element.append(simple)
    second.header.is_linked_to_previous = False
    second.header.paragraphs[0].text = "Contract no 77"
    found = (await read("a.docx", written(text.save))).text
    assert found.startswith("Header: Contract no 77")
    assert found.rstrip().endswith("Footer: Annex to the contract")
    assert found.count("Contract no 77") == 1
    assert "HIDDEN" not in found
    assert "Page" not in found
