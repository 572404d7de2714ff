"""The problems of crews as SARIF 2.1.0, which code hosts and editors show beside the lines.

Source: https://docs.oasis-open.org/sarif/sarif/v2.1.0/sarif-v2.1.0.html
"""

import os
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any
from urllib.parse import quote

from crew.config.problems import Problem
from server.cli.explain import Explanation, explanations


def as_sarif(found: Sequence[tuple[Path, Sequence[Problem]]]) -> dict[str, Any]:
    """One run with the results of all crews.

    Addresses are relative to the current folder where the crews' are.
    """
    explained = explanations()
    codes = sorted({problem.code for _, problems in found for problem in problems})
    driver = {
        "name": "crewline",
        "version": version("crewline"),
        "rules": [_rule(explained[code]) for code in codes],
    }
    results = [
        _result(folder, problem, codes.index(problem.code))
        for folder, problems in found
        for problem in problems
    ]
    return {
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [
            {"tool": {"driver": driver}, "columnKind": "unicodeCodePoints", "results": results}
        ],
    }


def _rule(explanation: Explanation) -> dict[str, Any]:
    return {
        "id": explanation.code,
        "shortDescription": {"text": explanation.means},
        "help": {"text": explanation.remedy},
        "defaultConfiguration": {"level": explanation.severity},
    }


def _result(folder: Path, problem: Problem, rule: int) -> dict[str, Any]:
    meant = f" Did you mean {problem.suggestion!r}?" if problem.suggestion else ""
    uri = (
        folder.resolve().as_uri() + "/"
        if folder.is_absolute()
        else quote("" if folder == Path() else f"{folder.as_posix()}/")
    )
    place = {
        "artifactLocation": {"uri": uri + quote(os.fsencode(problem.file))},
        "region": {"startLine": problem.line, "startColumn": problem.column},
    }
    return {
        "ruleId": problem.code,
        "ruleIndex": rule,
        "level": problem.severity,
        "message": {"text": problem.message + meant},
        "locations": [{"physicalLocation": place}],
    }
