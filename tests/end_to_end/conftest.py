"""Processes that tests share."""

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.support.fleet import Fleet
from tests.support.postgres import Postgres
from tests.support.processes import (
    ServerProcess,
    serving,
)
from tests.support.served_crew import crew


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    """One server for the tests that leave it as it was."""
    limits = {"client_start_agents": ["b"]}
    with serving(crew(tmp_path_factory.mktemp("server"), **limits)) as started:
        yield started


@pytest.fixture
def fleet(postgres: Postgres, tmp_path: Path) -> Iterator[Fleet]:
    with ExitStack() as stack:
        yield Fleet(tmp_path, postgres.database(), stack)
