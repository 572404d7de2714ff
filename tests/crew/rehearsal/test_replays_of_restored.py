"""Runs that were at work when their database was restored, on today's files."""

from pathlib import Path

import pytest

from crew import Answer, Query, Runs, SqliteStore, load_crew
from crew.config.files.sources import read_sources
from crew.journal.errors import StoreError
from crew.rehearsal.doubles.mortal import Moment, MortalStore
from crew.rehearsal.replaying.recording import NotKept, read_recording
from crew.rehearsal.replaying.replays import Replays
from tests.support.crews import write_crew

TAKEN_AT = "2026-01-01T00:00:00.000Z"


async def restored(folder: Path, answer: Answer | None) -> SqliteStore:
    """A run that was left at work, restored, and answered."""
    store = SqliteStore(folder / "runs.db")
    # its process ends before the first answer is stored
    first = Runs(load_crew(folder), MortalStore(store, Moment(3, is_during=True)))  # type: ignore[arg-type]
    run = await first.start(Query("hello"))
    with pytest.raises(StoreError):
        await run.outcome()
    await store.hold(TAKEN_AT)
    second = Runs(load_crew(folder), store)
    for found in await second.recover():
        assert (await found.outcome()).status == "paused"
    if answer is not None:
        await (await second.resume(run.id, answer)).outcome()
    await second.drain(1)
    return store


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    rules = [{"agent": "a", "say": "well"}]
    return write_crew(tmp_path / "crew", {"a": {"is_terminal": True}}, rules)


async def test_one_that_went_on_is_the_same(folder: Path):
    """As after any other end of a process: that a person has let it go on changes nothing of its way."""
    store = await restored(folder, Answer(decision="approve"))
    (row,) = await store.rows()
    assert (row.status, row.answer) == ("completed", "well")
    replays = Replays(store, folder, read_sources(folder))
    (result,) = [one async for one in replays.play([row])]
    assert result.compared.verdict == "same", result
    await store.aclose()


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        (None, "it waits since its database was restored"),
        (Answer(decision="deny"), "it was ended after its database was restored"),
    ],
    ids=["waits", "ended"],
)
async def test_one_that_did_not_is_not_kept(folder: Path, answer: Answer | None, why: str):
    store = await restored(folder, answer)
    (row,) = await store.rows()
    with pytest.raises(NotKept, match=why):
        await read_recording(store, row)
    await store.aclose()
