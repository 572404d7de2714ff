"""Pots of budgets: whatever happens in which order, no limit is exceeded and nothing counts twice."""

import asyncio
import itertools
import tempfile
from collections import Counter
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from crew import MemoryStore, SqliteStore
from crew.backends.conformance.costs import sample_call
from crew.backends.conformance.samples import DAY
from crew.backends.postgres.schema import prepare
from crew.backends.postgres.server import PostgresServer
from crew.backends.postgres.store import PostgresStore
from crew.journal.records.spent.budgets import PotKey, PotState, Reservation, Share
from crew.journal.records.spent.costs import CALL, CallRow
from crew.journal.store import RunStore
from tests.support.postgres import Postgres, needs_postgres

# round amounts: pots are often just full
LIMITS = {"a": (500, None, None), "b": (None, 50, None), "c": (None, None, 2)}
NUMBERS = st.integers(0, 11)
RESERVED = st.tuples(
    st.just("reserve"),
    NUMBERS,
    st.sampled_from(["r1", "r2"]),
    st.sets(st.sampled_from(sorted(LIMITS)), min_size=1).map(sorted),
    st.integers(1, 4).map(lambda n: 100 * n),
    st.integers(1, 4).map(lambda n: 10 * n),
)
# what of its reservation it has used, in tenths; at worst all of it
SETTLED = st.tuples(st.just("settle"), NUMBERS, st.integers(0, 10))
LOST = st.tuples(st.just("lose"), st.sampled_from(["r1", "r2"]))
ADDED = st.tuples(st.just("add"), st.sampled_from(["a", "b"]), st.integers(1, 3))
STEPS = st.lists(
    st.one_of(RESERVED, RESERVED, RESERVED, SETTLED, SETTLED, LOST, ADDED), max_size=30
)


@dataclass
class Books:
    """What every store has to come to, in the simplest words."""

    used: dict[str, list[int]] = field(default_factory=lambda: {name: [0, 0, 0] for name in LIMITS})
    more: Counter[str] = field(default_factory=Counter)
    # by call: its run, pots and amounts
    held: dict[str, tuple[str, list[str], int, int]] = field(default_factory=dict)
    ended: set[str] = field(default_factory=set)

    def left(self, name: str) -> list[float]:
        """Money, tokens and calls for which a pot has room."""
        held = [one for one in self.held.values() if name in one[1]]
        parts = (sum(one[2] for one in held), sum(one[3] for one in held), len(held))
        limits = list(LIMITS[name])
        more = (100 * self.more[name], 10 * self.more[name], 0)
        return [
            float("inf") if limit is None else limit + extra - used - reserved
            for limit, extra, used, reserved in zip(
                limits, more, self.used[name], parts, strict=True
            )
        ]

    def settle(self, call: str, nanos: int, tokens: int) -> None:
        _, pots, _, _ = self.held.pop(call)
        self.ended.add(call)
        for name in pots:
            for place, amount in enumerate((nanos, tokens, 1)):
                self.used[name][place] += amount


async def play(store: RunStore, steps: list[Any], prefix: str) -> None:
    """Do all steps, and compare the pots with the books after each."""
    books = Books()
    for kind, *values in steps:
        match kind:
            case "reserve":
                number, run, names, nanos, tokens = values
                call = f"{prefix}c{number}"
                if call in books.held or call in books.ended:
                    continue
                made = await store.budgets.reserve(
                    reservation(prefix, call, run, names, nanos, tokens)
                )
                room = all(
                    nanos <= left[0] and tokens <= left[1] and left[2] >= 1
                    for left in map(books.left, names)
                )
                assert made.is_done == room, (values, books)
                if room:
                    books.held[call] = run, names, nanos, tokens
            case "settle":
                number, tenths = values
                call = f"{prefix}c{number}"
                if call in books.held:
                    run, _, nanos, tokens = books.held[call]
                    used = nanos * tenths // 10, tokens * tenths // 10
                    books.settle(call, *used)
                else:
                    # an event that is written twice, or after the call has counted as lost
                    run, used = "r1", (500, 50)
                if call in books.ended:
                    await store.costs.record([call_row(prefix, call, run, *used)])
            case "lose":
                mine = [call for call, one in books.held.items() if one[0] == values[0]]
                assert await store.budgets.settle_lost(prefix + values[0]) == len(mine)
                for call in mine:
                    books.settle(call, *books.held[call][2:])
            case "add":
                name, amount = values
                key = PotKey(prefix + name, "", "")
                await store.budgets.add(key, "", 100 * amount, 10 * amount)
                books.more[name] += amount
        compare(await store.budgets.pots([prefix + name for name in LIMITS]), books, prefix)


def compare(pots: list[PotState], books: Books, prefix: str) -> None:
    for pot in pots:
        name = pot.key.budget.removeprefix(prefix)
        held = [one for one in books.held.values() if name in one[1]]
        assert [pot.nanos, pot.tokens, pot.calls] == books.used[name], (pot, books)
        reserved = [sum(one[2] for one in held), sum(one[3] for one in held), len(held)]
        assert [pot.held_nanos, pot.held_tokens, pot.held_calls] == reserved, (pot, books)
        assert min(books.left(name)) >= 0, (pot, books)


def reservation(
    prefix: str, call: str, run: str, names: list[str], nanos: int, tokens: int
) -> Reservation:
    shares = [
        Share(PotKey(prefix + name, "", ""), "", nanos, tokens, *LIMITS[name]) for name in names
    ]
    lost = replace(call_row(prefix, call, run, nanos, tokens), lost=1)
    return Reservation(call, prefix + run, shares, DAY.format(3), CALL.dump_json(lost).decode())


def call_row(prefix: str, call: str, run: str, nanos: int, tokens: int) -> CallRow:
    more = {"input": tokens, "output": 0, "thinking": 0, "cache_read": 0, "cache_write": 0}
    return sample_call(call, run_id=prefix + run, nanos=nanos, **more)


@settings(max_examples=100)
@given(STEPS)
def test_in_memory_and_in_sqlite(steps: list[Any]):
    async def both(folder: str) -> None:
        for store in (MemoryStore(), SqliteStore(Path(folder) / "x.db")):
            await play(store, steps, "")
            await store.aclose()

    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(both(folder))


@needs_postgres
def test_in_postgresql(postgres: Postgres):
    """All schedules in one database, each with pots of its own."""
    url, numbers = postgres.database(), itertools.count()

    async def opened() -> RunStore:
        return PostgresStore(PostgresServer(url, 5, await prepare(url)))

    with asyncio.Runner() as runner:
        store = runner.run(opened())

        @settings(max_examples=60)
        @given(STEPS)
        def schedules(steps: list[Any]) -> None:
            runner.run(play(store, steps, f"s{next(numbers)}-"))

        schedules()
        runner.run(store.aclose())
