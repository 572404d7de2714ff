"""What differs between two versions of a crew, as lines."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tools.text.texts import visible

MORE = " ⚠"


def document_lines(found: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Yield what differs, as the API gives it, with both lines."""
    for one in found:
        places = [place for place in (one["source_now"], one["source_then"]) if place]
        where = f"  ({', was '.join(places)})" if places else ""
        yield visible(f"{one['text']}{MORE if one['more'] else ''}{where}")
    if any(one["more"] for one in found):
        yield f"{MORE.strip()} the crew may do more than before"
