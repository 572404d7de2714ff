"""What the repository ships: schemas, crews and pages agree with the code, and every example runs."""

import json
import re
import subprocess
from functools import cache
from pathlib import Path

import pytest
from jsonschema_rs import Validator, validator_for

from crew import check
from crew.config.explanations import explanations
from crew.config.files.yaml_reader import read
from crew.config.problems import ERRORS, WARNINGS
from server.authoring.schemas import KINDS, schema_of
from server.cli.explain import find_example, render_page
from tests.support.crews import ROOT
from tests.support.processes import BIN, PROCESS_SECONDS, clean_environment
from tests.test_code import MODULES, name_of
from tools.schemas.yaml_shape import resolve

FOLDERS = ("examples", "configs", "server/cli/starting/starters")
CREWS = sorted(path.parent for folder in FOLDERS for path in (ROOT / folder).rglob("crew.yaml"))


def kind_of(path: Path) -> str:
    return "agent" if path.parent.name == "agents" else path.stem


def yaml_files() -> list[Path]:
    found = (path for folder in FOLDERS for path in (ROOT / folder).rglob("*.y*ml"))
    return sorted(path for path in found if ".crew" not in path.parts and kind_of(path) in KINDS)


@pytest.mark.parametrize("kind", KINDS)
def test_schemas_are_in_step(kind: str):
    """`make docs` writes them; every key has its words."""
    schema = schema_of(kind)
    written = json.loads((ROOT / "configs" / "schemas" / f"{kind}.json").read_text())
    assert written == json.loads(json.dumps(schema))
    for shape in (schema, *schema.get("$defs", {}).values()):
        for key, field in shape.get("properties", {}).items():
            assert field.get("description"), key
            assert field.get("deprecated") or "examples" in field, key


@cache
def validator_of(kind: str) -> Validator:
    """Compiled once for all files of a kind."""
    return validator_for(schema_of(kind))


@pytest.mark.parametrize("path", yaml_files(), ids=name_of)
def test_every_yaml_fits_its_schema(path: Path):
    """So that an editor with the schema agrees with us."""
    data = resolve(read(path.name, path.read_bytes()).data)
    errors = validator_of(kind_of(path)).iter_errors(data)
    assert [error.message for error in errors] == []


@pytest.mark.parametrize("folder", CREWS, ids=name_of)
def test_every_crew_of_the_repository_is_good(folder: Path):
    """Without a warning."""
    assert check(folder).problems == ()


def example_commands() -> list[str]:
    return re.findall(r"\| `(crew run [^`]+)` \|", (ROOT / "examples" / "README.md").read_text())


@pytest.mark.parametrize("command", example_commands())
def test_every_example_runs(command: str):
    """As its row says: to its end, or to its pause."""
    words = re.findall(r'"[^"]*"|\S+', command)
    ended = subprocess.run(
        [BIN / "crew", *(word.strip('"') for word in words[1:])],
        cwd=ROOT,
        capture_output=True,
        text=True,
        env=clean_environment(CREW_DATABASE_URL="memory:"),
        timeout=PROCESS_SECONDS,
        stdin=subprocess.DEVNULL,
    )
    mark = {0: "✔", 3: "⏸"}.get(ended.returncode)
    assert mark is not None, ended.stderr
    assert mark in ended.stdout


def test_every_example_has_its_row():
    """One line each."""
    rows = (ROOT / "examples" / "README.md").read_text()
    for folder in (ROOT / "examples").iterdir():
        if folder.is_dir():
            assert f"[{folder.name}]({folder.name})" in rows


@pytest.mark.parametrize("code", explanations())
def test_every_code_has_an_example_that_shows_it(code: str):
    """What is printed has its place and its severity."""
    explanation = explanations()[code]
    found, shown = find_example(explanation)
    assert found or explanation.said
    assert f"{explanation.severity}[{code}]: " in shown


def test_the_page_of_all_codes_is_in_step():
    """`make docs` writes it; every code that the program can report is on it."""
    assert (ROOT / "configs" / "problems.md").read_text() == render_page() + "\n"
    assert set(explanations()) == ERRORS | WARNINGS
    code = "\n".join(path.read_text() for path in MODULES if path.name != "problems.py")
    for one in ERRORS | WARNINGS:
        assert f'"{one}"' in code, one
