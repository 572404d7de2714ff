"""Passages of documents that a run was shown, each with its number; pure."""

import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from pydantic_core import from_json

# of an answer: numbers in brackets of any script, as models and their languages write them
CITED = re.compile(
    r"[\[\uff3b\u3010][^\S\n]{0,3}\^?[^\S\n]{0,3}(\d{1,6}[^\[\]\uff3b\uff3d\u3010\u3011\n]{0,60})[\]\uff3d\u3011]"
)
NUMBERS = re.compile(r"(\d{1,6})(?:\s*[-\u2013\u2014]\s*(\d{1,6}))?\s*")
BETWEEN = re.compile(
    r"(?:[,;&\uff0c\u3001\uff1b]|and\b|und\b|et\b|y\b|v\u00e0\b)\s*", re.IGNORECASE
)
# what may stand behind a number: a page, or what an API of OpenAI puts there
PLACE = re.compile(
    r"\u2020|[,;:\uff0c]?\s*(?:p{1,2}\.?|pages?|s\.|seiten?|tr\.|trang|\u7b2c)\s*\d", re.IGNORECASE
)
# passages of one range
MAX_RANGE = 100
CODE = re.compile(r"(`{3,}|~{3,}).*?(?:\1|\Z)|`[^`\n]{1,500}`", re.DOTALL)


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
    cited = cited_numbers(answer) if answer else frozenset()
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


def cited_numbers(answer: str) -> frozenset[int]:
    """Return the numbers that an answer cites: `[1]`, `[1, 3]`, `[1-3]`, `【1】`, `[1, p. 3]`.

    Code cites nothing; of JSON, such as a typed answer, only its texts do.
    """
    found: set[int] = set()
    for text in _texts(answer):
        for inner in CITED.findall(CODE.sub("", text)):
            found |= _numbers(inner)
    return frozenset(found)


def _texts(answer: str) -> Iterator[str]:
    value: Any = None
    if answer.lstrip().startswith("{"):
        with suppress(ValueError):
            value = from_json(answer)
    if not isinstance(value, dict):
        yield answer
        return
    rest: list[Any] = [value]
    while rest:
        match rest.pop():
            case str(text):
                yield text
            case dict(inner):
                rest += inner.values()
            case list(inner):
                rest += inner


def _numbers(inner: str) -> set[int]:
    """Return the numbers between two brackets; none where something else stands there, too."""
    found: set[int] = set()
    at = 0
    while (one := NUMBERS.match(inner, at)) is not None:
        first, last = int(one[1]), int(one[2] or one[1])
        if not first <= last < first + MAX_RANGE:
            return set()
        found |= set(range(first, last + 1))
        at = one.end()
        if at == len(inner) or PLACE.match(inner, at):
            return found
        between = BETWEEN.match(inner, at)
        if between is None:
            break
        at = between.end()
    return set()
