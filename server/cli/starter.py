"""What `crew init` writes: a small crew that plays at once, or a full one with every key.

Schemas for editors beside it.
"""

import json
from pathlib import Path

from server.cli.json_schema import KINDS, schema_of

STARTERS = Path(__file__).parent / "starters"
# runs are kept there too, and are nobody else's
GITIGNORE = ".crew/*.db*\n.crew/*.lock\n"


def starter_files(name: str) -> dict[str, str]:
    """The files of a starter, `small` or `full`, by their names."""
    folder = STARTERS / name
    found = sorted(path for path in folder.rglob("*") if path.suffix in (".yaml", ".py"))
    written = {
        path.relative_to(folder).as_posix(): path.read_text(encoding="utf-8") for path in found
    }
    schemas = {
        f".crew/schemas/{kind}.json": json.dumps(schema_of(kind), indent=2, ensure_ascii=False)
        + "\n"
        for kind in KINDS
    }
    return {**written, ".gitignore": GITIGNORE, **schemas}
