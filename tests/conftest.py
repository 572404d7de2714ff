"""Fixtures of all tests."""

import os
import signal
import sys
from collections.abc import Generator, Iterator
from typing import Any

# imported in the middle of a test, it is parsed while the garbage collector ends coroutines, which
# CPython 3.11 takes for an error of the parser (python/cpython#106905)
import hypothesis.internal.conjecture.optimiser  # noqa: F401
import pytest
from coverage import Coverage
from hypothesis import settings
from playwright.sync_api import Browser

from tests.support.browser import opened_browser
from tests.support.postgres import Postgres
from tools import VirtualLoop

# hypothesis must not fail a test because a shared machine was slow for a moment
settings.register_profile("here", deadline=None, derandomize=bool(os.environ.get("CI")))
settings.load_profile("here")
# a shell's background job ignores Ctrl-C, and so would the programs that tests start and interrupt
signal.signal(signal.SIGINT, signal.default_int_handler)


# Many examples of the same lines, or lines that other processes run. To measure what they cover takes
# as long again, and finds nothing new.
UNMEASURED = (
    "tests/agents/dialects/test_talks.py",
    "tests/agents/test_text_calls.py",
    "tests/crew/config/test_every_key.py",
    "tests/crew/rehearsal/test_coverage.py",
    "tests/crew/rehearsal/test_keeping.py",
    "tests/crew/rehearsal/test_mutants.py",
    "tests/defences/",
    "tests/server/http/",
    "tests/server/protocols/test_folds.py",
    "tests/server/test_hostile_texts.py",
    "tests/test_",
)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    """Run these, and what draws its examples, while no coverage is measured."""
    measuring, name = Coverage.current(), item.nodeid
    is_unmeasured = name.startswith(UNMEASURED) or "[pooler-" in name
    draws = getattr(getattr(item, "obj", None), "is_hypothesis_test", False)
    if measuring is None or not (draws or is_unmeasured):
        return (yield)
    # by these, processes that it starts measure as well
    given = {name: os.environ.pop(name) for name in [*os.environ] if name.startswith("COVERAGE_")}
    measuring.stop()
    try:
        return (yield)
    finally:
        measuring.start()
        os.environ.update(given)


# of pytest itself, or of a plugin; only the first says why
FIRST_ERROR: list[str] = []


def pytest_internalerror(excrepr: object) -> None:
    """Keep the first one: those that follow from it come behind it in a long log."""
    if not FIRST_ERROR:
        FIRST_ERROR.append(str(excrepr)[-4000:])


def pytest_unconfigure() -> None:
    """Say at the end of the log what the first one was."""
    for text in FIRST_ERROR:
        print(f"\nThe first internal error was:\n{text}", file=sys.stderr)


def pytest_xdist_auto_num_workers() -> int:
    """Two for each core: many tests wait for processes more than they compute."""
    return 2 * (os.cpu_count() or 1)


@pytest.fixture
def anyio_backend() -> tuple[str, dict[str, Any]]:
    """The runtime is asyncio's, with a loop that can move virtual clocks."""
    return "asyncio", {"loop_factory": VirtualLoop}


@pytest.fixture(scope="session")
def postgres() -> Iterator[Postgres]:
    """One server for the tests of a process; each takes a database of its own."""
    with Postgres() as server:
        yield server


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """One browser for the tests of a module; each opens a page of its own."""
    with opened_browser() as opened:
        yield opened
