"""A crew's folder with texts that are not saved, and what a check finds in it."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
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


@dataclass(frozen=True, slots=True)
class CrewView:
    """The files of a crew as an editor has them, and what is wrong with them."""

    folder: Path
    sources: Sources
    checked: Checked
    # as far as they can be read
    rehearsals: Rehearsals = field(default_factory=Rehearsals)

    @property
    def documents(self) -> dict[str, Document]:
        """The YAML files that were read, by their names."""
        files = self.checked.files
        found = [*files.documents.values(), *files.agent_files.values()]
        found += self.rehearsals.documents.values()
        return {one.file: one for one in found if one.text}

    @property
    def problems(self) -> tuple[Problem, ...]:
        """All of them, ordered by place."""
        return tuple(in_order([*self.checked.problems, *self.rehearsals.problems]))


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
    rehearsed = {name: text for name, text in unsaved.items() if _is_rehearsed(name)}
    return _with_rehearsals(view_sources(drafted(sources, wanted, ())), rehearsed)


def view_changed(view: CrewView, changed: Mapping[str, str], gone: Collection[str]) -> CrewView:
    """Check the files of a crew with some changed, new, or gone."""
    texts = {name: text.encode() for name, text in changed.items() if not _is_rehearsed(name)}
    then = view_sources(drafted(view.sources, texts, gone))
    known = view.rehearsals.texts
    unsaved = known | {name: text for name, text in changed.items() if name in known}
    return _with_rehearsals(then, unsaved) if known else then


def _is_rehearsed(name: str) -> bool:
    return name.startswith(REHEARSALS) and name.endswith(ENDINGS)


def _with_rehearsals(view: CrewView, unsaved: Mapping[str, str]) -> CrewView:
    """Return a crew with its rehearsals; what they name is checked where it has no error itself."""
    found = read_rehearsals(view.folder, unsaved)
    if not has_failed(view.checked.problems):
        checks = CaseChecks.of(view.checked)
        cases = [one for one in found.cases if not one.keys.set]
        problems = dict.fromkeys(wrong for one in cases for wrong in checks.check(one))
        # the tools of a server that is not pinned are not known without it
        is_known = _has_all_tools(view)
        found.problems += (one for one in problems if is_known or one.code != "unknown-tool")
    return replace(view, rehearsals=found)


def _has_all_tools(view: CrewView) -> bool:
    tools = view.checked.tools
    servers = [name for name, one in view.checked.files.tools.items() if one.kind == "mcp"]
    return all(name in tools.sets for name in servers)


def view_sources(sources: Sources) -> CrewView:
    """Check files as they would be; nothing of their folder is run."""
    checked = Recipe(secrets=Secrets()).check(sources, imports=False)
    return CrewView(sources.folder, sources, checked)
