"""Vectors of a real model, and PostgreSQL with the extension that compares them."""

import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest

from crew import Runs, load_crew
from crew.backends.conformance.vectors import CHECKS
from crew.database import open_store
from crew.runs.chores.chores import Chores
from tests.real.installed import HOME, needs_real
from tests.real.served_models import minilm
from tests.support.crews import write_crew
from tests.support.postgres import Postgres, needs_postgres
from tests.support.processes import BIN, PROCESS_SECONDS, clean_environment

pytestmark = [needs_real, needs_postgres]
# questions that have hardly a word of their text
ASKED = {
    "Which automobile does she own?": "Ann drives a red car to her office",
    "What may I drink in the evening?": "After six Ann takes herbal tea, no coffee",
    "When do we limit what we lose?": "Every position is sold when it falls by eight percent",
    "Is somebody allergic?": "Peanuts make her sick",
    "Where do they live?": "The family has a flat in Da Nang",
    "What does her pet need?": "The dog goes out twice a day",
}


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with minilm(tmp_path_factory.mktemp("minilm") / "log") as url:
        yield url


@pytest.fixture(scope="module")
def extended() -> Iterator[Postgres]:
    """The server of the package `pgserver`, where any user may start it."""
    (packages,) = HOME.glob("python/lib/python3*/site-packages")
    folder = Path(tempfile.mkdtemp(prefix="crew-pgvector-"))
    try:
        folder.chmod(0o755)
        for name in ("pgserver/pginstall", "pgserver.libs"):
            shutil.copytree(packages / name, folder / name)
        with Postgres(programs=folder / "pgserver" / "pginstall" / "bin") as server:
            yield server
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def with_extension(server: Postgres) -> str:
    url = server.database()
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("CREATE EXTENSION vector")
    return url


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
async def test_it_compares_as_other_stores_do(extended: Postgres, tmp_path: Path, check: Any):
    store = await open_store(with_extension(extended), tmp_path)
    try:
        assert await store.item_vectors.missing_extension() == ""
        await check(store)
    finally:
        await store.aclose()


def crew_at(folder: Path, url: str) -> Path:
    vectors = {"provider": "gw", "model": "all-MiniLM-L6-v2", "dimensions": 384}
    return write_crew(
        folder,
        {"a": {"is_terminal": True, "tools": ["Recall"]}},
        [{"agent": "a", "say": "x"}],
        providers={"gw": {"base_url": url}},
        memory={"recall": {"embeddings": vectors}},
    )


async def found_ones(runs: Runs) -> list[list[str]]:
    """The texts that each question finds, best first."""
    recall = runs.memory.recall
    found = [await recall.searched("ann", "", one, len(ASKED)) for one in ASKED]
    return [[item.text for item in some] for some in found]


def right(found: list[list[str]]) -> int:
    """How many questions have their text among the first two."""
    return sum(text in some[:2] for some, text in zip(found, ASKED.values(), strict=True))


async def found_by_both(runs: Runs, by_words: list[list[str]]) -> list[list[str]]:
    """As `found_ones`, once each question finds more: on a busy machine a vector may be late."""
    deadline = time.monotonic() + PROCESS_SECONDS
    while True:
        found = await found_ones(runs)
        if all(len(some) > len(few) for some, few in zip(found, by_words, strict=True)):
            return found
        assert time.monotonic() < deadline, (by_words, found)


async def test_what_means_the_same_is_found(model: str, extended: Postgres, tmp_path: Path):
    """Words alone find little of it; on both stores it is the same, in the same order."""
    orders = []
    for url in (None, with_extension(extended)):
        store = await open_store(url, tmp_path)
        async with Runs(load_crew(crew_at(tmp_path / "crew", model)), store) as runs:
            for text in ASKED.values():
                await runs.memory.recall.add("ann", "", "ann", text)
            before = await found_ones(runs)
            await Chores(runs).drain()
            after = await found_by_both(runs, before)
            assert right(before) < 3 < right(after), (before, after)
            orders.append(after)
    assert orders[0] == orders[1]


def test_a_database_without_the_extension_is_an_error_at_load(
    model: str, postgres: Postgres, tmp_path: Path
):
    """That names the command."""
    folder = crew_at(tmp_path / "crew", model)
    command: list[str | Path] = [BIN / "crew", "serve", folder, "--port", "0"]
    environment = clean_environment(CREW_DATABASE_URL=postgres.database())
    done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=120)
    assert done.returncode != 0
    assert "CREATE EXTENSION vector;" in done.stdout + done.stderr
    assert "Traceback" not in done.stderr
