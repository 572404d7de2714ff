"""What calls have cost, in the database of a store. Triggers keep their sums by day."""

from collections.abc import Sequence
from itertools import chain
from operator import attrgetter

from crew.backends.sql.statements import Statement, insert, sql
from crew.backends.sql.transactions import SqlDatabase, Steps
from crew.journal.records.spent.costs import NEWEST_CALLS, CallRow, CostKey, CostQuery, CostSum

# in the order of a CallRow
CALL_COLUMNS = (
    "id, at, day, run_id, seq, attempt, agent_id, provider, model, user_id, owner, "
    "conversation_id, outcome, input, output, thinking, cache_read, cache_write, nanos, price, "
    "estimated, lost"
)
call_values = attrgetter(*CALL_COLUMNS.split(", "))
# by key: its column
KEY_COLUMNS: dict[CostKey, str] = {
    "day": "day",
    "agent": "agent_id",
    "provider": "provider",
    "model": "model",
    "user": "user_id",
    "token": "owner",
    "run": "run_id",
    "conversation": "conversation_id",
    "hour": "substr(at, 1, 13)",
}
SUMS = "sum(input), sum(output), sum(thinking), sum(cache_read), sum(cache_write)"
OF_CALLS = f"count(*), {SUMS}, coalesce(sum(nanos), 0), count(*) - count(nanos), sum(estimated)"
OF_DAYS = f"sum(calls), {SUMS}, sum(nanos), sum(unpriced), sum(estimated)"
CALLS_OF = sql(f"SELECT {CALL_COLUMNS} FROM crew_calls WHERE run_id = $1 ORDER BY at, id")  # noqa: S608 # ours
ANSWERS = sql(f"""
SELECT output FROM (
    SELECT at, agent_id, provider, model, outcome, output FROM crew_calls
    ORDER BY at DESC LIMIT {NEWEST_CALLS}
) AS newest
WHERE agent_id = $1 AND provider = $2 AND model = $3 AND outcome = 'success'
ORDER BY at DESC LIMIT $4
""")  # noqa: S608 # ours
OF_USER = sql(f"""
SELECT {CALL_COLUMNS} FROM crew_calls
WHERE user_id = $1 AND user_id <> '' AND (at, id) > ($2, $3) ORDER BY at, id LIMIT $4
""")  # noqa: S608 # ours
# a token may have the name of its person
UNNAMED = "CASE WHEN owner = $1 THEN '' ELSE owner END"
FORGET_CALLS = sql(f"""
UPDATE crew_calls SET user_id = '', conversation_id = '', owner = {UNNAMED}
WHERE user_id = $1 AND user_id <> ''
""")  # noqa: S608 # ours
SPENT = (
    "day, agent_id, provider, model, user_id, owner, shard, calls, input, output, thinking, "
    "cache_read, cache_write, nanos, unpriced, estimated"
)
AMOUNTS = SPENT.split(", ")[7:]
ADDED = ", ".join(f"{name} = crew_spent.{name} + excluded.{name}" for name in AMOUNTS)
# both statements lock in one order
FORGET_SUMS = sql(f"""
INSERT INTO crew_spent ({SPENT})
SELECT day, agent_id, provider, model, '', {UNNAMED}, shard,
    {", ".join(f"sum({name})" for name in AMOUNTS)}
FROM crew_spent WHERE user_id = $1 AND user_id <> ''
GROUP BY day, agent_id, provider, model, {UNNAMED}, shard
ORDER BY day, agent_id, provider, model, {UNNAMED}, shard
ON CONFLICT (day, agent_id, provider, model, user_id, owner, shard) DO UPDATE SET {ADDED}
""")  # noqa: S608 # ours
DELETE_SUMS = sql("DELETE FROM crew_spent WHERE user_id = $1 AND user_id <> ''")
PURGE_CALLS = sql("""
DELETE FROM crew_calls WHERE id IN (SELECT id FROM crew_calls WHERE at < $1 LIMIT $2) RETURNING 1
""")
PURGE_SUMS = sql("DELETE FROM crew_spent WHERE day < $1 RETURNING 1")


def insert_calls(calls: Sequence[CallRow]) -> Steps[None]:
    """Keep calls, within the transaction of an event."""
    rows = chain.from_iterable(map(call_values, calls))
    yield insert("calls", CALL_COLUMNS, len(calls)), tuple(rows)


def select_sums(wanted: CostQuery) -> tuple[Statement, Sequence[object]]:
    """Return the statement of sums, and its values."""
    columns = [KEY_COLUMNS[key] for key in wanted.by]
    if wanted.reads_calls:
        table, sums, since, first = "crew_calls", OF_CALLS, "at", wanted.since
    else:
        table, sums, since, first = "crew_spent", OF_DAYS, "day", wanted.since_day
    chosen = "".join(f"{one}, " for one in columns)
    group = f"GROUP BY {', '.join(columns)}" if columns else ""
    nanos = "coalesce(sum(nanos), 0)"
    text = f"""
    SELECT {chosen}{sums} FROM {table} WHERE {since} >= $1
        AND ($2::text IS NULL OR user_id = $2 OR owner = $2)
    {group} HAVING count(*) > 0 ORDER BY {nanos} DESC, {_first(sums)} DESC{_then(columns)} LIMIT $3
    """  # noqa: S608 # ours
    return sql(text), (first, wanted.caller, wanted.limit)


def _first(sums: str) -> str:
    return sums.split(",", 1)[0]


def _then(columns: Sequence[str]) -> str:
    return "".join(f", {one}" for one in columns)


class SqlCosts:
    """See CostLog."""

    def __init__(self, database: SqlDatabase) -> None:
        self._database = database

    async def record(self, calls: Sequence[CallRow]) -> None:
        """See CostLog."""
        if calls:
            await self._database.transact(lambda: insert_calls(calls))

    async def calls_of(self, run_id: str) -> list[CallRow]:
        """See CostLog."""
        return [CallRow(*one) for one in await self._database.fetch(CALLS_OF, run_id)]

    async def of_user(
        self, user_id: str, after: tuple[str, str] = ("", ""), limit: int = 100
    ) -> list[CallRow]:
        """See CostLog."""
        found = await self._database.fetch(OF_USER, user_id, *after, limit)
        return [CallRow(*one) for one in found]

    async def answer_tokens(
        self, agent_id: str, provider: str, model: str, limit: int
    ) -> list[int]:
        """See CostLog."""
        found = await self._database.fetch(ANSWERS, agent_id, provider, model, limit)
        return [tokens for (tokens,) in reversed(found)]

    async def sums(self, wanted: CostQuery) -> list[CostSum]:
        """See CostLog."""
        statement, values = select_sums(wanted)
        found, count = await self._database.fetch(statement, *values), len(wanted.by)
        return [
            CostSum(tuple(map(str, one[:count])), *(int(each) for each in one[count:]))
            for one in map(tuple, found)
        ]

    async def forget_user(self, user_id: str) -> None:
        """See CostLog."""
        await self._database.transact(lambda: remove_user(user_id))

    async def purge(self, calls_before: str, days_before: str, limit: int = 1000) -> int:
        """See CostLog."""
        calls = await self._database.fetch(PURGE_CALLS, calls_before, limit, writes=True)
        sums = await self._database.fetch(PURGE_SUMS, days_before, writes=True)
        return len(calls) + len(sums)


def remove_user(user_id: str) -> Steps[None]:
    """Remove what names a user; see CostLog."""
    for statement in (FORGET_CALLS, FORGET_SUMS, DELETE_SUMS):
        yield statement, (user_id,)
