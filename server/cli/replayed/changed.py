"""A crew's files with other values, as `--set PATH=VALUE` gives them."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import yaml

from crew.config.files.changes import Change, apply_changes
from crew.config.files.document import Document
from crew.config.files.sources import CREW_FILE, TOOLS_FILE, Sources
from crew.config.files.yaml_reader import read
from crew.rehearsal.playing.loaded import dotted_path
from server.yaml_text import to_yaml
from tools.schemas.yaml_shape import resolve


class WrongChange(ValueError):
    """A value cannot be put there."""


def changed_sources(sources: Sources, values: Sequence[str]) -> Sources:
    """Write values into the files; raises WrongChange.

    Args:
        sources: a crew's files.
        values: each as `PATH=VALUE`, such as `settings.max_rounds=3`; VALUE is YAML.
    """
    left = [_change_of(one) for one in values]
    files = dict(sources.files)
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
        raise WrongChange(f"there is no {dotted} in the crew's files")
    return replace(sources, files=files)


def _change_of(text: str) -> Change:
    path, equals, value = text.partition("=")
    if not (path and equals):
        raise WrongChange(f"{text!r} is no PATH=VALUE, such as settings.max_rounds=3")
    try:
        return Change(dotted_path(path), yaml.safe_load(value))
    except yaml.YAMLError:
        raise WrongChange(f"{value!r} is no YAML") from None
