"""What agents are shown of documents; pure."""

from collections.abc import Iterable

from crew.journal.records.remembered.documents import WAITING, StoredDocument
from crew.journal.remembered.sources import ShownPassage


def passage_text(source: ShownPassage, text: str, about: str = "") -> str:
    """Return a passage with its number; its lines are marked, so that none passes for ours."""
    place = f", {source.place}" if source.place else ""
    place += f" ({' '.join(about.split())})" if about else ""
    lines = "\n".join(f"> {line}" if line else ">" for line in text.strip().split("\n"))
    return f"[{source.n}] {source.name}{place}:\n{lines}"


def document_line(document: StoredDocument) -> str:
    """Return a document as agents are shown it, on one line."""
    if document.status == "failed":
        state = f"not read: it {document.reason}"
    elif document.status in WAITING:
        state = "being read"
    else:
        state = f"{document.chars} characters"
    notes = f"; left out: {'; '.join(document.notes)}" if document.notes else ""
    summary = f": {' '.join(document.summary.split())}" if document.summary else ""
    return f"{document.name} ({document.collection}, {state}{notes}){summary}"


def newest_names(documents: Iterable[StoredDocument]) -> list[StoredDocument]:
    """Return of each name the version that is searched; else the newest one."""
    found: dict[tuple[str, str, str], StoredDocument] = {}
    for one in documents:
        key = (one.owner, one.collection, one.name)
        known = found.get(key)
        is_searched = one.status in ("summarizing", "ready")
        if known is None or (is_searched and known.status not in ("summarizing", "ready")):
            found[key] = one
    return list(found.values())
