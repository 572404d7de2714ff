"""A name that becomes another one in all files at once; pure."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from crew.journal.query import ID
from server.authoring.features import QUOTED, TextEdit, references
from server.authoring.folders import CrewView
from server.authoring.names import Named, signal_places

RENAMED = ("agent", "signal")


class RenameRefused(ValueError):
    """A name cannot become that one; the text says why."""


@dataclass(frozen=True, slots=True)
class Renaming:
    """What is written."""

    edits: Sequence[TextEdit]
    # the file of an agent, and its new name
    moved: tuple[str, str] | None = None


def rename(view: CrewView, named: Named, new: str) -> Renaming:
    """Return the changes that give a name another one; raises RenameRefused."""
    if named.kind not in RENAMED:
        raise RenameRefused(f"a {named.kind} is not renamed; agents and signals are")
    if named.kind == "agent":
        return _agent(view, named, new)
    return _signal(view, named, new)


def _agent(view: CrewView, named: Named, new: str) -> Renaming:
    if re.fullmatch(ID, new) is None:
        raise RenameRefused(f"{new!r} is no id of an agent: letters, digits, dashes, underscores")
    crew = view.checked.files.crew
    groups = crew.routing.parallel_groups if crew is not None else {}
    if new in view.checked.files.agent_files or new in groups:
        raise RenameRefused(f"{new} is there already")
    edits = [_edit(one, new) for one in references(view, named)]
    file = next((one for one in view.documents if one == f"agents/{named.name}.yaml"), None)
    return Renaming(edits, (file, f"agents/{new}.yaml") if file is not None else None)


def _signal(view: CrewView, named: Named, new: str) -> Renaming:
    if not new.strip() or new != new.strip() or "\n" in new or '"' in new or "\\" in new:
        raise RenameRefused(f"{new!r} is no signal")
    has_brackets = named.name.startswith("[") and named.name.endswith("]")
    if has_brackets != (new.startswith("[") and new.endswith("]")):
        raise RenameRefused("a signal in brackets stays in brackets, and one without them without")
    for file, document in view.documents.items():
        for place in signal_places(document, file, new):
            where = f"{file}:{place.line}"
            raise RenameRefused(f"{where} says {new} already, and would mean this one then")
    edits = []
    for one in references(view, named):
        edit = _edit(one, new)
        document = view.documents[one.file]
        line = document.text.splitlines()[one.line - 1]
        before = line[one.column - 2 : one.column - 1]
        if one.is_made and before not in ("'", '"') and QUOTED.search(new):
            edit = _edit(one, f'"{new}"')
        edits.append(edit)
    return Renaming(edits)


def _edit(one: Named, new: str) -> TextEdit:
    return TextEdit(one.file, one.line, one.column, one.end, new)
