"""What the seed crews remember, as their README says."""

from pathlib import Path

import pytest

from crew import MemoryStore, Query, Runs, load_crew
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
