"""Which rehearsals of a crew are played."""

import json
import random
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from crew.config.problems import has_failed
from crew.rehearsal.differences.touched import Touched
from crew.rehearsal.files.bound import Case
from crew.rehearsal.playing.loaded import CrewLoader
from crew.rehearsal.playing.suite import Result, Suite
from server.cli.rehearsed.expressions import parse
from server.cli.replayed.versions import opened_version
from tools.text.suggest import nearest

# in the crew's own folder, which no version control has
FAILED = Path(".crew") / "failed.json"


class NothingChosen(ValueError):
    """A name is of no rehearsal."""


@dataclass(frozen=True, slots=True)
class Choice:
    """What the command line says of it."""

    # FILE, FILE::NAME or NAME
    names: Sequence[str] = ()
    expression: str = ""
    only_failed: bool = False
    # of the order; None: as they are written
    seed: int | None = None
    # a folder or a git reference: only those that may meet what differs from it
    changed: str = ""

    def of(self, suite: Suite, folder: Path) -> list[Case]:
        """Return the rehearsals that are played.

        Raises:
            NothingChosen, WrongExpression, UnknownVersion
        """
        cases = suite.cases
        found = list(cases)
        if self.names:
            wanted: dict[str, Case] = {}
            for name in self.names:
                wanted |= {one.id: one for one in _named(name, cases, folder)}
            found = [one for one in cases if one.id in wanted]
        if self.expression:
            test = parse(self.expression)
            found = [one for one in found if test(one.id.lower(), one.keys.tags)]
        if self.only_failed:
            failed = _failed(folder)
            found = [one for one in found if one.id in failed]
        if self.changed and found:
            found = _meeting(found, suite, folder, self.changed)
        if self.seed is not None:
            random.Random(self.seed).shuffle(found)  # the same for the same seed
        return found


def _meeting(cases: Sequence[Case], suite: Suite, folder: Path, version: str) -> list[Case]:
    """Return those that may meet what differs from a version, or that differ themselves."""
    now = suite.crew_of(cases[0])
    with opened_version(version, folder) as sources:
        loader = CrewLoader(replace(sources, changes=now.sources.changes))
        then = loader.load(cases[0].keys.env, {}).checked
        if has_failed(then.problems):
            # nothing is known of it
            return list(cases)
        touched = Touched.of(then, now.checked)
        other = {one.file for one in cases if _differs(folder, sources.folder, one.file)}
    return [one for one in cases if one.file in other or touched.meets(one, now.checked)]


def _differs(one: Path, other: Path, name: str) -> bool:
    try:
        return (one / name).read_bytes() != (other / name).read_bytes()
    except OSError:
        return True


def _named(name: str, cases: Sequence[Case], folder: Path) -> list[Case]:
    """Return the rehearsals of a file, of a name in it, or of a name in any file."""
    file, _, rest = name.partition("::")
    # as a shell completes it, from where it is
    inner = Path(file)
    with suppress(ValueError):
        inner = inner.resolve().relative_to(folder.resolve())
    files = {file, inner.as_posix()}
    found = [
        one
        for one in cases
        if (one.file in files and (not rest or _is_called(one, rest)))
        or (not rest and (one.id == name or one.keys.name == name))
    ]
    if not found:
        near = nearest(name, [*(one.id for one in cases), *(one.file for one in cases)])
        hint = f"; did you mean {near!r}?" if near else ""
        raise NothingChosen(f"there is no rehearsal {name!r}{hint}")
    return found


def _is_called(case: Case, name: str) -> bool:
    return name == case.keys.name or case.id == f"{case.file}::{name}"


def _failed(folder: Path) -> set[str]:
    try:
        return set(json.loads((folder / FAILED).read_text()))
    except (OSError, ValueError):
        return set()


def keep_failed(folder: Path, results: Sequence[Result]) -> None:
    """Note which have failed, beside what has failed before and was not played now."""
    failed = {one.id for one in results if one.status in ("failed", "error")}
    played = {one.id for one in results}
    failed |= _failed(folder) - played
    path = folder / FAILED
    if not failed and not path.exists():
        return
    # a folder that cannot be written is tested all the same
    with suppress(OSError):
        path.parent.mkdir(mode=0o700, exist_ok=True)
        path.write_text(json.dumps(sorted(failed)))
