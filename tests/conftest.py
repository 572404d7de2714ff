"""Fixtures of all tests."""

import os
from collections.abc import Iterator

import pytest
from hypothesis import settings

from tests.support.postgres import Postgres

# hypothesis must not fail a test because a shared machine was slow for a moment
settings.register_profile("here", deadline=None, derandomize=bool(os.environ.get("CI")))
settings.load_profile("here")


@pytest.fixture
def anyio_backend() -> str:
    """The runtime is asyncio's."""
    return "asyncio"


@pytest.fixture(scope="session")
def postgres() -> Iterator[Postgres]:
    """One server for the tests of a process; each takes a database of its own."""
    with Postgres() as server:
        yield server
