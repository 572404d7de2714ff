"""`crew documents`: files and folders are added, read at once, found and removed."""

import json
from pathlib import Path
from typing import Any

from tests.support.crews import write_crew
from tests.support.documents import POLICY, RULES, UPLOADS
from tests.support.forked import crew

DOCUMENTS: dict[str, Any] = {"policy": POLICY, "uploads": UPLOADS}


def written(folder: Path) -> Path:
    (folder / "crew" / "docs").mkdir(parents=True)
    (folder / "crew" / "docs" / "rules.md").write_text(RULES)
    notes = folder / "notes"
    (notes / "sub").mkdir(parents=True)
    (notes / "tea.txt").write_text("notes on tea")
    (notes / "sub" / "coffee.md").write_text("# Coffee\n\nblack")
    (notes / ".hidden.txt").write_text("hidden")
    agents = {"a": {"documents": list(DOCUMENTS), "provider": "openai", "model": "gpt-4o-mini"}}
    return write_crew(folder / "crew", agents, documents=DOCUMENTS)


def test_a_folder_from_disk_to_search(tmp_path: Path):
    """Without a key: no model is asked."""
    folder, place = written(tmp_path), ("--user", "ann")
    added = crew("documents", folder, "add", tmp_path / "notes", *place)
    assert added.returncode == 0, added.stderr
    assert added.stdout.split("\n")[:2] == [
        "sub/coffee.md  summarizing  15 characters",
        "tea.txt  summarizing  12 characters",
    ]
    assert "summaries are written by" in added.stderr
    listed = crew("documents", folder, "list", "-c", "uploads", "--json", *place)
    names = [json.loads(line)["name"] for line in listed.stdout.splitlines()]
    assert sorted(names) == ["sub/coffee.md", "tea.txt"]
    found = crew("documents", folder, "search", "black", "-c", "uploads", *place)
    assert found.stdout == "sub/coffee.md, Coffee: # Coffee black\n"
    assert (
        crew("documents", folder, "search", "black", "-c", "uploads", "--user", "eve").stdout == ""
    )
    policy = crew("documents", folder, "search", "loss", "-c", "policy")
    assert policy.stdout.startswith("docs/rules.md, Rules: ")
    removed = crew("documents", folder, "remove", "tea.txt", "-c", "uploads", *place)
    assert (removed.returncode, removed.stdout) == (0, "")
    gone = crew("documents", folder, "search", "tea", "-c", "uploads", *place)
    assert "no passage has these words" in gone.stderr
    assert "uploads, tea.txt" in crew("audit", folder).stdout
    assert crew("forget", folder, "--user", "ann").returncode == 0
    assert "tea.txt" not in crew("audit", folder).stdout
    kept = [one.read_bytes() for one in (folder / ".crew").rglob("*") if one.is_file()]
    assert kept
    assert not any(b"tea.txt" in one for one in kept)


def test_mistakes(tmp_path: Path):
    """Each says what to do; what can be added is."""
    folder = written(tmp_path)
    (tmp_path / "notes" / "x.bin").write_bytes(b"\0\1")
    (tmp_path / "empty.txt").write_text(" \n")
    for arguments, code, said in (
        (["add"], 2, "add needs what to add"),
        (["frob"], 2, "is one of add, list, search, remove"),
        # of the collection that takes uploads, as all of them
        (["list"], 2, "uploads belongs to a user: it needs user_id"),
        (["add", "nothing.txt", "--user", "ann"], 1, "nothing.txt cannot be read: No such file"),
        (["add", str(tmp_path / "empty.txt"), "--user", "ann"], 1, ""),
        (["add", str(tmp_path / "notes"), "--user", "ann"], 1, "x.bin is no text"),
        (["add", str(tmp_path / "notes")], 2, "uploads belongs to a user: it needs user_id"),
        (["add", str(tmp_path / "notes"), "-c", "policy"], 1, "takes no uploads"),
        (["remove", "z.txt", "-c", "uploads", "--user", "ann"], 2, "no document 'z.txt'"),
        (["list", "-c", "nowhere"], 2, "no collection 'nowhere'"),
    ):
        ended = crew("documents", folder, *arguments)
        assert (ended.returncode, said in ended.stderr) == (code, True), (arguments, ended.stderr)
        assert "Traceback" not in ended.stderr
    listed = crew("documents", folder, "list", "-c", "uploads", "--user", "ann").stdout
    assert "empty.txt  failed  2 bytes: it has no text" in listed
    assert "tea.txt  summarizing" in listed
