"""The chores of documents: read, replaced, described, dropped, given up; and files of the crew's folder."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from crew import MemoryStore, Runs, SqliteStore, load_crew
from crew.crew import check
from crew.journal.records.conversations import Chore
from crew.journal.store import RunStore
from crew.runs.chores.chores import Chores
from crew.runs.errors import DocumentRefused, UnknownConversation, UnknownDocument
from tests.crew.memory.test_core_runs import ask
from tests.support.documents import POLICY, UPLOADS, Reading, document_crew

DESCRIBED = {"helper": "describe", "say": '{"summary": "On coffee."}'}


@pytest.mark.parametrize("stored", [False, True])
async def test_a_new_version_is_searched_when_it_is_read(tmp_path: Path, stored: bool):
    """And not before; one that fails leaves the old one in place."""
    store: RunStore = SqliteStore(tmp_path / "runs.db") if stored else MemoryStore()
    crew = document_crew(tmp_path / "crew", [])
    async with Runs(crew, store) as runs:
        reading, library = Reading(runs), runs.documents
        first = await reading.send("a.txt", "tea")
        assert (first.status, first.chars, first.chunks, first.kind) == ("ready", 3, 1, "txt")
        again, is_new = await library.upload("uploads", "a.txt", b"tea", "ann", "ann")
        assert (again.document_id, is_new) == (first.document_id, False)
        waiting, is_new = await library.upload("uploads", "a.txt", b"coffee", "ann", "ann")
        assert (waiting.status, waiting.replaces, is_new) == ("received", first.document_id, True)

        async def texts(query: str) -> list[str]:
            return [one.text for one in await library.searched("uploads", "ann", "", query, 5)]

        assert (await texts("tea"), await texts("coffee")) == (["tea"], [])
        await reading.drain()
        assert (await texts("tea"), await texts("coffee")) == ([], ["coffee"])
        failed = await reading.send("a.txt", " \n ")
        assert (failed.status, failed.reason) == ("failed", "has no text")
        assert await texts("coffee") == ["coffee"]
        document, text = await library.text("uploads", "a.txt", "ann", "", 0, 99)
        assert (document.document_id, text) == (waiting.document_id, "coffee")
        # the same bytes once more are another attempt
        assert (await library.upload("uploads", "a.txt", b" \n ", "ann", "ann"))[1]
        await library.delete("uploads", "a.txt", "ann", "")
        assert await texts("coffee") == []
        await reading.drain()
        assert await store.documents.everything_of("user:ann") == []
        assert await store.chores.counts() == {}
    assert reading.documents == {"uploads read": 2, "uploads failed": 1}


async def test_limits(tmp_path: Path):
    """Each with what to do."""
    small = {**UPLOADS, "max_files": 2, "max_file_mb": 0.001, "max_chars": 100, "accept": ["txt"]}
    documents = {"uploads": small, "policy": POLICY, "sent": {"description": "of conversations"}}
    files = {"docs/a.md": "# A\n\nText."}
    async with Runs(document_crew(tmp_path, [], documents, files=files), MemoryStore()) as runs:
        reading, library = Reading(runs), runs.documents
        for name, content, reason in (
            ("a.txt", b"x" * 1001, "large"),
            ("a.txt", b"", "kind"),
            ("a.md", b"# x", "kind"),
            ("a.txt", b"\0\1", "kind"),
            ("../a.txt", b"x", "name"),
        ):
            with pytest.raises(DocumentRefused) as error:
                await library.upload("uploads", name, content, "ann", "ann")
            assert error.value.reason == reason, name
        assert (await reading.send("a.txt", "x" * 60)).status == "ready"
        over = await reading.send("b.txt", "y" * 60)
        assert (over.status, over.reason) == (
            "failed",
            "has more text than there is room for (max_chars)",
        )
        with pytest.raises(DocumentRefused, match="max_files"):
            await library.upload("uploads", "c.txt", b"z", "ann", "ann")
        assert (await reading.send("a.txt", "x" * 90)).status == "ready", "in place of the other"
        with pytest.raises(DocumentRefused, match="takes no uploads"):
            await library.upload("policy", "x.md", b"x", "ann", "ann")
        with pytest.raises(DocumentRefused, match="takes no uploads"):
            await library.delete("policy", "docs/a.md", "ann", "")
        with pytest.raises(UnknownConversation):
            await library.upload("sent", "a.txt", b"x", "ann", "ann", "c9")
        with pytest.raises(UnknownDocument, match="needs conversation_id"):
            await library.upload("sent", "a.txt", b"x", "ann", "ann")
        with pytest.raises(UnknownDocument, match="no collection"):
            await library.listed("nowhere", "ann", "", 5)
        with pytest.raises(UnknownDocument):
            await library.get("uploads", "z.txt", "ann", "")


async def test_passages_are_described(tmp_path: Path):
    """Each, by helper `describe`: its words find the passage; then the document is."""
    documents: dict[str, Any] = {
        "uploads": {**UPLOADS, "summaries": "chunks", "chunk": {"tokens": 20, "overlap": 0}}
    }
    async with Runs(document_crew(tmp_path, [DESCRIBED], documents), MemoryStore()) as runs:
        reading = Reading(runs)
        text = "\n\n".join(
            f"Paragraph number {n} has a few words of its own here." for n in range(25)
        )
        one = await reading.send("a.txt", text)
        assert (one.status, one.summary) == ("ready", "On coffee.")
        assert one.chunks > 10
        assert one.described == one.chunks
        found = await runs.documents.searched("uploads", "ann", "", "coffee", 50)
        assert len(found) == one.chunks
        assert {passage.about for passage in found} == {"On coffee."}
    # ten at a time
    assert reading.outcomes.count("describe done") == 2 + -(-one.chunks // 10) - 1


@pytest.mark.parametrize("summaries", ["document", "none"])
async def test_without_a_helper_it_is_ready(tmp_path: Path, summaries: str):
    documents = {"uploads": {**UPLOADS, "summaries": summaries}}
    async with Runs(document_crew(tmp_path, [], documents), MemoryStore()) as runs:
        one = await Reading(runs).send("a.txt", "tea")
    assert (one.status, one.summary) == ("ready", "")


async def test_a_helper_that_fails_is_given_up(tmp_path: Path):
    """The document is ready without a summary."""
    rules = [{"helper": "describe", "say": "no JSON"}]
    store = MemoryStore()
    async with Runs(document_crew(tmp_path, rules), store) as runs:
        reading = Reading(runs)
        one = await reading.send("a.txt", "tea")
        assert one.status == "summarizing"
        (waiting,) = await store.chores.take("9999", "9999", 1, ["describe"])
        for _ in range(2):
            await store.chores.postpone(waiting, "1970-01-01T00:00:00.000Z")
            await reading.drain()
            (waiting,) = await store.chores.take("9999", "9999", 1, ["describe"]) or (waiting,)
        found = await store.documents.get(one.owner, one.document_id)
    assert found is not None
    assert (found.status, found.summary) == ("ready", "")


async def test_what_ends_its_process_again_and_again_is_given_up(tmp_path: Path):
    """As after the end of the process that read it, ten times."""
    store = MemoryStore()
    async with Runs(document_crew(tmp_path, []), store) as runs:
        sent, _ = await runs.documents.upload("uploads", "a.txt", b"tea", "ann", "ann")
        for _ in range(10):
            (chore,) = await store.chores.take("9999", "1970", 1, ["read"])
        assert isinstance(chore, Chore)
        await Reading(runs).drain()
        found = await store.documents.get(sent.owner, sent.document_id)
    assert found is not None
    assert (found.status, found.reason) == ("failed", "could not be read in 10 attempts")


async def test_a_collection_that_is_gone(tmp_path: Path):
    """A process with newer files may know it, so it waits; after a day it has failed."""
    store = MemoryStore()
    async with Runs(document_crew(tmp_path / "one", []), store) as runs:
        await runs.documents.upload("uploads", "a.txt", b"tea", "ann", "ann")
        other = Runs(document_crew(tmp_path / "two", [], {"files": UPLOADS}), store)
        reading = Reading(other)
        await reading.drain()
        (one,) = await store.documents.everything_of("user:ann")
        assert (one.status, reading.outcomes) == ("received", ["read postponed"])
        await store.documents.change(replace(one, created_at="2020-01-01T00:00:00.000Z"))
        (waiting,) = await store.chores.take("9999", "9999", 1, ["read"])
        assert waiting.attempts == 1, "to wait is no attempt"
        await store.chores.free("2020-01-01T00:00:00.000Z")
        await reading.drain()
        (one,) = await store.documents.everything_of("user:ann")
        assert (one.status, one.reason) == ("failed", "has no collection any more")
        assert await other.documents.listed("files", "ann", "", 5) == []


@pytest.mark.parametrize("stored", [False, True])
async def test_files_of_the_folder_are_kept_in_step(tmp_path: Path, stored: bool):
    """By what they hold; a link out of the folder is none of them."""
    store: RunStore = SqliteStore(tmp_path / "runs.db") if stored else MemoryStore()
    files = {
        "docs/a.md": "# A\n\ntea",
        "docs/b.md": "# B\n\ncoffee",
        "docs/.c.md": "# C",
        "d.md": "# D",
    }
    folder = tmp_path / "crew"
    crew = document_crew(folder, [], {"policy": POLICY}, files=files)
    (tmp_path / "secret.md").write_text("# secret")
    async with Runs(crew, store) as runs:
        reading = Reading(runs)

        async def names() -> dict[str, str]:
            await runs.documents.sync()
            await reading.drain()
            listed = await runs.documents.listed("policy", "", "", 50)
            return {one.name: one.status for one in listed}

        assert await names() == {"docs/a.md": "ready", "docs/b.md": "ready"}
        assert reading.documents["policy read"] == 2
        assert await names() == {"docs/a.md": "ready", "docs/b.md": "ready"}
        assert reading.documents["policy read"] == 2, "nothing has changed"
        (folder / "docs/a.md").write_text("# A\n\ncocoa")
        (folder / "docs/b.md").unlink()
        (folder / "docs/link.md").symlink_to(tmp_path / "secret.md")
        (folder / "docs/empty.md").write_text("")
        assert await names() == {"docs/a.md": "ready"}
        assert reading.documents["policy read"] == 3
        (found,) = await runs.documents.searched("policy", "ann", "c1", "cocoa", 5)
        assert found.text == "# A\n\ncocoa"
        assert not await runs.documents.searched("policy", "ann", "", "coffee tea secret", 5)
        # the last one: what is loaded next has an empty collection, and a warning
        (folder / "docs/a.md").unlink()
        (folder / "docs/link.md").unlink()
        (folder / "docs/empty.md").unlink()
        problems = [one for one in check(folder).problems if one.code == "no-files"]
        assert [one.severity for one in problems] == ["warning"]
        load_crew(folder)
        assert await names() == {}
        assert not await runs.documents.searched("policy", "ann", "c1", "cocoa", 5)


@pytest.mark.parametrize("stored", [False, True])
async def test_an_erasure_takes_what_deleted_conversations_have_left(tmp_path: Path, stored: bool):
    """Their passages go in parts, and some may still be there."""
    store: RunStore = SqliteStore(tmp_path / "runs.db") if stored else MemoryStore()
    documents = {"sent": {"description": "of a conversation"}}
    async with Runs(document_crew(tmp_path / "crew", [], documents), store) as runs:
        for user in ("ann", "ann:b"):
            await ask(runs, "hello", user_id=user, conversation_id="c1")
            await Reading(runs).send("a.txt", "tea", "sent", user=user, conversation_id="c1")
        await runs.conversations.delete("ann", "c1")
        assert await store.documents.owners("conversation:ann:c") == ["conversation:ann:c1"]
        await runs.memory.request_erasure("ann")
        await Chores(runs).drain("erasure")
        # of another user, with an id that begins alike
        assert await store.documents.owners("conversation:ann:") == ["conversation:ann:b:c1"]
        (done,) = await store.people.erasures("ann")
        assert done.done_at
