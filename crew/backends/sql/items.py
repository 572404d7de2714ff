"""Items of recall memory as transactions change them, in the database of a store."""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from pydantic import TypeAdapter
from pydantic_core import to_json

from crew.backends.sql.statements import sql
from crew.backends.sql.transactions import Steps
from crew.journal.records.recall import (
    HALVINGS,
    Addition,
    RecallItem,
    RecallLimits,
    Remembered,
    day_of,
    said_again,
    same_topics,
)
from tools.text.folding import fold

ITEM: TypeAdapter[RecallItem] = TypeAdapter(RecallItem)
ADD_OWNER = sql("INSERT INTO crew_recall_owners VALUES ($1) ON CONFLICT DO NOTHING")
# others wait with their changes of this owner until the transaction's end
LOCK_OWNER = sql("SELECT 1 FROM crew_recall_owners WHERE owner = $1 FOR UPDATE")
GET = sql("SELECT document FROM crew_recall WHERE owner = $1 AND item_id = $2")
OF_TEXT = sql("SELECT document FROM crew_recall WHERE owner = $1 AND digest = $2")
OF_KEY = sql("""
SELECT document FROM crew_recall WHERE owner = $1 AND key = $2 AND key <> '' AND replaced_by = ''
""")
LIVE = sql("SELECT document FROM crew_recall WHERE owner = $1 AND replaced_by = ''")
SET = sql("""
INSERT INTO crew_recall VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)
ON CONFLICT (owner, item_id) DO UPDATE SET key = excluded.key, importance = excluded.importance,
    seen_day = excluded.seen_day, used_day = excluded.used_day,
    replaced_by = excluded.replaced_by, document = excluded.document
""")
ADD_TERMS = sql("""
INSERT INTO crew_recall_terms
SELECT $1, word.key, $2, word.value::text::int, $4::int FROM json_each($3::text::json) AS word
""")
DELETE_TERMS = sql("DELETE FROM crew_recall_terms WHERE owner = $1 AND item_id = ANY($2)")
OLD = sql("DELETE FROM crew_recall WHERE owner = $1 AND used_day < $2 RETURNING item_id")
COUNT = sql("SELECT count(*) FROM crew_recall WHERE owner = $1")
# those that are replaced go first, then those of the least importance by now
SURPLUS = sql(f"""
DELETE FROM crew_recall WHERE owner = $1 AND item_id IN (
    SELECT item_id FROM crew_recall WHERE owner = $1
    ORDER BY CASE replaced_by WHEN '' THEN 1 ELSE 0 END,
        importance * power(
            0.5, least(greatest($2::float8 - seen_day, 0) / $3::float8, {HALVINGS})
        ), item_id
    LIMIT $4
) RETURNING item_id
""")  # noqa: S608 # made of a number of ours
DELETE = sql("DELETE FROM crew_recall WHERE owner = $1 AND item_id = $2 RETURNING item_id")
DELETE_OF_OWNER = [
    sql(f"DELETE FROM crew_{table} WHERE owner = $1")  # noqa: S608 # ours
    for table in ("recall_terms", "recall", "recall_owners")
]


def delete_recall(owner: str) -> Steps[None]:
    """Delete all that belongs to an owner."""
    yield LOCK_OWNER, (owner,)
    for statement in DELETE_OF_OWNER:
        yield statement, (owner,)


def delete_item(owner: str, item_id: str) -> Steps[bool]:
    """Delete an item."""
    if not (yield LOCK_OWNER, (owner,)):
        return False
    found = yield DELETE, (owner, item_id)
    yield DELETE_TERMS, (owner, [item_id])
    return bool(found)


def add_items(
    owner: str, additions: Sequence[Addition], limits: RecallLimits
) -> Steps[list[Remembered]]:
    """Add items; forget what is too much or too old."""
    yield ADD_OWNER, (owner,)
    yield LOCK_OWNER, (owner,)
    old = yield OLD, (owner, limits.since)
    done: list[Remembered] = []
    for one in additions:
        remembered = yield from _add(owner, one, limits)
        done.append(remembered)
    ((count,),) = yield COUNT, (owner,)
    if count > limits.max_items:
        values = (owner, limits.now, limits.half_life_days, count - limits.max_items)
        old += yield SURPLUS, values
    if old:
        yield DELETE_TERMS, (owner, [item_id for (item_id,) in old])
    return done


def _add(owner: str, addition: Addition, limits: RecallLimits) -> Steps[Remembered]:
    given = addition.item
    known = yield from _same(owner, addition, limits)
    if known is not None and given.call_key and known.call_key == given.call_key:
        return Remembered("added", known.item_id)
    item = given if known is None else said_again(known, given)
    replaced = yield from _replaced(item, addition.replaces)
    for one in replaced:
        yield SET, columns_of(replace(one, replaced_by=item.item_id))
    if replaced:
        yield DELETE_TERMS, (owner, [one.item_id for one in replaced])
    yield SET, columns_of(item, addition.length)
    if known is None or known.replaced_by:
        words = to_json(addition.terms).decode()
        yield ADD_TERMS, (owner, item.item_id, words, addition.length)
    if known is not None:
        return Remembered("again", item.item_id)
    if replaced:
        return Remembered("replaced", item.item_id, replaced[0].item_id)
    return Remembered("added", item.item_id)


def _same(owner: str, addition: Addition, limits: RecallLimits) -> Steps[RecallItem | None]:
    """Return the item that says the same already."""
    known = items_of((yield OF_TEXT, (owner, addition.item.digest)))
    if not known and addition.same_as:
        # one that was replaced says something that is true no more
        found = items_of((yield GET, (owner, addition.same_as)))
        known = [one for one in found if not one.replaced_by]
    if not known and limits.merge_similarity is not None and addition.item.topics:
        others = items_of((yield LIVE, (owner,)))
        item_id = same_topics(addition.item, others, limits.merge_similarity)
        known = [one for one in others if one.item_id == item_id]
    return known[0] if known else None


def _replaced(item: RecallItem, item_id: str) -> Steps[list[RecallItem]]:
    """Return the live items that an item takes the place of: of its key, and this one."""
    found = []
    if item.key:
        found += items_of((yield OF_KEY, (item.owner, fold(item.key))))
    if item_id:
        found += items_of((yield GET, (item.owner, item_id)))
    others = {one.item_id: one for one in found if not one.replaced_by}
    others.pop(item.item_id, None)
    return list(others.values())


def items_of(rows: Iterable[Sequence[str]]) -> list[RecallItem]:
    """Return the items of rows that have one document each."""
    return [ITEM.validate_json(document) for (document,) in rows]


def columns_of(item: RecallItem, length: int = 0) -> tuple[object, ...]:
    """Return the columns of an item; `length`: in words, of a new one."""
    return (
        item.owner,
        item.item_id,
        item.digest,
        fold(item.key),
        item.importance,
        day_of(item.seen_at),
        day_of(item.used_at),
        length,
        item.replaced_by,
        ITEM.dump_json(item).decode(),
    )
