"""A crew's folder with texts that are not saved, and what a check finds in it."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from crew.assembly.checked import Checked
from crew.assembly.recipe import Recipe
from crew.config.files.document import Document
from crew.config.files.sources import CREW_FILE, ENDINGS, Sources, drafted, read_sources
from crew.config.problems import Problem
from tools.text.secrets import Secrets

# above a file, so many folders are looked at
MAX_ABOVE = 8


@dataclass(frozen=True, slots=True)
class CrewView:
    """The files of a crew as an editor has them, and what is wrong with them."""

    folder: Path
    sources: Sources
    checked: Checked

    @property
    def documents(self) -> dict[str, Document]:
        """The YAML files that were read, by their names."""
        files = self.checked.files
        found = [*files.documents.values(), *files.agent_files.values()]
        return {one.file: one for one in found if one.text}

    @property
    def problems(self) -> tuple[Problem, ...]:
        """All of them, ordered by place."""
        return self.checked.problems


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
    return view_sources(drafted(sources, wanted, ()))


def view_sources(sources: Sources) -> CrewView:
    """Check files as they would be; nothing of their folder is run."""
    checked = Recipe(secrets=Secrets()).check(sources, imports=False)
    return CrewView(sources.folder, sources, checked)
