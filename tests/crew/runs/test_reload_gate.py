"""Files that change while a reload checks them: what is adopted is what has passed."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from crew import MemoryStore, Runs, load_crew
from crew.config.errors import ConfigurationError
from crew.config.files.sources import read_sources
from crew.config.problems import Problem
from crew.crew import Crew
from crew.runs.upkeep.reload import Reloader
from tests.support.crews import write_crew


class Listener:
    """Takes what it is given."""

    def adopt(self, crew: Crew) -> None:
        """See ReloadListener."""

    def fail_reload(self) -> None:
        """See ReloadListener."""


class EditingGate:
    """Looks at the folder; meanwhile its files are changed, so many times."""

    def __init__(self, times: int) -> None:
        self.left, self.seen = times, [""]

    async def refusals(self, crew: Crew) -> Sequence[Problem]:
        """See Gate."""
        folder = crew.sources.folder
        if self.left:
            self.left -= 1
            edit(folder, f"While it was checked, {self.left}.")
        self.seen.append(read_sources(folder).revision)
        return ()


def edit(folder: Path, description: str) -> None:
    """Change a crew, gate and all."""
    gate = "reload_gate: {rehearsals: true}"
    text = f"agents: [a]\n{gate}\ndescription: {description}\n"
    (folder / "crew.yaml").write_text(text)


@pytest.mark.parametrize("times", [0, 1, 2])
async def test_what_is_adopted_has_passed(tmp_path: Path, times: int):
    folder = write_crew(tmp_path, {"a": {"is_terminal": True}}, [{"say": "x"}])
    gate = EditingGate(times)
    async with Runs(load_crew(folder), MemoryStore()) as runs:
        reloader = Reloader(runs, Listener(), gate)
        edit(folder, "New.")
        assert await reloader.reload("test")
        assert runs.crew.revision == gate.seen[-1] == read_sources(folder).revision
        assert len(gate.seen) == 1 + 1 + times


async def test_files_that_never_rest_are_refused(tmp_path: Path):
    folder = write_crew(tmp_path, {"a": {"is_terminal": True}}, [{"say": "x"}])
    async with Runs(load_crew(folder), MemoryStore()) as runs:
        served = runs.crew.revision
        reloader = Reloader(runs, Listener(), EditingGate(9))
        edit(folder, "New.")
        with pytest.raises(ConfigurationError) as caught:
            await reloader.reload("test")
        assert "changed while they were checked" in caught.value.problems[0].message
        assert runs.crew.revision == served
        assert await reloader.reload("test", force=True)
