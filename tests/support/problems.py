"""Crews written as texts, and the problems found in them."""

from collections.abc import Iterable
from pathlib import Path

from crew import check
from crew.config.problems import Problem

AGENT = "id: a\nname: A\nrole: r\nprovider: scripted\nsystem_prompt: You are a.\n"


CREW = "agents: [a]\n"


def problems(folder: Path, **files: str) -> list[Problem]:
    """The problems of a crew of these files (dots stand for slashes: agents.a is agents/a.yaml)."""
    for name, text in (
        {"crew": CREW, "agents.a": AGENT, "script": "rules: [{say: x}]\n"} | files
    ).items():
        path = folder / f"{name.replace('.', '/')}.yaml"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return list(check(folder, environment={"SET": "value"}).problems)


def places(found: Iterable[Problem]) -> list[str]:
    return [
        f"{p.file}:{p.line}:{p.column} {p.severity[0]} {p.code}"
        + (f" ({p.suggestion})" if p.suggestion else "")
        for p in found
    ]
