"""Values in place of those that a crew's files have, as if they were written there."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from crew.config.files.document import Document, YamlPath


@dataclass(frozen=True, slots=True)
class Change:
    """A value at a path: of crew.yaml, `agents.<id>…` of an agent's file, `tools.<name>…`."""

    path: YamlPath
    value: Any
    # nothing is to be there
    is_removed: bool = False


def apply_changes(
    document: Document, changes: Sequence[Change], agent_id: str | None
) -> list[Change]:
    """Make changes in the data of a file that was read; its places stay.

    Args:
        document: the file.
        changes: of the crew.
        agent_id: whose file it is; None: crew.yaml or tools.yaml.

    Returns:
        Those that are left: about other files, or with a place that is not there.
    """
    left = []
    for change in changes:
        path = _path_in(document, change.path, agent_id)
        if not path or not isinstance(document.data, dict) or not _set(document.data, path, change):
            left.append(change)
    return left


def _path_in(document: Document, path: YamlPath, agent_id: str | None) -> YamlPath:
    """Return a path of a crew in a file; () where it is not of this one."""
    is_of_agent = path[0] == "agents" and len(path) > 1 and isinstance(path[1], str)
    if agent_id is not None:
        return path[2:] if is_of_agent and path[1] == agent_id else ()
    if is_of_agent:
        return ()
    is_tools_file = document.file.startswith("tools.")
    if path[0] != "tools" or len(path) < 2:
        return () if is_tools_file else path
    known = document.data.get("tools") if isinstance(document.data, dict) else None
    return path if isinstance(known, dict) and path[1] in known else ()


def _set(data: Any, path: YamlPath, change: Change) -> bool:
    """Set a value; mappings on the way are made, places of lists must be there."""
    *above, last = path
    for part in above:
        if isinstance(data, list):
            if not isinstance(part, int) or part >= len(data):
                return False
        elif isinstance(data, dict):
            data.setdefault(part, {})
        else:
            return False
        data = data[part]
    is_place = isinstance(data, list) and isinstance(last, int) and last < len(data)
    if not is_place and not isinstance(data, dict):
        return False
    if not change.is_removed:
        data[last] = change.value
    elif is_place or last in data:
        del data[last]
    return True
