"""What the seed crews remember, as their README says."""

from pathlib import Path

import pytest

from crew import MemoryStore, Query, Runs, load_crew
from crew.runs.chores.chores import Chores, Counts
from tests.support.crews import play
from tests.support.seeds import SEEDS, copied

pytestmark = pytest.mark.skipif(not SEEDS.is_dir(), reason="the seed crews are not at hand")


async def test_shares_are_known_in_the_next_exchange(tmp_path: Path):
    """The block `symbols`, which typed answers fill, is shown to classify."""
    crew = load_crew(copied("healer", tmp_path))
    async with Runs(crew, MemoryStore()) as runs:
        first, second = (
            Query(text, user_id="ann", conversation_id="c") for text in ("Analyse nvidia", "Hello")
        )
        await play(crew, query=first, runs=runs)
        played = await play(crew, query=second, runs=runs)
        (kept,) = await runs.store.core.newest(["conversation:ann:c"])
    assert (kept.block, kept.value, kept.by) == ("symbols", "NVDA", "output")
    shown = played.of("context")[0]["metadata"]
    core = next(one for one in shown["blocks"] if one["kind"] == "core")
    assert (core["ids"], core["versions"]) == (["profile", "symbols"], [0, 1])


async def test_the_crews_learn_of_their_conversations(tmp_path: Path):
    """Their scripts find nothing that is worth remembering."""
    for name in ("healer", "langgraph-chatbot", "supabase-flow"):
        crew = load_crew(copied(name, tmp_path))
        outcomes: list[str] = []

        def count(kind: str, outcome: str, _: float, outcomes: list[str] = outcomes) -> None:
            outcomes.append(f"{kind} {outcome}")

        async with Runs(crew, MemoryStore()) as runs:
            query = Query("Hello", user_id="ann", conversation_id="c")
            await play(crew, query=query, runs=runs)
            await Chores(runs, Counts(count)).drain()
            known = await runs.store.conversations.get("user:ann", "c")
        assert "learn done" in outcomes, name
        assert known is not None
        assert known.learned == 1


async def test_an_upload_is_listed_to_the_supervisor(tmp_path: Path):
    """With its summary, though only others may search in it; executor has the tools."""
    folder = copied("langgraph-chatbot", tmp_path)
    script = folder / "script.yaml"
    summary = '  - { helper: describe, say: \'{"summary": "About Python releases."}\' }\n'
    script.write_text(script.read_text().replace("rules:\n", f"rules:\n{summary}", 1))
    crew = load_crew(folder)
    async with Runs(crew, MemoryStore()) as runs:
        first, second = (Query("Hello", user_id="ann", conversation_id="c") for _ in range(2))
        await play(crew, query=first, runs=runs)
        await runs.documents.upload("uploads", "z.txt", b"Python 3.14 is out.", "ann", "ann", "c")
        await Chores(runs).drain()
        (kept,) = await runs.documents.listed("uploads", "ann", "c", 9)
        played = await play(crew, query=second, runs=runs)
    assert (kept.status, kept.summary) == ("ready", "About Python releases.")
    shown = next(
        one["metadata"]
        for one in played.of("context")
        if one["metadata"]["agent_id"] == "supervisor"
    )
    block = next(one for one in shown["blocks"] if one["kind"] == "documents")
    assert block["ids"] == [kept.document_id]
    assert "SearchDocuments" in crew.agents["executor"].tools
    assert "SearchDocuments" not in crew.agents["supervisor"].tools
