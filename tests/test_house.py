"""The house rules: first sentences, exports, schemas in step, every YAML valid, every example plays, README true."""

import ast
import importlib
import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from jsonschema_rs import validator_for

from crew import check
from crew.config.problems import ERRORS, WARNINGS
from crew.config.yaml_reader import read
from server.cli.explain import explanations, page
from server.cli.json_schema import KINDS, schema_of
from tests.stage import BIN, ROOT, clean_environment
from tools.config import resolve

FLOORS = ("tools", "agents", "crew", "server")
MODULES = [path for floor in FLOORS for path in sorted((ROOT / floor).rglob("*.py"))]
CREWS = sorted(
    path.parent
    for folder in ("examples", "server/starters")
    for path in (ROOT / folder).rglob("crew.yaml")
)
README = (ROOT / "README.md").read_text()


def name_of(path: Path) -> str:
    return str(path.relative_to(ROOT))


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_every_room_says_what_it_is_for(path: Path):
    """One sentence at the top, in at most a few hundred lines, with no import hidden in a function."""
    text = path.read_text()
    tree = ast.parse(text)
    assert (ast.get_docstring(tree) or "").strip()
    assert len(text.splitlines()) <= 320
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            assert not any(
                isinstance(inner, ast.Import | ast.ImportFrom) for inner in ast.walk(node)
            ), node.name
    assert "TYPE_CHECKING" not in text


@pytest.mark.parametrize("floor", FLOORS)
def test_each_floor_is_a_map(floor: str):
    """Its docstring names every room; what it exports is there."""
    package = importlib.import_module(floor)
    rooms = [
        path.stem if path.is_file() else path.name
        for path in (ROOT / floor).iterdir()
        if path.suffix == ".py" or (path / "__init__.py").exists()
    ]
    for room in rooms:
        assert room == "__init__" or f"`{room}`" in (package.__doc__ or ""), room
    for exported in getattr(package, "__all__", ()):
        assert hasattr(package, exported)


def test_the_test_folders_are_packages():
    """Or tests/agents would hide agents."""
    for folder in {path.parent for path in (ROOT / "tests").rglob("test_*.py")}:
        assert (folder / "__init__.py").exists(), folder


@pytest.mark.parametrize("kind", KINDS)
def test_schemas_are_in_step(kind: str):
    """`make docs` writes them; every key has its words."""
    made = schema_of(kind)
    assert json.loads((ROOT / "configs" / "schemas" / f"{kind}.json").read_text()) == json.loads(
        json.dumps(made)
    )
    for shape in (made, *made.get("$defs", {}).values()):
        for key, field in shape.get("properties", {}).items():
            assert field.get("description"), key
            assert field.get("deprecated") or "examples" in field, key


def yaml_files() -> list[Path]:
    found = (
        path
        for folder in ("examples", "configs", "server/starters")
        for path in (ROOT / folder).rglob("*.y*ml")
    )
    return sorted(path for path in found if ".crew" not in path.parts and kind_of(path) in KINDS)


def kind_of(path: Path) -> str:
    return "agent" if path.parent.name == "agents" else path.stem


@pytest.mark.parametrize("path", yaml_files(), ids=name_of)
def test_every_yaml_fits_its_schema(path: Path):
    """So that an editor with the schema agrees with us."""
    data = resolve(read(path.name, path.read_bytes()).data)
    assert [
        error.message for error in validator_for(schema_of(kind_of(path))).iter_errors(data)
    ] == []


@pytest.mark.parametrize("folder", CREWS, ids=name_of)
def test_every_crew_of_the_repository_is_good(folder: Path):
    """Without a warning."""
    assert check(folder).problems == ()


def example_commands() -> list[str]:
    return re.findall(r"\| `(crew run [^`]+)` \|", (ROOT / "examples" / "README.md").read_text())


@pytest.mark.parametrize("command", example_commands())
def test_every_example_plays(command: str):
    """As its row says."""
    words = re.findall(r'"[^"]*"|\S+', command)
    ended = subprocess.run(
        [BIN / "crew", *(w.strip('"') for w in words[1:])],
        cwd=ROOT,
        capture_output=True,
        text=True,
        env=clean_environment(CREW_DATABASE_URL="memory:"),
        timeout=60,
        stdin=subprocess.DEVNULL,
    )
    assert ended.returncode == 0, ended.stderr
    assert "✔" in ended.stdout or "⏸" in ended.stdout


def test_every_example_has_its_row():
    """One line each."""
    rows = (ROOT / "examples" / "README.md").read_text()
    for folder in (ROOT / "examples").iterdir():
        if folder.is_dir():
            assert f"[{folder.name}]({folder.name})" in rows


def snippets(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", README, re.DOTALL)


def test_the_readme_plays(tmp_path: Path):
    """Its crew is good, its Python runs, its commands exist."""
    crew = tmp_path / "crew"
    (crew / "agents").mkdir(parents=True)
    for snippet in snippets("yaml"):
        if found := re.match(r"# (\S+\.yaml)\n", snippet):
            (crew / found[1]).write_text(snippet)
    (crew / "services.py").write_text(
        "def restart(service: str) -> str:\n    'Restart a service.'\n    return service\n"
    )
    assert check(crew).problems == ()
    shutil.copytree(
        ROOT / "examples", tmp_path / "examples", ignore=shutil.ignore_patterns(".crew")
    )
    for number, snippet in enumerate(snippets("python")):
        file = tmp_path / f"snippet{number}.py"
        file.write_text(snippet)
        ended = subprocess.run(
            [BIN / "python", file],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            env=clean_environment(),
            timeout=60,
        )
        assert ended.returncode == 0, ended.stderr
    known = subprocess.run(
        [BIN / "crew", "--help"], capture_output=True, text=True, check=True
    ).stdout
    for command in re.findall(r"^\s*(?:\$ )?crew (\w+)", "\n".join(snippets("sh")), re.MULTILINE):
        assert command in known


def test_the_readme_names_every_setting():
    """Environment variables, and the page of all codes."""
    code = "\n".join(path.read_text() for path in MODULES)
    for variable in re.findall(r'"(CREW_[A-Z_]+)":', code):
        assert f"`{variable}`" in README, variable
    assert "configs/problems.md" in README


@pytest.mark.parametrize("code", explanations())
def test_every_code_has_an_example_that_shows_it(code: str):
    """What is said of it has its place and its severity."""
    explained = explanations()[code]
    found, shown = explained.shown()
    assert found
    assert f"{explained.severity}[{code}]: " in shown


def test_the_page_of_all_codes_is_in_step():
    """`make docs` writes it; every code that the program can say is on it."""
    assert (ROOT / "configs" / "problems.md").read_text() == page() + "\n"
    assert set(explanations()) == ERRORS | WARNINGS
    code = "\n".join(path.read_text() for path in MODULES if path.name != "problems.py")
    for said in ERRORS | WARNINGS:
        assert f'"{said}"' in code, said


def test_metrics_are_called_what_they_are():
    """The README names each one, and the alert rules speak of no other."""
    source = (ROOT / "server" / "metrics.py").read_text()
    counters = {f"{name}_total" for name in re.findall(r'counter\(\s*"(crew_[a-z_]+)"', source)}
    others = set(re.findall(r'(?:Gauge|histogram)\(\s*"(crew_[a-z_]+)"', source))
    assert counters
    assert others
    for name in counters | others:
        assert f"`{name}`" in README, name
    rules = (ROOT / "configs" / "alerts.yml").read_text()
    assert set(re.findall(r"\bcrew_[a-z_]+", rules)) <= counters | others
