"""What `crew init` writes: a small crew that runs at once, or one with every key.

Beside it are the JSON Schemas for editors.
"""

import json
from pathlib import Path

from server.cli.json_schema import KINDS, schema_of

STARTERS = Path(__file__).parent / "starters"
# the database of the runs lies there too, and belongs to one machine
GITIGNORE = ".crew/*.db*\n.crew/*.lock\n"


def starter_files(name: str | None) -> dict[str, str]:
    """The files of a starter, `small` or `full`, by their names; None: only those beside it."""
    written: dict[str, str] = {}
    if name is not None:
        folder = STARTERS / name
        found = (path for path in folder.rglob("*") if path.suffix in (".yaml", ".py", ".json"))
        written = {
            path.relative_to(folder).as_posix(): path.read_text(encoding="utf-8")
            for path in sorted(found)
        }
    for kind in KINDS:
        schema = json.dumps(schema_of(kind), indent=2, ensure_ascii=False)
        written[f".crew/schemas/{kind}.json"] = schema + "\n"
    return {**written, ".gitignore": GITIGNORE}
