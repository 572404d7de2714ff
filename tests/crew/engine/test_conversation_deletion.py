"""A conversation is deleted, whatever becomes of the run that it is busy with."""

from pathlib import Path

import pytest

from crew import MemoryStore, Runs, SqliteStore
from crew.backends.conformance.conversations import ID, begin_conversation, start
from crew.journal.store import RunStore
from crew.runs.errors import ConversationBusy
from tests.support.crews import crew_of


@pytest.fixture(params=["memory", "sqlite"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> RunStore:
    made = MemoryStore() if request.param == "memory" else SqliteStore(tmp_path / "x.db")
    made.claim_process(serves=True)
    return made


async def test_a_run_of_another_version_does_not_keep_it(store: RunStore, tmp_path: Path):
    """It can be neither continued nor ended here, but what a user wants gone must go."""
    crew = crew_of(tmp_path, {"a": {}}, [{"say": "x"}], conversations={})
    async with Runs(crew, store) as runs:
        # its events are such as no version has written
        await begin_conversation(store, "r1", start("r1", 1))
        with pytest.raises(ConversationBusy):
            await runs.conversations.delete("ann", ID)
        await runs.conversations.delete("ann", ID, cancels=True)
        assert await store.row("r1") is None
        assert list(await store.records("r1")) == []
