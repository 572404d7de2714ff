"""A crew with typed answers, and what is wrong with it."""

from pathlib import Path
from typing import Any

from crew.crew import check
from tests.support.crews import write_crew

OUTPUT: dict[str, Any] = {
    "properties": {
        "kind": {"enum": ["new", "old"]},
        "ok": {"type": "boolean"},
        "count": {"type": "integer", "minimum": 0},
        "names": {"type": "array", "items": {"type": "string", "vocabulary": "names"}},
        "tags": {"type": "array", "items": {"type": "string"}},
        "note": {"type": "string"},
        "who": {"type": "object", "properties": {"name": {"type": "string"}}},
    },
    "required": ["kind", "ok"],
}
WORDS = {"type": "array", "items": {"type": "string", "vocabulary": "names"}}
NESTED = {"properties": {"lists": {"type": "array", "items": WORDS}}}
NAMES = {"names": {"file": "names.txt"}}
LAST = {"target": "b"}


def problems(
    folder: Path,
    rules: list[Any] | None = None,
    agents: dict[str, Any] | None = None,
    script: list[Any] | None = None,
    routing: dict[str, Any] | None = None,
    **crew: Any,
) -> dict[str, list[tuple[str, str]]]:
    """What is wrong with a crew: by code, the line that is meant, and the words."""
    known: dict[str, Any] = {"a": {"output": OUTPUT}, "b": {"is_terminal": True}}
    merged = {
        name: {**known.get(name, {}), **(agents or {}).get(name, {})}
        for name in dict.fromkeys([*known, *(agents or {})])
    }
    ways = {} if rules is None else {"outputs": {"a": rules}}
    crew = {"entry_point": "a", "vocabularies": NAMES, **crew}
    write_crew(folder, merged, script, routing={**ways, **(routing or {})}, **crew)
    (folder / "names.txt").write_text("Ann\nBob\n")
    found: dict[str, list[tuple[str, str]]] = {}
    for one in check(folder, environment={}).problems:
        line = (folder / one.file).read_text().splitlines()[one.line - 1].strip()
        words = one.message + (f" ({one.suggestion}?)" if one.suggestion else "")
        found.setdefault(one.code, []).append((line, words))
    return found
