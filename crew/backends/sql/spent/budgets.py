"""The pots of budgets, in the database of a store. A trigger settles what a call has reserved."""

from collections.abc import Sequence
from dataclasses import astuple
from itertools import chain

from crew.backends.sql.outbox import insert_notices
from crew.backends.sql.spent.costs import insert_calls
from crew.backends.sql.statements import insert, sql
from crew.backends.sql.transactions import SqlDatabase, Steps
from crew.journal.records.rows import IdempotencyRecord, Notice
from crew.journal.records.spent.budgets import (
    HIDDEN,
    NO_ROOM,
    PotKey,
    PotState,
    Reservation,
    Reserved,
    Share,
    hidden_value,
)
from crew.journal.records.spent.costs import CALL

STATE = (
    "budget, value, period, resets_at, nanos, tokens, calls, held_nanos, held_tokens, held_calls, "
    "more_nanos, more_tokens"
)
KEY = "budget = $1 AND value = $2 AND period = $3"
MAKE = "budget, value, period, resets_at"
HOLD = sql(f"""
UPDATE crew_pots SET held_nanos = held_nanos + $4, held_tokens = held_tokens + $5,
    held_calls = held_calls + 1 WHERE {KEY}
""")  # noqa: S608 # ours
RESERVATION = "id, budget, value, period, run_id, nanos, tokens, until, call"
POTS = sql(f"SELECT {STATE} FROM crew_pots WHERE budget = ANY($1) ORDER BY budget, value, period")  # noqa: S608 # ours
POTS_OF = sql(f"""
SELECT {STATE} FROM crew_pots WHERE budget = ANY($1) AND value = $2 ORDER BY budget, value, period
""")  # noqa: S608 # ours
# what has ended spends nothing more
FULLEST = sql(f"""
SELECT {STATE} FROM crew_pots WHERE budget = $1 AND period = $2 AND NOT EXISTS (
    SELECT 1 FROM crew_runs WHERE run_id = value AND status NOT IN ('running', 'paused')
) ORDER BY greatest(
    coalesce(1.0 * nanos / nullif($3::bigint + more_nanos, 0), 0),
    coalesce(1.0 * tokens / nullif($4::bigint + more_tokens, 0), 0),
    coalesce(1.0 * calls / nullif($5::bigint, 0), 0)
) DESC, value LIMIT $6
""")  # noqa: S608 # ours
HELD = sql("""
SELECT budget, sum(held_nanos)::bigint FROM crew_pots
WHERE budget = ANY($1) AND period = ANY($2) AND held_calls > 0 GROUP BY budget
""")
POT = sql(f"SELECT {STATE} FROM crew_pots WHERE {KEY}")  # noqa: S608 # ours
ADD = sql(f"""
UPDATE crew_pots SET more_nanos = more_nanos + $4, more_tokens = more_tokens + $5 WHERE {KEY}
""")  # noqa: S608 # ours
# a part of the limit, or that there is no room; see NO_ROOM
WARN = sql(f"""
UPDATE crew_pots SET warned = CASE
    WHEN $4 < {NO_ROOM} THEN warned - warned % {NO_ROOM} + $4 ELSE warned + {NO_ROOM} END
WHERE {KEY} AND CASE WHEN $4 < {NO_ROOM} THEN warned % {NO_ROOM} < $4 ELSE warned < {NO_ROOM} END
RETURNING 1
""")  # noqa: S608 # ours
NOTE = sql("""
INSERT INTO crew_idempotency_records VALUES ($1, $2, $3, $4) ON CONFLICT DO NOTHING RETURNING 1
""")
OF_RUN = sql("SELECT DISTINCT id, call FROM crew_reservations WHERE run_id = $1 ORDER BY id")
OLD = sql("SELECT DISTINCT id, call FROM crew_reservations WHERE until < $1 ORDER BY id LIMIT $2")
# a call that was written all the same has settled nothing then
DROP = sql("DELETE FROM crew_reservations WHERE id = ANY($1)")
# one that calls reserve from now is another process's
OF_PERSON = f"""
SELECT {STATE}, warned FROM crew_pots WHERE {{}} AND NOT (budget = ANY($2))
    AND held_calls = 0 AND substr(value, 1, {len(HIDDEN)}) <> '{HIDDEN}'
"""  # noqa: S608 # ours
OF_ONE = sql(OF_PERSON.format("value = $1"))
OF_SEVERAL = sql(OF_PERSON.format("substr(value, 1, length($1::text)) = $1"))
OF_VALUES = sql(f"""
SELECT {STATE}, warned FROM crew_pots WHERE budget = ANY($1) AND value = ANY($2)
ORDER BY budget, value, period
""")  # noqa: S608 # ours
FORGET = sql(f"DELETE FROM crew_pots WHERE {KEY}")  # noqa: S608 # ours
SUMS = ("nanos", "tokens", "calls", "more_nanos", "more_tokens")
MERGE = sql(f"""
UPDATE crew_pots SET {", ".join(f"{name} = {name} + ${n}" for n, name in enumerate(SUMS, 4))},
    warned = greatest(warned, $9) WHERE {KEY}
""")  # noqa: S608 # ours
PURGE = sql("DELETE FROM crew_pots WHERE resets_at <> '' AND resets_at < $1 AND held_calls = 0")


class SqlBudgets:
    """See BudgetLog."""

    def __init__(self, database: SqlDatabase) -> None:
        self._database = database

    async def reserve(self, wanted: Reservation) -> Reserved:
        """See BudgetLog; this is for a database with one writer."""
        return await self._database.transact(lambda: _reserve(wanted), brief=True)

    async def pots(self, budgets: Sequence[str], value: str | None = None) -> list[PotState]:
        """See BudgetLog."""
        if value is None:
            found = await self._database.fetch(POTS, list(budgets))
        else:
            found = await self._database.fetch(POTS_OF, list(budgets), value)
        return [pot_state(row) for row in found]

    async def fullest(self, like: Share, limit: int) -> list[PotState]:
        """See BudgetLog."""
        key, most = like.key, (like.max_nanos, like.max_tokens, like.max_calls)
        found = await self._database.fetch(FULLEST, key.budget, key.period, *most, limit)
        return [pot_state(row) for row in found]

    async def held(self, budgets: Sequence[str], periods: Sequence[str]) -> dict[str, int]:
        """See BudgetLog."""
        found = await self._database.fetch(HELD, list(budgets), list(periods))
        return {str(budget): int(nanos) for budget, nanos in found}

    async def pot(self, key: PotKey) -> PotState | None:
        """See BudgetLog."""
        found = await self._database.fetch(POT, *key, brief=True)
        return pot_state(found[0]) if found else None

    async def add(
        self,
        key: PotKey,
        resets_at: str,
        nanos: int,
        tokens: int,
        once: IdempotencyRecord | None = None,
    ) -> None:
        """See BudgetLog."""

        def work() -> Steps[None]:
            if once is not None and not (yield NOTE, astuple(once)):
                return
            yield insert("pots", MAKE, 1), (*key, resets_at)
            yield ADD, (*key, nanos, tokens)

        await self._database.transact(work)

    async def warn(self, key: PotKey, thousandths: int, notices: Sequence[Notice] = ()) -> bool:
        """See BudgetLog."""

        def work() -> Steps[bool]:
            if not (yield WARN, (*key, thousandths)):
                return False
            yield from insert_notices(notices)
            return True

        return await self._database.transact(work)

    async def settle_lost(self, run_id: str) -> int:
        """See BudgetLog."""
        if not await self._database.fetch(OF_RUN, run_id, brief=True):
            return 0
        return await self._database.transact(lambda: _lose(OF_RUN, run_id))

    async def expire(self, now: str, limit: int = 100) -> int:
        """See BudgetLog."""
        return await self._database.transact(lambda: _lose(OLD, now, limit))

    async def hide(self, value: str, but: Sequence[str], *, begins: bool = False) -> None:
        """See BudgetLog."""

        def work() -> Steps[None]:
            for row in (yield OF_SEVERAL if begins else OF_ONE, (value, list(but))):
                yield from _rename(row, hidden_value(str(row[1])))

        await self._database.transact(work)

    async def show(self, values: Sequence[str], budgets: Sequence[str]) -> None:
        """See BudgetLog."""
        shown = {hidden_value(one): one for one in values}
        hidden = list(budgets), list(shown)

        def work() -> Steps[None]:
            for row in (yield OF_VALUES, hidden):
                yield from _rename(row, shown[str(row[1])])

        # runs begin with this, and hardly ever is there one
        if await self._database.fetch(OF_VALUES, *hidden, brief=True):
            await self._database.transact(work)

    async def purge(self, before: str) -> None:
        """See BudgetLog."""
        await self._database.fetch(PURGE, before, writes=True)


def _reserve(wanted: Reservation) -> Steps[Reserved]:
    shares, pots = wanted.shares, []
    for one in shares:
        found = yield POT, one.key
        if not found:
            yield insert("pots", MAKE, 1), (*one.key, one.resets_at)
        pots.append(pot_state(found[0]) if found else PotState(one.key, one.resets_at))
    if not all(one.fits(pot) for one, pot in zip(shares, pots, strict=True)):
        return Reserved(False, pots)
    for one in shares:
        yield HOLD, (*one.key, one.nanos, one.tokens)
    rows = chain.from_iterable(
        (wanted.id, *one.key, wanted.run_id, one.nanos, one.tokens, wanted.until, wanted.call)
        for one in shares
    )
    yield insert("reservations", RESERVATION, len(shares)), tuple(rows)
    return Reserved(True, pots)


def _rename(row: Sequence[object], value: str) -> Steps[None]:
    """Give a pot another value; of one that is there already, what was used is added."""
    (*columns, warned), state = row, pot_state(row[:-1])
    yield insert("pots", MAKE, 1), (columns[0], value, *columns[2:4])
    used = (getattr(state, name) for name in SUMS)
    yield MERGE, (columns[0], value, columns[2], *used, warned)
    yield FORGET, state.key


def _lose(statement: object, *values: object) -> Steps[int]:
    found = yield statement, values  # type: ignore[misc] # one of ours
    if not found:
        return 0
    yield from insert_calls([CALL.validate_json(call) for _, call in found])
    yield DROP, ([id_ for id_, _ in found],)
    return len(found)


def pot_state(row: Sequence[object]) -> PotState:
    """Return a pot, of the columns of STATE."""
    budget, value, period, resets_at, *amounts = row
    key = PotKey(str(budget), str(value), str(period))
    return PotState(key, str(resets_at), *(int(str(one)) for one in amounts))
