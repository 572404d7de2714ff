"""What is filled into the forms of a PDF; its text does not have that."""

import ctypes
from collections.abc import Callable, Iterator
from typing import Any

import pypdfium2
import pypdfium2.raw as pdfium

# of one page
MAX_FIELDS = 2000
# Table 230 of ISO 32000-2: what is typed is not shown
PASSWORD = 1 << 13
TICKED = (pdfium.FPDF_FORMFIELD_CHECKBOX, pdfium.FPDF_FORMFIELD_RADIOBUTTON)
WRITTEN = (
    pdfium.FPDF_FORMFIELD_TEXTFIELD,
    pdfium.FPDF_FORMFIELD_COMBOBOX,
    pdfium.FPDF_FORMFIELD_LISTBOX,
)
# of a box that has no words of its own
PLAIN = frozenset({"yes", "on", "true", "1"})
# annotation, buffer, its size in bytes -> the size that is needed
Read = Callable[..., int]


def fields_of(document: pypdfium2.PdfDocument, page: pypdfium2.PdfPage) -> Iterator[str]:
    """Yield each field of a page that is filled in, as `label: value`."""
    form = document.formenv
    if form is None:
        return
    for number in range(min(pdfium.FPDFPage_GetAnnotCount(page.raw), MAX_FIELDS)):
        annotation = pdfium.FPDFPage_GetAnnot(page.raw, number)
        if not annotation:
            continue
        try:
            if (found := _field(form.raw, annotation)) is not None:
                yield found
        finally:
            pdfium.FPDFPage_CloseAnnot(annotation)


def _field(form: Any, annotation: Any) -> str | None:
    """Return a field that is filled in; None: it is empty, hides what is typed, or is no field."""
    kind = pdfium.FPDFAnnot_GetFormFieldType(form, annotation)

    def text(read: Read) -> str:
        size = read(form, annotation, None, 0)
        buffer = ctypes.create_string_buffer(max(size, 2))
        read(form, annotation, ctypes.cast(buffer, ctypes.POINTER(ctypes.c_ushort)), size)
        return buffer.raw[: max(size, 2) - 2].decode("utf-16-le", "replace").strip()

    value = ""
    if kind in TICKED and pdfium.FPDFAnnot_IsChecked(form, annotation):
        said = text(pdfium.FPDFAnnot_GetFormFieldExportValue)
        value = "yes" if not said or said.lower() in PLAIN else said
    elif kind in WRITTEN and not pdfium.FPDFAnnot_GetFormFieldFlags(form, annotation) & PASSWORD:
        value = text(pdfium.FPDFAnnot_GetFormFieldValue)
    if not value:
        return None
    label = text(pdfium.FPDFAnnot_GetFormFieldAlternateName)
    return f"{label or text(pdfium.FPDFAnnot_GetFormFieldName)}: {value}"
