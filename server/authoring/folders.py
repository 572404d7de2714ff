"""A crew's folder with texts that are not saved, and what a check finds in it."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from crew.assembly.checked import Checked
from crew.assembly.recipe import Recipe
from crew.config.files.document import Document
from crew.config.files.sources import CREW_FILE, ENDINGS, Sources, drafted, read_sources
from crew.config.problems import REHEARSALS, Problem, has_failed, in_order
from crew.rehearsal.files.bound import Rehearsals, read_rehearsals
from crew.rehearsal.files.checks import CaseChecks
from tools.text.secrets import Secrets

# above a file, so many folders are looked at
MAX_ABOVE = 8


@dataclass(frozen=True)
class CrewView:
    """The files of a crew as an editor has them, and what is wrong with them.

    Rehearsals may be hundreds: they are read when they are first needed.
    """

    folder: Path
    sources: Sources
    checked: Checked
    # texts of rehearsals by name, in place of their files' own; None: there are no rehearsals
    rehearsed: Mapping[str, str] | None = None

    @cached_property
    def own_documents(self) -> dict[str, Document]:
        """The YAML files that the crew is made of, by their names."""
        files = self.checked.files
        found = [*files.documents.values(), *files.agent_files.values()]
        return {one.file: one for one in found if one.text}

    @cached_property
    def documents(self) -> dict[str, Document]:
        """These, and the files of the rehearsals."""
        found = {name: one for name, one in self.rehearsals.documents.items() if one.text}
        return self.own_documents | found

    @cached_property
    def rehearsals(self) -> Rehearsals:
        """Those without mistakes; what they name is checked where the crew has no error."""
        if self.rehearsed is None:
            return Rehearsals()
        found = read_rehearsals(self.folder, self.rehearsed)
        if not has_failed(self.checked.problems):
            checks = CaseChecks.of(self.checked)
            cases = [one for one in found.cases if not one.keys.set]
            problems = dict.fromkeys(wrong for one in cases for wrong in checks.check(one))
            problems |= dict.fromkeys(checks.check_invariants(found))
            # the tools of a server that is not pinned are not known without it
            is_known = self._has_all_tools
            found.problems += (one for one in problems if is_known or one.code != "unknown-tool")
        return found

    @cached_property
    def problems(self) -> tuple[Problem, ...]:
        """All of them, ordered by place."""
        return tuple(in_order([*self.checked.problems, *self.rehearsals.problems]))

    def document(self, file: str) -> Document | None:
        """Return one of the YAML files."""
        return self.documents.get(file) if is_rehearsed(file) else self.own_documents.get(file)

    def problems_of(self, file: str) -> list[Problem]:
        """Return what is wrong in a file."""
        found = self.problems if is_rehearsed(file) else self.checked.problems
        return [one for one in found if one.file == file]

    @property
    def _has_all_tools(self) -> bool:
        servers = [name for name, one in self.checked.files.tools.items() if one.kind == "mcp"]
        return all(name in self.checked.tools.sets for name in servers)


def crew_folder(path: Path) -> Path | None:
    """Return the folder of the crew that a file belongs to; None: it is of none."""
    for folder in [path.parent, *path.parent.parents][:MAX_ABOVE]:
        if any((folder / f"{Path(CREW_FILE).stem}{ending}").is_file() for ending in ENDINGS):
            return folder
    return None


def view_crew(folder: Path, unsaved: Mapping[str, str]) -> CrewView:
    """Check a crew; nothing of the folder is run, and nothing outside of it is read.

    Args:
        folder: the crew's.
        unsaved: texts of files that an editor has open, by their names in the folder.
    """
    sources = read_sources(folder)
    wanted = {
        name: text.encode(errors="surrogatepass")
        for name, text in unsaved.items()
        if name in sources.files or name.startswith("agents/") or "/" not in name
    }
    rehearsed = {name: text for name, text in unsaved.items() if is_rehearsed(name)}
    return replace(view_sources(drafted(sources, wanted, ())), rehearsed=rehearsed)


def view_changed(view: CrewView, changed: Mapping[str, str], gone: Collection[str]) -> CrewView:
    """Check the files of a crew with some changed, new, or gone."""
    texts = {name: text.encode() for name, text in changed.items() if not is_rehearsed(name)}
    then = view_sources(drafted(view.sources, texts, gone))
    if view.rehearsed is None:
        return then
    more = {name: text for name, text in changed.items() if is_rehearsed(name)}
    return replace(then, rehearsed={**view.rehearsed, **more})


def is_rehearsed(name: str) -> bool:
    """Return whether a file has rehearsals."""
    return name.startswith(REHEARSALS) and name.endswith(ENDINGS)


def view_sources(sources: Sources) -> CrewView:
    """Check files as they would be; nothing of their folder is run."""
    checked = Recipe(secrets=Secrets()).check(sources, imports=False)
    return CrewView(sources.folder, sources, checked)
