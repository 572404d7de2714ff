"""What commands leave: of an erased user, half a price, files that lead elsewhere, words twice."""

import os
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from tests.support.crews import write_crew
from tests.support.forked import crew

PRICES: dict[str, Any] = {"input": 1000, "output": 2000}


def crew_with(folder: Path, prices: dict[str, Any]) -> Path:
    agents = {"ann": {"is_terminal": True, "model": "large"}}
    models = {"large": {"provider": "scripted", "prices": prices}}
    budgets = {
        "person": {"scope": "user", "per": "total", "tokens": 1000},
        "each": {"scope": "agent", "per": "total", "tokens": 1000},
    }
    return write_crew(folder, agents, [{"say": "one two"}], models=models, budgets=budgets)


def test_the_pots_of_an_erased_user(tmp_path: Path):
    """Also where an agent has the same name."""
    folder = crew_with(tmp_path, PRICES)
    assert crew("run", folder, "hello", "--user", "ann").returncode == 0
    assert "person of ann" in crew("budgets", folder).stdout
    assert crew("forget", folder, "--user", "ann").returncode == 0
    left = crew("budgets", folder).stdout
    assert "person of ann" not in left
    assert "each of ann" in left


@pytest.mark.parametrize("prices", [{"input": 1}, {"output": 1}, {"input": 1, "request": 1}])
def test_half_a_price(prices: dict[str, Any], tmp_path: Path):
    """Is an error at load, with its line: what is not said is not zero."""
    ended = crew("validate", crew_with(tmp_path, prices))
    missing = "output" if "input" in prices else "input"
    assert ended.returncode == 1
    assert f"say {missing}, too" in ended.stdout
    assert "crew.yaml:" in ended.stdout


def test_documents_that_lead_out_of_their_folder(tmp_path: Path):
    """Are not kept; and a FIFO keeps no command waiting."""
    documents = {"papers": {"description": "of all", "scope": "user", "summaries": "none"}}
    agents = {"ann": {"is_terminal": True, "documents": ["papers"]}}
    folder = write_crew(tmp_path / "crew", agents, [{"say": "x"}], documents=documents)
    (tmp_path / "secret.txt").write_text("a secret of this machine")
    given = tmp_path / "given"
    given.mkdir()
    (given / "right.txt").write_text("what is given")
    (given / "link.txt").symlink_to(tmp_path / "secret.txt")
    ended = crew("documents", folder, "add", "-c", "papers", "--user", "ann", given)
    assert "link.txt leads out of the folder" in ended.stderr, ended.stderr
    listed = crew("documents", folder, "list", "-c", "papers", "--user", "ann").stdout
    assert "right.txt" in listed
    assert "link.txt" not in listed
    os.mkfifo(tmp_path / "pipe.txt")
    ended = crew("documents", folder, "add", "-c", "papers", "--user", "ann", tmp_path / "pipe.txt")
    assert (ended.returncode, "pipe.txt is no file" in ended.stderr) == (1, True), ended.stderr


@pytest.mark.parametrize(
    ("words", "option"),
    [
        (("delete", "--before", "2026-01-01", "--before", "2027-01-01", "--yes"), "--before"),
        (("runs", "--limit", "3", "--limit=4"), "--limit"),
        (("token", "list", "--file", "x", "--file", "y"), "--file"),
    ],
)
def test_an_option_that_is_given_twice(words: tuple[str, ...], option: str):
    """Is refused: the last one would win silently."""
    ended = crew(*words)
    assert ended.returncode == 2
    assert f"{option} is given 2 times, and takes one value" in ended.stderr


def test_a_folder_in_the_place_of_an_answer(tmp_path: Path):
    """Is no answer of a person: where it belongs is said."""
    folder = write_crew(tmp_path / "crew", {"a": {}})
    long = crew("answer", "last", "yes " * 100, folder)
    assert (long.returncode, "File name" in long.stderr) == (1, False)
    for words in (("last", folder), ("last", folder, "yes")):
        ended = crew("answer", *words, "--decision", "approve")
        assert ended.returncode == 2
        said = " ".join(ended.stderr.replace("│", " ").split())
        assert "is a crew's folder, which comes behind the text" in said


def test_a_time_that_is_none(tmp_path: Path):
    """Has no pattern in its message."""
    folder = write_crew(tmp_path / "crew", {"a": {"is_terminal": True}})
    assert crew("run", folder, "x").returncode == 0
    ended = crew("delete", folder, "--before", "tomorrow", "--yes")
    assert ended.returncode == 2
    assert "--before: write a time like 2026-01-31T09:30:00Z" in " ".join(ended.stderr.split())


LOOKING = ("runs", "inbox", "costs", "why", "audit", "budgets", "doctor", "schedules")


@pytest.mark.parametrize("command", LOOKING)
def test_who_looks_brings_no_database_up_to_date(command: str, tmp_path: Path):
    """Processes of the older version may be at work with it, and could not start again."""
    folder = crew_with(tmp_path, PRICES)
    assert crew("run", folder, "hello").returncode == 0
    with closing(sqlite3.connect(folder / ".crew" / "crew.db")) as kept:
        (newest,) = kept.execute("PRAGMA user_version").fetchone()
        kept.execute(f"PRAGMA user_version = {newest - 1}")
        ended = crew(command, folder)
        assert ended.returncode != 0
        assert f"is of version {newest - 1}, older than" in ended.stdout + ended.stderr
        assert kept.execute("PRAGMA user_version").fetchone() == (newest - 1,)
