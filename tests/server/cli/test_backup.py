"""`crew backup`: a copy that is whole, taken while a server writes."""

import os
import re
import sqlite3
import threading
import time
from contextlib import closing
from pathlib import Path

import pytest

from tests.support.crews import write_crew
from tests.support.forked import crew
from tests.support.processes import ServerProcess, client, serving, until

COPIES = 6


def runs_in(path: Path) -> set[str]:
    with closing(sqlite3.connect(path)) as database:
        assert database.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        return {run_id for (run_id,) in database.execute("SELECT run_id FROM runs")}


def test_a_copy_under_load_has_every_run_that_was_accepted(tmp_path: Path):
    """Before the copy began; each copy is whole, private, and a database of its own."""
    folder = write_crew(tmp_path / "crew", {"a": {}})
    accepted: list[str] = []
    over = threading.Event()
    with serving(folder) as server:

        def post() -> None:
            with client(server) as http:
                while not over.is_set():
                    answer = http.post("/api/crew/run", json={"query": "x"})
                    accepted.append(answer.json()["run_id"])

        threads = [threading.Thread(target=post) for _ in range(3)]
        for thread in threads:
            thread.start()
        try:
            until(lambda: bool(accepted))
            for number in range(COPIES):
                before = set(accepted)
                made = crew("backup", folder, tmp_path / f"{number}.db")
                assert made.returncode == 0, made.stderr
                assert before <= runs_in(tmp_path / f"{number}.db")
                assert f"{tmp_path / f'{number}.db'}: " in made.stdout
        finally:
            over.set()
            for thread in threads:
                thread.join()
        assert accepted
    assert (tmp_path / "0.db").stat().st_mode & 0o777 == 0o600
    assert [
        one.name for one in tmp_path.iterdir() if ".db-" in one.name or "part" in one.name
    ] == []
    with closing(sqlite3.connect(tmp_path / "0.db")) as database:
        about = database.execute("SELECT runs, revision, taken_at FROM backup").fetchall()
        loaded = database.execute("SELECT revision FROM loads").fetchall()
    assert [(one[0] > 0, one[1:2]) for one in about] == [(True, loaded[0])]
    # a backup is a database, which can be backed up
    again = crew(
        "backup", folder, tmp_path / "again.db", CREW_DATABASE_URL=f"sqlite:///{tmp_path / '0.db'}"
    )
    assert again.returncode == 0, again.stderr
    # it is taken like any other database
    url = f"sqlite:///{tmp_path / '0.db'}"
    assert crew("runs", folder, CREW_DATABASE_URL=url).stdout.count("completed") > 0


def test_a_bad_database_makes_no_file(tmp_path: Path):
    """Ends with 1; nothing is overwritten."""
    folder = write_crew(tmp_path / "crew", {"a": {}})
    assert "no database" in crew("backup", folder, tmp_path / "x.db").stderr
    for _ in range(3):
        crew("run", folder, "x" * 5000)
    database = folder / ".crew" / "crew.db"
    for name in ("there.db", "link.db"):
        (tmp_path / "link.db").unlink(missing_ok=True)
        (tmp_path / "link.db").symlink_to(tmp_path / "elsewhere.db")
        (tmp_path / "there.db").write_text("mine")
        refused = crew("backup", folder, tmp_path / name)
        assert (refused.returncode, "exists already" in refused.stderr) == (1, True)
    assert (tmp_path / "there.db").read_text() == "mine"
    with database.open("r+b") as file:
        # pages in the middle
        file.seek(4096 * 3)
        file.write(os.urandom(4096 * 20))
    ended = crew("backup", folder, tmp_path / "bad.db")
    assert ended.returncode == 1
    assert not (tmp_path / "bad.db").exists()


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("memory:", "keeps nothing"),
        ("postgresql://u:CANARYpassword@h:5433/db", "postgresql://h:5433/db"),
        ("postgresql://u:CANARY@password@h/db", "pg_dump -Fc"),
        ("postgresql://u:x@h/db?password=CANARY", "WAL (archive_command)"),
    ],
)
def test_what_is_no_file_is_said(tmp_path: Path, url: str, said: str):
    """And what to do instead; without the password of the address."""
    folder = write_crew(tmp_path / "crew", {"a": {}})
    ended = crew("backup", folder, tmp_path / "x.db", CREW_DATABASE_URL=url)
    assert (ended.returncode, said in ended.stderr) == (2, True)
    assert "CANARY" not in ended.stderr


def test_a_folder_keeps_the_newest(tmp_path: Path):
    """Others' files stay."""
    folder = write_crew(tmp_path / "crew", {"a": {}})
    crew("run", folder, "x")
    kept = tmp_path / "kept"
    kept.mkdir()
    for name in ("crew-20200101T000000Z.db", "crew-20210101T000000Z.db", "other.db"):
        (kept / name).write_text("old")
    assert crew("backup", folder, kept, "--keep", "2").returncode == 0
    names = sorted(one.name for one in kept.iterdir())
    assert names[0] == "crew-20210101T000000Z.db"
    assert (len(names), names[-1]) == (3, "other.db")


def backups_in(folder: Path) -> list[Path]:
    return sorted(folder.glob("crew-*.db")) if folder.exists() else []


def test_a_server_makes_backups_itself(tmp_path: Path):
    """The newest stay; a restart makes none before its time, and the metric says when it was."""
    folder, into = write_crew(tmp_path / "crew", {"a": {}}), tmp_path / "backups"
    into.mkdir()
    for day in range(1, 9):
        (into / f"crew-2026010{day}T000000Z.db").touch()
    (into / "notes.db").touch()
    # of a process that was killed, and of a clock that was wrong
    left = [into / f"crew-20260101T000000Z.db.part{end}" for end in ("", "-journal")]
    for one in left:
        one.touch()
        os.utime(one, (0, 0))
    fresh = into / "crew-20260102T000000Z.db.part"
    fresh.touch()
    ahead = into / "crew-20991231T000000Z.db"
    ahead.touch()
    # what is no time at all is another's
    (into / "crew-20261301T000000Z.db").touch()
    given = {"CREW_BACKUP_FOLDER": str(into), "CREW_BACKUP_KEEP": "3"}

    def last(server: ServerProcess) -> float:
        with client(server) as http:
            name = "crew_backup_last_success_timestamp_seconds"
            found = re.search(rf"^{name} (\S+)$", http.get("/metrics").text, re.MULTILINE)
        assert found is not None
        return float(found[1])

    with serving(folder, **given) as server:
        until(lambda: len(backups_in(into)) == 5 and last(server) > 0)
        assert last(server) < time.time() + 5
        assert ([one.exists() for one in left], fresh.exists()) == ([False, False], True)
        assert backups_in(into)[-1] == ahead
        ahead.unlink()
        (into / "crew-20261301T000000Z.db").unlink()
        newest = backups_in(into)[-1]
        assert runs_in(newest) == set()
        assert newest.stat().st_mode & 0o777 == 0o600
        assert (into / "notes.db").exists()
        made = last(server)
    with serving(folder, **given) as server:
        assert int(last(server)) == int(made)
        assert backups_in(into)[-1] == newest


def test_a_backup_that_fails_is_said(tmp_path: Path):
    """In the log and to channels; the server goes on."""
    folder = write_crew(tmp_path / "crew", {"a": {}})
    (tmp_path / "file").touch()
    with serving(folder, CREW_BACKUP_FOLDER=str(tmp_path / "file")) as server:
        until(lambda: "has failed" in server.log.read_text())
        with client(server) as http:
            assert http.post("/api/crew/run", json={"query": "x"}).status_code == 200


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"CREW_BACKUP_HOURS": "3"}, "no effect without CREW_BACKUP_FOLDER"),
        ({"CREW_BACKUP_FOLDER": "x", "CREW_BACKUP_KEEP": "0"}, "write a number of backups"),
        ({"CREW_BACKUP_FOLDER": "x", "CREW_DATABASE_URL": "postgresql://x/y"}, "pg_dump"),
    ],
)
def test_backups_that_cannot_be(tmp_path: Path, given: dict[str, str], words: str):
    ended = crew("serve", write_crew(tmp_path, {"a": {}}), **given)
    assert (ended.returncode, words in ended.stderr) == (2, True), ended.stderr
