"""Vectors of a real model, and PostgreSQL with the extension that compares them."""

import shutil
import subprocess
import tempfile
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
from tests.support.processes import BIN, clean_environment

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


async def found_ones(runs: Runs) -> int:
    """How many questions find their text among the first two."""
    found = [await runs.memory.recall.searched("ann", "", one, 2) for one in ASKED]
    pairs = zip(found, ASKED.values(), strict=True)
    return sum(text in [item.text for item in some] for some, text in pairs)


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
            after = await found_ones(runs)
            assert before < 3 < after, (before, after)
            found = [await runs.memory.recall.searched("ann", "", one, 6) for one in ASKED]
            orders.append([[one.text for one in some] for some in found])
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
