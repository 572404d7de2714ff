"""Passages of documents that a run was shown, each with its number; pure."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

# of an answer: one number, or several
CITED = re.compile(r"\[(\d{1,6}(?:\s*[,;]\s*\d{1,6})*)\]")


@dataclass(frozen=True, slots=True)
class ShownPassage:
    """A passage that was shown."""

    # from 1 on, the same through the run
    n: int
    document_id: str
    collection: str
    name: str
    # in the file: a page, a heading; "" where there is none
    place: str
    # in characters of the document's text
    start: int
    end: int


def numbered(known: Sequence[ShownPassage], shown: Sequence[ShownPassage]) -> list[ShownPassage]:
    """Return what is shown with its numbers: a passage that is known keeps its own."""
    numbers = {_passage(one): one.n for one in known}
    found: list[ShownPassage] = []
    for one in shown:
        n = numbers.setdefault(_passage(one), len(numbers) + 1)
        place = (one.document_id, one.collection, one.name, one.place, one.start, one.end)
        found.append(ShownPassage(n, *place))
    return found


def _passage(one: ShownPassage) -> tuple[str, int, int]:
    return one.document_id, one.start, one.end


def source_documents(
    sources: Sequence[ShownPassage], answer: str | None = None
) -> list[dict[str, Any]]:
    """Return passages as clients get them.

    Args:
        sources: what was shown.
        answer: then each says whether its number stands there.
    """
    cited: set[int] = set()
    for found in CITED.findall(answer or ""):
        cited |= {int(number) for number in re.split(r"\D+", found)}
    return [
        {
            "n": one.n,
            "document": one.document_id,
            "collection": one.collection,
            "name": one.name,
            "place": one.place or None,
            "from": one.start,
            "to": one.end,
            **({} if answer is None else {"cited": one.n in cited}),
        }
        for one in sources
    ]
