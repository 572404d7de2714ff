"""Recall memory, in the database of a store."""

from collections.abc import Sequence
from dataclasses import replace

from pydantic_core import to_json

from crew.backends.sql.conversations import lock_conversation, set_conversation
from crew.backends.sql.remembered.core import add_version, has_place
from crew.backends.sql.remembered.items import (
    GET,
    ITEM,
    ITEMS,
    LOCK_OWNER,
    add_items,
    delete_item,
    forget_rest,
    items_of,
    set_item,
)
from crew.backends.sql.remembered.vectors import alike, nearest_numbers
from crew.backends.sql.statements import sql
from crew.backends.sql.transactions import Rows, SqlDatabase, Steps
from crew.journal.errors import StoreError
from crew.journal.records.remembered.recall import (
    HALVINGS,
    K1,
    SCORE_STEPS,
    Addition,
    B,
    Lesson,
    RecallItem,
    RecallLimits,
    Remembered,
    Search,
    by_rank,
    weights_of,
)
from crew.journal.records.remembered.vectors import QueryVector

# of the items, and of each word
STATISTICS = sql("""
SELECT NULL, count(*), coalesce(sum(length), 0)::bigint FROM crew_recall
WHERE owner = $1 AND replaced_by = ''
UNION ALL
SELECT term, count(*), 0 FROM crew_recall_terms WHERE owner = $1 AND term = ANY($2) GROUP BY term
""")
# the words come first, which SQLite does with a CROSS JOIN alone: only their postings are read. Of
# the items that these find the best by words alone are looked at; see _is_whole
SEARCH = sql(f"""
WITH word AS MATERIALIZED (
    SELECT key AS term, value::text::float8 * {K1 + 1} AS weight FROM json_each($2::text::json)
), hit AS MATERIALIZED (
    SELECT number, score FROM (
        SELECT posting.number AS number, sum(word.weight * posting.uses
            / (posting.uses + {K1} * ({1 - B} + {B} * posting.length / $5::float8))) AS score
        FROM word CROSS JOIN crew_recall_terms AS posting
        WHERE posting.owner = $1 AND posting.term = word.term
        GROUP BY posting.number
    ) AS scored ORDER BY score DESC LIMIT $9
)
SELECT found.document, best.score, (SELECT count(*) FROM hit), (SELECT min(score) FROM hit) FROM (
    SELECT number, item_id, score FROM (
        SELECT hit.number AS number, item.item_id AS item_id, round({SCORE_STEPS} * hit.score
            * (0.7 + 0.3 * item.importance)
            * power(0.5, least(greatest($3::float8 - item.seen_day, 0) / $4::float8, {HALVINGS}))
        ) AS score
        FROM hit CROSS JOIN crew_recall AS item
        WHERE item.owner = $1 AND item.number = hit.number AND item.used_day >= $6::float8
    ) AS ranked
    WHERE score >= $7::float8 ORDER BY score DESC, item_id DESC LIMIT $8
) AS best CROSS JOIN crew_recall_documents AS found
WHERE found.owner = $1 AND found.number = best.number
ORDER BY best.score DESC, best.item_id DESC
""")  # noqa: S608 # made of numbers of ours
# of the best by words alone; all, where these do not suffice
LOOKED_AT, ALL = 300, 1_000_000
LISTED = sql("""
SELECT found.number, found.document
FROM crew_recall AS item CROSS JOIN crew_recall_documents AS found
WHERE item.owner = $1 AND ($2 = '' OR item.item_id < $2)
    AND ($3::int = 1 OR item.replaced_by = '')
    AND found.owner = $1 AND found.number = item.number
ORDER BY item.item_id DESC LIMIT $4
""")
NEAREST = alike("""
SELECT known.number AS number, known.vector AS vector FROM crew_recall_vectors AS known
JOIN crew_recall AS item ON item.owner = known.owner AND item.number = known.number
WHERE known.owner = $3 AND known.space = $4 AND known.dimensions = $5::int
    AND item.replaced_by = '' AND item.used_day >= $6::float8
""")
OF_NUMBERS = sql(ITEMS.format("number = ANY($2)"))
OLD = sql("""
DELETE FROM crew_recall WHERE (owner, number) IN (
    SELECT owner, number FROM crew_recall WHERE used_day < $1 LIMIT $2
) AND used_day < $1 RETURNING owner, number
""")


class SqlRecall:
    """See RecallLog."""

    def __init__(self, database: SqlDatabase) -> None:
        self._database = database

    async def add(
        self, owner: str, additions: Sequence[Addition], limits: RecallLimits
    ) -> list[Remembered] | None:
        """See RecallLog."""

        def work() -> Steps[list[Remembered] | None]:
            if not (yield from has_place(owner)):
                return None
            return (yield from add_items(owner, additions, limits))

        return await self._database.transact(work)

    async def learn(self, lesson: Lesson, limits: RecallLimits) -> list[Remembered] | None:
        """See RecallLog."""
        return await self._database.transact(lambda: _learn(lesson, limits))

    async def search(self, search: Search) -> list[tuple[RecallItem, float]]:
        """See RecallLog."""
        if not search.terms:
            return []
        owner = search.owner
        ((_, items, words), *uses) = await self._database.fetch(
            STATISTICS, owner, list(search.terms)
        )
        weights = weights_of({term: count for term, count, _ in uses}, items)
        if not weights:
            return []
        average = max(1, words) / max(1, items)
        times = (search.now, search.half_life_days, average, search.since)
        least = search.min_score * SCORE_STEPS
        for limit in (LOOKED_AT, ALL):
            values = (to_json(weights).decode(), *times, least, search.most, limit)
            found = await self._database.fetch(SEARCH, owner, *values)
            if _is_whole(found, search.most, limit, least):
                break
        return [(ITEM.validate_json(text), score / SCORE_STEPS) for text, score, *_ in found]

    async def nearest(self, search: Search, query: QueryVector) -> list[RecallItem]:
        """See RecallLog."""
        place = (search.owner, query.space, query.dimensions, search.since)
        numbers = dict(await nearest_numbers(self._database, NEAREST, query, LOOKED_AT, *place))
        rows = await self._database.fetch(OF_NUMBERS, search.owner, list(numbers))
        found = [(one.item, numbers[one.number]) for one in items_of(rows)]
        return [item for item, _ in by_rank(found, search)]

    async def get(self, owner: str, item_id: str) -> RecallItem | None:
        """See RecallLog."""
        found = items_of(await self._database.fetch(GET, owner, item_id))
        return found[0].item if found else None

    async def listed(
        self, owner: str, limit: int = 50, after: str = "", *, replaced: bool = False
    ) -> list[RecallItem]:
        """See RecallLog."""
        found = await self._database.fetch(LISTED, owner, after, int(replaced), limit)
        return [one.item for one in items_of(found)]

    async def touch(self, owner: str, item_ids: Sequence[str], at: str) -> None:
        """See RecallLog."""

        def work() -> Steps[None]:
            if not (yield LOCK_OWNER, (owner,)):
                return
            for item_id in item_ids:
                for one in items_of((yield GET, (owner, item_id))):
                    later = max(one.item.recalled_at, at)
                    yield from set_item(one.number, replace(one.item, recalled_at=later))

        await self._database.transact(work)

    async def delete(self, owner: str, item_id: str) -> bool:
        """See RecallLog."""
        is_deleted = await self._database.transact(lambda: delete_item(owner, item_id))
        if is_deleted:
            await self._database.forget_deleted()
        return is_deleted

    async def purge(self, since: float, limit: int = 1000) -> int:
        """See RecallLog."""

        def work() -> Steps[int]:
            found = yield OLD, (since, limit)
            of_owner: dict[str, list[int]] = {}
            for owner, number in found:
                of_owner.setdefault(owner, []).append(number)
            for owner, numbers in of_owner.items():
                yield from forget_rest(owner, numbers)
            return len(found)

        return await self._database.transact(work)


def _is_whole(found: Rows, most: int, limit: int, least: float) -> bool:
    """Return whether no item that was not looked at comes before the last one that was found.

    Importance and age make no score higher than words alone do.
    """
    if not found:
        return limit == ALL
    *_, (_, worst, hits, cutoff) = found
    bound = worst if len(found) == most else least
    return bool(hits < limit or bound > cutoff * SCORE_STEPS)


def _learn(lesson: Lesson, limits: RecallLimits) -> Steps[list[Remembered] | None]:
    known = yield from lock_conversation(lesson.owner, lesson.conversation_id)
    if known is None or known.created_at != lesson.created_at or known.learned != lesson.after:
        return None
    yield from set_conversation(replace(known, learned=lesson.through))
    for version in lesson.core:
        if not (yield from add_version(version)):
            # nothing of the lesson is kept: the chore is tried again
            raise StoreError(f"the block {version.block} has changed meanwhile")
    if not lesson.additions:
        return []
    return (yield from add_items(lesson.additions[0].item.owner, lesson.additions, limits))
