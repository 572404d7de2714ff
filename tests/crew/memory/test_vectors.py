"""Items and passages that are found by vectors: learned late, looked for in time, by one model."""

import json
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from crew import Crew, MemoryStore, Query, Runs, load_crew
from crew.backends.sqlite.store import SqliteStore
from crew.journal.records.spent.costs import CostQuery
from crew.journal.store import RunStore
from crew.runs.chores.chores import Chores, Counts
from tests.support.crews import play, write_crew
from tests.support.documents import call
from tests.support.model_server import http, model_server
from tests.support.vectors import answer, embedding
from tools.clock import SYSTEM_CLOCK

RULES: list[dict[str, Any]] = [
    {"agent": "a", "after": "Recall", "say": "{{result.Recall}}"},
    {"agent": "a", "after": "SearchDocuments", "say": "{{result.SearchDocuments}}"},
    {"agent": "a", "hears": "paper", "calls": call("SearchDocuments", query="vehicle")},
    {"agent": "a", "hears": "recall", "calls": call("Recall", query="automobile")},
    {"agent": "a", "seen": "drives a car", "say": "seen"},
    {"agent": "a", "say": "not seen"},
]


def crew_at(folder: Path, url: str, millis: int = 10_000, model: str = "mini", **more: Any) -> Crew:
    vectors = {"provider": "gw", "model": model, "batch": 2, **more}
    return load_crew(
        write_crew(
            folder,
            {"a": {"is_terminal": True, "tools": ["Recall"], "documents": ["papers"]}},
            RULES,
            providers={"gw": {"base_url": url, "max_retries": 0}},
            memory={"recall": {"embeddings": vectors}},
            documents={
                "papers": {
                    "description": "papers",
                    "scope": "user",
                    "summaries": "none",
                    "embeddings": vectors,
                }
            },
            context={"load_timeout_millis": millis, "blocks": ["history", "recall"]},
        )
    )


@pytest.fixture(params=["memory", "sqlite"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> RunStore:
    return MemoryStore() if request.param == "memory" else SqliteStore(tmp_path / "crew.db")


async def remember(runs: Runs, *texts: str) -> None:
    for text in texts:
        await runs.memory.recall.add("ann", "", "ann", text)


async def drain(runs: Runs) -> list[str]:
    outcomes: list[str] = []
    chores = Chores(
        runs, Counts(lambda kind, outcome, seconds: outcomes.append(f"{kind} {outcome}"))
    )
    await chores.drain()
    return outcomes


async def asked(runs: Runs, text: str) -> str:
    played = await play(runs.crew, query=Query(text, user_id="ann"), runs=runs)
    return str(played.row.answer)


async def test_what_means_the_same_is_found(tmp_path: Path, store: RunStore):
    """By the tool, in the context, and by people; words alone find nothing of it."""
    async with model_server(embedding()) as server:
        async with Runs(crew_at(tmp_path / "crew", server.url), store) as runs:
            await remember(runs, "Ann drives a car", "Ann likes tea", "Ann has a dog")
            assert await asked(runs, "recall") == "Nothing is remembered that has these words."
            assert await drain(runs) == ["embed done"] * 2
            sizes = [len(one["input"]) for one in server.asked if one["input"][0] != "automobile"]
            assert sizes == [1, 2, 1], "the question in the context, then texts in batches"
            assert "Ann drives a car" in await asked(runs, "recall")
            assert await asked(runs, "Which vehicle?") == "seen"
            found = await runs.memory.recall.searched("ann", "", "vehicle", 1)
            assert [one.text for one in found] == ["Ann drives a car"]
            # an item that is replaced is found no more
            await runs.memory.recall.delete("ann", "", found[0].item_id)
            found = await runs.memory.recall.searched("ann", "", "vehicle", 9)
            assert "Ann drives a car" not in [one.text for one in found]


async def test_passages_too(tmp_path: Path, store: RunStore):
    async with model_server(embedding()) as server:
        async with Runs(crew_at(tmp_path / "crew", server.url), store) as runs:
            for name, text in (("a.txt", "my automobile is red"), ("b.txt", "about tea")):
                await runs.documents.upload("papers", name, text.encode(), "ann", "ann")
            await drain(runs)
            shown = await asked(runs, "paper")
            assert shown.startswith("[1] a.txt")
            assert "my automobile is red" in shown
            found = await runs.documents.searched("papers", "ann", "", "vehicle", 1)
            assert [one.document.name for one in found] == ["a.txt"]


async def test_what_vectors_cost_is_kept(tmp_path: Path, store: RunStore):
    """Under a name of theirs: of chores, of a run and its conversation, and of a person's search."""
    async with model_server(embedding()) as server:
        folder = tmp_path / "crew"
        crew_at(folder, server.url)
        prices = {"input": 0.02, "output": 0}
        (folder / "prices.json").write_text(
            json.dumps(
                {"source": "x", "version": "1", "date": "2026-11-01", "models": {"gw/mini": prices}}
            )
        )
        async with Runs(load_crew(folder), store) as runs:
            await remember(runs, "Ann drives a car")
            await drain(runs)
            played = await play(runs.crew, query=Query("recall", user_id="ann"), runs=runs)
            in_run = await store.costs.calls_of(played.row.run_id)
            vectors = [one for one in in_run if one.agent_id == "embeddings"]
            assert [one.run_id for one in vectors] == [played.row.run_id] * 2
            await runs.memory.recall.searched("ann", "", "vehicle", 1)
            wanted = CostQuery(("agent", "model", "user"), "2026-01-01")
            (found,) = (one for one in await store.costs.sums(wanted) if "embeddings" in one.keys)
            assert found.calls == 4, "a chore, the context, a tool, a person"
            assert found.nanos > 0
            assert "ann" in found.keys


async def test_what_vectors_cost_counts_in_budgets(tmp_path: Path, store: RunStore):
    """In the pots of their user and of the crew, as calls; none of them refuses a vector."""
    budgets = {
        "all": {"scope": "crew", "per": "day", "calls": 100},
        "one": {"scope": "user", "per": "day", "tokens": 100_000},
        "few": {"scope": "crew", "per": "total", "calls": 1, "models": ["mini"]},
    }
    async with model_server(embedding()) as server:
        folder = crew_at(tmp_path / "crew", server.url).sources.folder
        with (folder / "crew.yaml").open("a") as file:
            file.write(f"budgets: {json.dumps(budgets)}\n")
        async with Runs(load_crew(folder), store) as runs:
            await remember(runs, "rides a bicycle")
            await drain(runs)
            await asked(runs, "recall")
            calls = sum(one.calls for one in await store.costs.sums(CostQuery()))
            pots = {one.key.budget: one for one in await store.budgets.pots(list(budgets))}
    assert pots["all"].calls == calls > 3
    assert 0 < pots["one"].calls <= calls
    assert pots["few"].calls > 1
    assert {one.held_calls for one in pots.values()} == {0}


@pytest.mark.parametrize("how", ["late", "refused", "wrong"])
async def test_without_the_vector_words_find(tmp_path: Path, how: str):
    """Within the time that the context has; the run goes on as if there were none."""
    is_down: list[bool] = []

    async def never() -> bytes:
        await SYSTEM_CLOCK.sleep(600)
        return b""

    def reply(request: dict[str, Any]) -> bytes | Awaitable[bytes]:
        if not is_down:
            return http(200, answer(request))
        made: dict[str, Callable[[], Any]] = {
            "late": never,
            "refused": lambda: http(503, {"error": {"message": "down"}}),
            "wrong": lambda: http(200, answer(request, dimensions=9)),
        }
        made_one: bytes | Awaitable[bytes] = made[how]()
        return made_one

    async with model_server(reply) as server:
        crew = crew_at(tmp_path / "crew", server.url, millis=500)
        async with Runs(crew, MemoryStore()) as runs:
            await remember(runs, "Ann drives a car", "Ann likes tea")
            await drain(runs)
            is_down.append(True)
            assert await asked(runs, "What does she drives?") == "seen"
            assert await asked(runs, "Which vehicle?") == "not seen"
            counts = runs.crew.recipe.embedding_counts
            assert sum(counts.values()) > 2, counts


async def test_another_model_makes_them_anew(tmp_path: Path, store: RunStore):
    """Its vectors alone are compared; until it has made them words find."""
    async with model_server(embedding()) as server, model_server(embedding(6)) as other:
        async with Runs(crew_at(tmp_path / "crew", server.url), store) as runs:
            await remember(runs, "Ann drives a car")
            await drain(runs)
            assert await asked(runs, "Which vehicle?") == "seen"
            crew_at(tmp_path / "crew", other.url, model="large", dimensions=6)
            runs.adopt(runs.crew.load_again())
            assert await asked(runs, "Which vehicle?") == "not seen"
            await runs.documents.sync()
            assert await drain(runs) == ["embed done"]
            assert await asked(runs, "Which vehicle?") == "seen"
            assert json.dumps(other.asked[-1]["input"]) == '["Which vehicle?"]'
            await runs.documents.sync()
            assert await drain(runs) == []


async def test_a_text_that_the_model_does_not_take(tmp_path: Path, store: RunStore):
    """It is made shorter, or has no vector; the others have theirs, and nothing is tried for ever."""

    def reply(request: dict[str, Any]) -> bytes:
        is_wrong = any(len(one) > 400 or "poison" in one for one in request["input"])
        if is_wrong:
            return http(400, {"error": {"message": "input is too large to process"}})
        return http(200, answer(request))

    async with model_server(reply) as server:
        async with Runs(crew_at(tmp_path / "crew", server.url), store) as runs:
            long = "a vehicle " + "x " * 240
            await remember(runs, "poison", "Ann drives a car", "Ann likes tea")
            await runs.documents.upload("papers", "a.txt", long.encode(), "ann", "ann")
            assert "embed retried" not in await drain(runs)
            assert await asked(runs, "Which vehicle?") == "seen"
            space = runs.crew.embeddings[""].embedder.space
            missing = await runs.store.item_vectors.missing("user:ann", "", space, 9)
            assert missing == []
            await runs.documents.sync()
            assert await drain(runs) == []


async def test_an_address_that_is_down_is_tried_again(tmp_path: Path):
    """By the chore, later; nothing is lost."""
    answers = [http(500, {"error": {"message": "down"}})]

    def reply(request: dict[str, Any]) -> bytes:
        return answers.pop() if answers else http(200, answer(request))

    async with model_server(reply) as server:
        async with Runs(crew_at(tmp_path / "crew", server.url), MemoryStore()) as runs:
            await remember(runs, "Ann drives a car")
            assert await drain(runs) == ["embed retried"]
            space = runs.crew.embeddings[""].embedder.space
            missing = await runs.store.item_vectors.missing("user:ann", "", space, 9)
            assert [one.text for one in missing] == ["Ann drives a car"]
            await runs.documents.sync()


async def test_no_model_is_called_where_another_provider_answers(tmp_path: Path):
    """A run with `--provider scripted` makes no request; words find."""
    async with model_server(embedding()) as server:
        crew_at(tmp_path / "crew", server.url)
        crew = load_crew(tmp_path / "crew", provider="scripted")
        async with Runs(crew, MemoryStore()) as runs:
            await remember(runs, "Ann drives a car")
            assert await drain(runs) == ["embed skipped"]
            assert await asked(runs, "drives a car?") == "seen"
        assert server.asked == []
