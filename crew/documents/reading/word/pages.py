"""What stands above and below the text of each page of a file of Word.

Element names: ECMA-376, part 1, 17.10.
"""

from collections.abc import Callable
from typing import Any

from docx.oxml.parser import parse_xml

W = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
R = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}"
OFF = frozenset({"0", "false", "off"})
# the formula of a page's number, and the letters beside it that say nothing more: "Page 1 of 3"
NUMBER, MAX_NUMBER_LETTERS = "PAGE", 12


def page_texts(document: Any, kind: str, read: Callable[[Any], str]) -> list[str]:
    """Return the headers, or the footers, that are shown, each once.

    One that is no more than the number of a page is left out.

    Args:
        document: of python-docx.
        kind: header or footer.
        read: returns the text of an element, as it is shown.
    """
    found: dict[str, None] = {}
    has_even = document.settings.element.find(f"{W}evenAndOddHeaders") is not None
    for section in document.element.body.iter(f"{W}sectPr"):
        title = section.find(f"{W}titlePg")
        has_first = title is not None and title.get(f"{W}val", "1") not in OFF
        for reference in section.findall(f"{W}{kind}Reference"):
            is_shown = {"first": has_first, "even": has_even}.get(reference.get(f"{W}type"), True)
            relation = document.part.rels.get(reference.get(f"{R}id"))
            if not is_shown or relation is None or relation.is_external:
                continue
            root = parse_xml(relation.target_part.blob)
            text = " ".join(read(root).split())
            counts = any(NUMBER in (one.text or "") for one in root.iter(f"{W}instrText"))
            if sum(map(str.isalpha, text)) > (MAX_NUMBER_LETTERS if counts else 0):
                found[text] = None
    return list(found)
