"""The code itself: each module says what it is for, each package maps its modules."""

import ast
import importlib
from pathlib import Path

import pytest

from tests.support.crews import ROOT

PACKAGES = ("tools", "agents", "crew", "server")
MODULES = [path for package in PACKAGES for path in sorted((ROOT / package).rglob("*.py"))]
TESTS = sorted((ROOT / "tests").rglob("*.py"))
MAX_LINES = 350
MAX_FILES = 16


def name_of(path: Path) -> str:
    return str(path.relative_to(ROOT))


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_a_module_says_what_it_is_for(path: Path):
    """With its imports at the top, in not too many lines."""
    text = path.read_text()
    tree = ast.parse(text)
    assert (ast.get_docstring(tree) or "").strip()
    assert len(text.splitlines()) <= MAX_LINES
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            inner = [one for one in ast.walk(node) if isinstance(one, ast.Import | ast.ImportFrom)]
            assert inner == [], node.name
    # a package that imports its names when they are used has to tell their types
    assert "TYPE_CHECKING" not in text or "__getattr__ = lazily(" in text


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_no_conditional_expression_is_nested(path: Path):
    """Nor stands beside `and` or `or`."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.IfExp | ast.BoolOp):
            children = list(ast.iter_child_nodes(node))
            assert not any(isinstance(child, ast.IfExp) for child in children), node.lineno


@pytest.mark.parametrize("path", TESTS, ids=name_of)
def test_a_file_of_tests_is_short(path: Path):
    """One that is longer has two subjects."""
    assert len(path.read_text().splitlines()) <= MAX_LINES


@pytest.mark.parametrize("package", PACKAGES)
def test_a_folder_has_few_files(package: str):
    """So that a stranger finds a thing by the names of folders; migrations come one by one."""
    for folder in (path for path in (ROOT / package).rglob("*") if path.is_dir()):
        if folder.name not in ("__pycache__", "migrations"):
            files = [path.name for path in folder.iterdir() if path.is_file()]
            assert len(files) <= MAX_FILES, (name_of(folder), len(files))


@pytest.mark.parametrize("package", PACKAGES)
def test_a_package_maps_its_modules(package: str):
    """Its docstring names each of them, sub-packages too; what it exports is there."""
    folders = [path.parent for path in (ROOT / package).rglob("__init__.py")]
    for folder in folders:
        imported = importlib.import_module(".".join(folder.relative_to(ROOT).parts))
        paths = [path for path in folder.iterdir() if path.stem != "__init__"]
        names = [path.stem for path in paths if path.suffix == ".py"]
        names += [path.name for path in paths if (path / "__init__.py").exists()]
        missing = [name for name in names if f"`{name}`" not in (imported.__doc__ or "")]
        assert missing == [], imported.__name__
        for exported in getattr(imported, "__all__", ()):
            assert hasattr(imported, exported)


def test_test_folders_are_packages():
    """Or tests/agents would hide agents."""
    for folder in {path.parent for path in (ROOT / "tests").rglob("test_*.py")}:
        assert (folder / "__init__.py").exists(), folder
