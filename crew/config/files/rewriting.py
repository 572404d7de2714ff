"""A crew's files, written with other values in them."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from crew.config.files.changes import Change, apply_changes
from crew.config.files.document import Document
from crew.config.files.sources import CREW_FILE, TOOLS_FILE, Sources
from crew.config.files.yaml_reader import read
from tools.schemas.yaml_shape import resolve
from tools.text.yaml_text import to_yaml


class NoSuchPlace(ValueError):
    """A value is for a place that no file has."""


def rewritten(sources: Sources, changes: Sequence[Change]) -> Sources:
    """Write values into files: unlike changes of sources, they are then another revision.

    Comments of a file that is changed are lost.

    Raises:
        NoSuchPlace: one is for no file.
    """
    left, files = list(changes), dict(sources.files)
    for name in [*(sources.find(one) for one in (CREW_FILE, TOOLS_FILE)), *sources.agents]:
        if name is None or not left:
            continue
        data: Any = resolve(read(name, files[name]).data)
        agent_id = None
        if name in sources.agents:
            given = data.get("id") if isinstance(data, dict) else None
            agent_id = given if isinstance(given, str) else Path(name).stem
        document = Document(name, "", data)
        before, left = left, apply_changes(document, left, agent_id)
        if len(left) < len(before):
            files[name] = to_yaml(document.data).encode()
    if left:
        dotted = ".".join(map(str, left[0].path))
        raise NoSuchPlace(f"there is no {dotted} in the crew's files")
    return replace(sources, files=files)
