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
    has_even = _is_on(document.settings.element.find(f"{W}evenAndOddHeaders"))
    for section in document.element.body.iter(f"{W}sectPr"):
        has_first = _is_on(section.find(f"{W}titlePg"))
        for reference in section.findall(f"{W}{kind}Reference"):
            is_shown = {"first": has_first, "even": has_even}.get(reference.get(f"{W}type"), True)
            relation = document.part.rels.get(reference.get(f"{R}id"))
            if not is_shown or relation is None or relation.is_external:
                continue
            root = parse_xml(relation.target_part.blob)
            text = " ".join(read(root).split())
            if sum(map(str.isalpha, text)) > (MAX_NUMBER_LETTERS if _has_number(root) else 0):
                found[text] = None
    return list(found)


def _is_on(switch: Any) -> bool:
    return switch is not None and switch.get(f"{W}val", "1") not in OFF


def _has_number(root: Any) -> bool:
    """Return whether the number of a page stands in it, by either form of a field."""
    formulas = [one.text or "" for one in root.iter(f"{W}instrText")]
    formulas += [one.get(f"{W}instr", "") for one in root.iter(f"{W}fldSimple")]
    return any(NUMBER in one for one in formulas)
