"""What is found in files that are saved, by commands of ours in processes beside the server."""

import asyncio
import json
import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from crew.config.problems import REHEARSALS, Problem
from server.authoring.folders import CrewView, view_crew
from server.gate import our_process, rehearsed

log = logging.getLogger(__name__)

VALIDATE_SECONDS = 60.0
PLAYED = ("passed", "failed", "error")


@dataclass(frozen=True, slots=True)
class Findings:
    """What was found in a crew as it was last saved."""

    # by agent: how many rehearsals lead to it, and how many of them pass
    played: Mapping[str, int] = field(default_factory=dict)
    passed: Mapping[str, int] = field(default_factory=dict)
    # problems that only show when the files of Python tools are imported
    problems: Sequence[Problem] = ()

    def title(self, agent: str) -> str:
        """Return what is said of an agent; "": nothing."""
        played, passed = self.played.get(agent, 0), self.passed.get(agent, 0)
        if not played:
            return ""
        if passed < played:
            return f"{passed} of {played} rehearsals pass"
        return f"{played} rehearsal{'s pass' if played > 1 else ' passes'}"


NOTHING_FOUND = Findings()


class SavedFiles:
    """Plays rehearsals and imports Python tools after each save, where the editor allows it.

    Both may run what others have written: a rehearsal may call a real tool.
    """

    def __init__(self, changed: Callable[[Path], None]) -> None:
        """`changed` is called with a crew's folder once there are new findings."""
        self.is_allowed = False
        self._changed = changed
        self._found: dict[Path, Findings] = {}
        self._at_work: dict[Path, asyncio.Task[None]] = {}
        # saved once more meanwhile
        self._again: set[Path] = set()

    def findings(self, folder: Path) -> Findings:
        """Return what was found last."""
        return self._found.get(folder, NOTHING_FOUND)

    def look(self, folder: Path) -> None:
        """Look at the files of a crew, which have changed on the disk."""
        if not self.is_allowed:
            return
        if folder in self._at_work:
            self._again.add(folder)
            return
        self._at_work[folder] = asyncio.ensure_future(self._look(folder))

    async def _look(self, folder: Path) -> None:
        try:
            view = await asyncio.to_thread(view_crew, folder, {})
            self._found[folder] = Findings(*await _play(view), await _imported(view))
        except Exception:
            # a mistake of ours must not end the editor's session
            log.exception("what is saved in %s could not be looked at", folder)
        finally:
            del self._at_work[folder]
        self._changed(folder)
        if folder in self._again:
            self._again.discard(folder)
            self.look(folder)


async def _play(view: CrewView) -> tuple[dict[str, int], dict[str, int]]:
    """Return by agent how many rehearsals lead to it, and how many of these pass."""
    played, passed = dict[str, int](), dict[str, int]()
    if not any((view.folder / REHEARSALS).glob("*.y*ml")):
        return played, passed
    try:
        found = await rehearsed(view.folder)
    except TimeoutError:
        return played, passed
    crew = view.checked.files.crew
    groups = crew.routing.parallel_groups if crew is not None else {}
    for line in found.lines:
        if line.get("status") not in PLAYED:
            continue
        path = set(line.get("path", ()))
        path |= {agent for name in path & groups.keys() for agent in groups[name].agents}
        for agent in path:
            played[agent] = played.get(agent, 0) + 1
            passed[agent] = passed.get(agent, 0) + (line["status"] == "passed")
    return played, passed


async def _imported(view: CrewView) -> Sequence[Problem]:
    """Return what `crew validate` finds that a check without imports does not."""
    async with asyncio.timeout(VALIDATE_SECONDS):
        async with our_process(("validate", str(view.folder), "--json")) as process:
            out, _ = await process.communicate()
    known = {(one.file, one.line, one.code) for one in view.problems}
    found = [_problem(one) for one in json.loads(out)["problems"]]
    return [one for one in found if (one.file, one.line, one.code) not in known]


def _problem(one: Mapping[str, Any]) -> Problem:
    place = one["file"], one["line"], one["column"]
    return Problem(*place, one["code"], one["message"], one.get("suggestion"))
