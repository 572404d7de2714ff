"""A name that becomes another one in all files at once; pure."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from crew.config.files.sources import ENDINGS
from crew.journal.query import ID
from server.authoring.features import TextEdit, references
from server.authoring.folders import CrewView, view_changed
from server.authoring.names import Named, signal_places
from server.authoring.places import QUOTED

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
    made = _agent(view, named, new) if named.kind == "agent" else _signal(view, named, new)
    _require_right(view, made)
    return made


def texts_after(view: CrewView, made: Renaming) -> dict[str, str]:
    """Return the texts of the files that change, by the names that they have then."""
    old, moved = made.moved if made.moved is not None else ("", "")
    changed = {}
    for file in {one.file for one in made.edits}:
        lines = view.documents[file].text.splitlines(keepends=True)
        edits = [one for one in made.edits if one.file == file]
        for edit in sorted(edits, key=lambda one: (one.line, one.column), reverse=True):
            line = lines[edit.line - 1]
            lines[edit.line - 1] = line[: edit.column - 1] + edit.text + line[edit.end - 1 :]
        changed[moved if file == old else file] = "".join(lines)
    return changed


def _require_right(view: CrewView, made: Renaming) -> None:
    """Raise RenameRefused where the files would have an error that they do not have now."""
    old, moved = made.moved if made.moved is not None else ("", "")
    changed = texts_after(view, made)
    errors = [one for one in view.problems if one.severity == "error"]
    known = {(one.code, moved if one.file == old else one.file) for one in errors}
    after = view_changed(view, changed, {old} if old else ())
    for one in after.problems:
        if one.severity == "error" and (one.code, one.file) not in known:
            raise RenameRefused(f"then {one.file}:{one.line} says: {one.message}")


def _agent(view: CrewView, named: Named, new: str) -> Renaming:
    if re.fullmatch(ID, new) is None:
        raise RenameRefused(f"{new!r} is no id of an agent: letters, digits, dashes, underscores")
    crew = view.checked.files.crew
    groups = crew.routing.parallel_groups if crew is not None else {}
    if new in view.checked.files.agent_files or new in groups:
        raise RenameRefused(f"{new} is there already")
    for file, document in view.rehearsals.documents.items():
        for path in document.keys:
            if str(path[-1]).startswith(f"agents.{named.name}."):
                where = f"{file}:{document.key_at(path)[0]}"
                raise RenameRefused(f"{where} changes {path[-1]}: name it there first")
    edits = [_edit(one, new) for one in references(view, named)]
    for ending in ENDINGS:
        file, then = f"agents/{named.name}{ending}", f"agents/{new}{ending}"
        if file in view.documents:
            if any(f"agents/{new}{one}" in view.sources.files for one in ENDINGS):
                raise RenameRefused(f"{then} is there already")
            return Renaming(edits, (file, then))
    return Renaming(edits)


def _signal(view: CrewView, named: Named, new: str) -> Renaming:
    if not new.strip() or new != new.strip() or "\n" in new or '"' in new or "\\" in new:
        raise RenameRefused(f"{new!r} is no signal")
    inner = new[1:-1] if new.startswith("[") and new.endswith("]") else new
    if not inner.strip() or set("[]") & set(inner) or not new.isprintable():
        raise RenameRefused(f"{new!r} is no signal")
    has_brackets = named.name.startswith("[") and named.name.endswith("]")
    if has_brackets != (new.startswith("[") and new.endswith("]")):
        raise RenameRefused("a signal in brackets stays in brackets, and one without them without")
    for file, document in view.documents.items():
        for place in signal_places(document, file, new):
            where = f"{file}:{place.line}"
            raise RenameRefused(f"{where} says {new} already, and would mean this one then")
    edits = []
    lines = {file: document.text.splitlines() for file, document in view.documents.items()}
    for one in references(view, named):
        edit = _edit(one, new)
        line = lines[one.file][one.line - 1]
        before = line[one.column - 2 : one.column - 1]
        if one.is_made and before not in ("'", '"') and QUOTED.search(new):
            edit = _edit(one, f'"{new}"')
        edits.append(edit)
    return Renaming(edits)


def _edit(one: Named, new: str) -> TextEdit:
    return TextEdit(one.file, one.line, one.column, one.end, new)
