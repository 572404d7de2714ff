"""Rehearsals of a crew that was taken over: played once, they expect what has happened."""

import tempfile
from pathlib import Path
from typing import Any

from crew.config.files.environment import VARIABLE
from crew.rehearsal.playing.player import play_case
from crew.rehearsal.playing.suite import Suite, quiet
from crew.rehearsal.suggesting.cases import expected_of_play
from server.cli.starting.starter import REHEARSALS, Files
from tools.text.yaml_text import to_yaml

FILE = "tests/imported.yaml"
# of a variable
VALUE = "of-rehearsals-0"


def imported_rehearsals(files: Files, entry: str, query: str) -> Files:
    """Return two rehearsals of a crew, in a file; none where it cannot be played yet.

    Args:
        files: of the crew.
        entry: who speaks first.
        query: the words of its run.
    """
    ends = {"end": "terminal"}
    refused = {"says": {entry: [{"fail": "refused"}]}}
    cases: list[dict[str, Any]] = [
        {"name": "as script.yaml says", "query": query, "expect": ends},
        {"name": "its model refuses", "query": query, **refused, "expect": ends},
    ]
    found = (one for text in files.values() for one in VARIABLE.finditer(text))
    names = sorted({one[1] for one in found if one[2] is None})
    # rehearsals have no variables but theirs
    data: dict[str, Any] = {"defaults": {"env": dict.fromkeys(names, VALUE)}} if names else {}
    data["rehearsals"] = cases
    with tempfile.TemporaryDirectory(prefix="crew-") as made:
        folder = Path(made)
        for name, text in files.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(text, encoding="utf-8")
        suite = _suite(folder, data)
        if suite.problems:
            # what the crew lacks, such as a variable, is said by crew validate
            return {}
        for case, raw in zip(suite.cases, cases, strict=True):
            with quiet():
                raw["expect"] = expected_of_play(play_case(case, suite.crew_of(case)))
        again = _suite(folder, data)
        if any(one.status != "passed" for one in again.play_all(again.cases)):
            return {}
    return {FILE: REHEARSALS + to_yaml(data)}


def _suite(folder: Path, data: dict[str, Any]) -> Suite:
    path = folder / FILE
    path.parent.mkdir(exist_ok=True)
    path.write_text(to_yaml(data), encoding="utf-8")
    return Suite.read(folder)
