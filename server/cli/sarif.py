"""The problems of crews as SARIF 2.1.0, which code hosts and editors show beside the lines.

Source: https://docs.oasis-open.org/sarif/sarif/v2.1.0/sarif-v2.1.0.html
"""

import os
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any
from urllib.parse import quote

from crew.config.explanations import Explanation, explanations
from crew.config.problems import Problem, RelatedPlace


def sarif_document(found: Sequence[tuple[Path, Sequence[Problem]]]) -> dict[str, Any]:
    """Return one SARIF run with the results of all crews.

    File addresses are relative to the current folder where the crews' folders are.
    """
    explained = explanations()
    codes = sorted({problem.code for _, problems in found for problem in problems})
    results = [
        _result(folder, problem, codes.index(problem.code))
        for folder, problems in found
        for problem in problems
    ]
    rules = [_rule(explained[code]) for code in codes]
    driver = {"name": "crewline", "version": version("crewline"), "rules": rules}
    run = {"tool": {"driver": driver}, "columnKind": "unicodeCodePoints", "results": results}
    schema = "https://json.schemastore.org/sarif-2.1.0.json"
    return {"$schema": schema, "version": "2.1.0", "runs": [run]}


def _rule(explanation: Explanation) -> dict[str, Any]:
    return {
        "id": explanation.code,
        "shortDescription": {"text": explanation.means},
        "help": {"text": explanation.remedy},
        "defaultConfiguration": {"level": explanation.severity},
    }


def _result(folder: Path, problem: Problem, rule: int) -> dict[str, Any]:
    hint = f" Did you mean {problem.suggestion!r}?" if problem.suggestion else ""
    related = [{**_location(folder, one), "message": {"text": one.text}} for one in problem.related]
    return {
        "ruleId": problem.code,
        "ruleIndex": rule,
        "level": problem.severity,
        "message": {"text": problem.message + hint},
        "locations": [_location(folder, problem)],
        **({"relatedLocations": related} if related else {}),
    }


def _location(folder: Path, place: Problem | RelatedPlace) -> dict[str, Any]:
    uri = _folder_address(folder) + quote(os.fsencode(place.file))
    region = {"startLine": place.line, "startColumn": place.column}
    return {"physicalLocation": {"artifactLocation": {"uri": uri}, "region": region}}


def _folder_address(folder: Path) -> str:
    if folder.is_absolute():
        return folder.resolve().as_uri() + "/"
    return "" if folder == Path() else quote(f"{folder.as_posix()}/")
