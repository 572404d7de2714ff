"""Fixtures of all tests."""

import os

import pytest
from hypothesis import settings

# hypothesis must not fail a test because a shared machine was slow for a moment
settings.register_profile("here", deadline=None, derandomize=bool(os.environ.get("CI")))
settings.load_profile("here")


@pytest.fixture
def anyio_backend() -> str:
    """The runtime is asyncio's."""
    return "asyncio"
