"""What `crew explain` prints: a code with its example and what is said of it."""

import importlib
import tempfile
from pathlib import Path

from crew.assembly.recipe import Recipe
from crew.config.explanations import Explanation, explanations, write_example
from crew.config.files.sources import read_sources
from crew.config.problems import REHEARSALS, Problem
from crew.config.report import render_problem

HEAD = """# What `crew validate` and `crew test` say

Every code, with an example and what is said of it. `crew explain CODE` shows one. A warning is
allowed in place by a comment on its line or above it: `# crew: allow <code>`, with a reason after a
colon if you like. Written by `make docs`."""


def find_example(explanation: Explanation) -> tuple[list[Problem], str]:
    """Find the problems of a code in its example, and how they are written."""
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made) / "crew"
        write_example(folder, explanation)
        checked = Recipe(environment={}).check(read_sources(folder))
        if explanation.said:
            return [], explanation.said.rstrip()
        problems, texts = [*checked.problems], checked.files.texts
        if any(name.startswith(REHEARSALS) for name in explanation.example):
            # a large part of the program, which other codes need not wait for
            suite = importlib.import_module("crew.rehearsal.playing.suite").Suite.read(folder)
            problems, texts = [*suite.problems], suite.texts
        found = [one for one in problems if one.code == explanation.code]
        text = "\n".join(render_problem(one, texts) for one in found)
        return found, text.replace(f"{folder}", "my-crew")


def render_explanation(explanation: Explanation) -> str:
    """Render a section of the page, as Markdown."""
    severity, means, remedy = explanation.severity, explanation.means, explanation.remedy
    parts = [f"## {explanation.code}", f"*{severity}*: {means} {remedy}"]
    for name, text in explanation.texts.items():
        language = "python" if name.endswith(".py") else "yaml"
        parts.append(f"`{name}`:\n\n```{language}\n{text.rstrip()}\n```")
    parts.append(f"```text\n{find_example(explanation)[1]}\n```")
    return "\n\n".join(parts)


def render_page() -> str:
    """Render the page of all codes, as Markdown."""
    return "\n\n".join([HEAD, *(render_explanation(one) for one in explanations().values())])
