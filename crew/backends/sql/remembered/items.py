"""Items of recall memory as transactions change them, in the database of a store."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from pydantic import TypeAdapter
from pydantic_core import to_json

from crew.backends.sql.chores import insert_chores
from crew.backends.sql.statements import sql
from crew.backends.sql.transactions import Steps
from crew.journal.records.conversations import Chore
from crew.journal.records.remembered.recall import (
    HALVINGS,
    NOT_KEPT,
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
# each with its number
ITEMS = """
SELECT number, document FROM crew_recall_documents WHERE owner = $1 AND number IN (
    SELECT number FROM crew_recall WHERE owner = $1 AND {}
)
"""
GET = sql(ITEMS.format("item_id = $2"))
OF_TEXT = sql(ITEMS.format("digest = $2"))
OF_KEY = sql(ITEMS.format("key = $2 AND key <> '' AND replaced_by = ''"))
LIVE = sql(ITEMS.format("replaced_by = ''"))
NEXT = sql("SELECT coalesce(max(number), 0) + 1 FROM crew_recall WHERE owner = $1")
ADD = sql("INSERT INTO crew_recall VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)")
ADD_DOCUMENT = sql("INSERT INTO crew_recall_documents VALUES ($1, $2, $3)")
SET = sql("""
UPDATE crew_recall SET key = $3, importance = $4, seen_day = $5, used_day = $6, replaced_by = $7
WHERE owner = $1 AND number = $2
""")
SET_DOCUMENT = sql("""
UPDATE crew_recall_documents SET document = $3 WHERE owner = $1 AND number = $2
""")
SET_LENGTH = sql("UPDATE crew_recall SET length = $3 WHERE owner = $1 AND number = $2")
ADD_TERMS = sql("""
INSERT INTO crew_recall_terms
SELECT $1, word.key, $2::bigint, word.value::text::int, $4::int
FROM json_each($3::text::json) AS word
""")
DELETE_TERMS = sql("DELETE FROM crew_recall_terms WHERE owner = $1 AND number = ANY($2)")
DELETE_VECTORS = sql("DELETE FROM crew_recall_vectors WHERE owner = $1 AND number = ANY($2)")
DELETE_DOCUMENTS = sql("DELETE FROM crew_recall_documents WHERE owner = $1 AND number = ANY($2)")
OLD = sql("DELETE FROM crew_recall WHERE owner = $1 AND used_day < $2 RETURNING number")
COUNT = sql("SELECT count(*) FROM crew_recall WHERE owner = $1")
# those that are replaced go first, then those of the least importance by now
SURPLUS = sql(f"""
DELETE FROM crew_recall WHERE owner = $1 AND number IN (
    SELECT number FROM crew_recall WHERE owner = $1
    ORDER BY CASE replaced_by WHEN '' THEN 1 ELSE 0 END,
        importance * power(
            0.5, least(greatest($2::float8 - seen_day, 0) / $3::float8, {HALVINGS})
        ), item_id
    LIMIT $4
) RETURNING number
""")  # noqa: S608 # made of a number of ours
DELETE = sql("DELETE FROM crew_recall WHERE owner = $1 AND item_id = $2 RETURNING number")
DELETE_OF_OWNER = [
    sql(f"DELETE FROM crew_{table} WHERE owner = $1")  # noqa: S608 # ours
    for table in ("recall_terms", "recall_vectors", "recall_documents", "recall", "recall_owners")
]


@dataclass(frozen=True, slots=True)
class Numbered:
    """An item with its number, which its owner has once."""

    number: int
    item: RecallItem


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
    yield from forget_rest(owner, [number for (number,) in found])
    return bool(found)


def forget_rest(owner: str, numbers: Sequence[int]) -> Steps[None]:
    """Delete the texts, the words and the vectors of items that are deleted."""
    yield DELETE_DOCUMENTS, (owner, list(numbers))
    yield DELETE_TERMS, (owner, list(numbers))
    yield DELETE_VECTORS, (owner, list(numbers))


def add_items(
    owner: str, additions: Sequence[Addition], limits: RecallLimits
) -> Steps[list[Remembered]]:
    """Add items; forget what is too much or too old."""
    yield ADD_OWNER, (owner,)
    yield LOCK_OWNER, (owner,)
    old = yield OLD, (owner, limits.since)
    done: list[tuple[int, Remembered]] = []
    for one in additions:
        added = yield from _add(owner, one, limits)
        done.append(added)
    ((count,),) = yield COUNT, (owner,)
    if count > limits.max_items:
        values = (owner, limits.now, limits.half_life_days, count - limits.max_items)
        old += yield SURPLUS, values
    forgotten = {number for (number,) in old}
    if forgotten:
        yield from forget_rest(owner, sorted(forgotten))
    if limits.embeds:
        yield from insert_chores([Chore("embed", owner, "", additions[-1].item.seen_at)])
    return [NOT_KEPT if number in forgotten else one for number, one in done]


def _add(owner: str, addition: Addition, limits: RecallLimits) -> Steps[tuple[int, Remembered]]:
    """Return the number of the item, with what that has come to."""
    given = addition.item
    same = yield from _same(owner, addition, limits)
    known = same.item if same is not None else None
    if same is not None and given.call_key and same.item.call_key == given.call_key:
        return same.number, Remembered("added", same.item.item_id)
    item = given if known is None else said_again(known, given)
    replaced = yield from _replaced(item, addition.replaces)
    for one in replaced:
        yield from set_item(one.number, replace(one.item, replaced_by=item.item_id))
    if replaced:
        yield DELETE_TERMS, (owner, [one.number for one in replaced])
    number = same.number if same is not None else (yield from _insert(addition))
    if same is not None:
        yield from set_item(number, item)
    if known is None or known.replaced_by:
        words = to_json(addition.terms).decode()
        yield ADD_TERMS, (owner, number, words, addition.length)
        yield SET_LENGTH, (owner, number, addition.length)
    if known is not None:
        return number, Remembered("again", item.item_id)
    if replaced:
        return number, Remembered("replaced", item.item_id, replaced[0].item.item_id)
    return number, Remembered("added", item.item_id)


def _insert(addition: Addition) -> Steps[int]:
    item = addition.item
    ((number,),) = yield NEXT, (item.owner,)
    days = day_of(item.seen_at), day_of(item.used_at)
    of_text = (item.item_id, item.digest, fold(item.key), item.importance)
    yield ADD, (item.owner, number, *of_text, *days, addition.length, item.replaced_by)
    yield ADD_DOCUMENT, (item.owner, number, ITEM.dump_json(item).decode())
    return int(number)


def set_item(number: int, item: RecallItem) -> Steps[None]:
    """Change an item of an owner that is locked."""
    days = day_of(item.seen_at), day_of(item.used_at)
    values = (fold(item.key), item.importance, *days, item.replaced_by)
    yield SET, (item.owner, number, *values)
    yield SET_DOCUMENT, (item.owner, number, ITEM.dump_json(item).decode())


def _same(owner: str, addition: Addition, limits: RecallLimits) -> Steps[Numbered | None]:
    """Return the item that says the same already."""
    known = items_of((yield OF_TEXT, (owner, addition.item.digest)))
    if not known and addition.same_as:
        # one that was replaced says something that is true no more
        found = items_of((yield GET, (owner, addition.same_as)))
        known = [one for one in found if not one.item.replaced_by]
    if not known and limits.merge_similarity is not None and addition.item.topics:
        others = items_of((yield LIVE, (owner,)))
        live = (one.item for one in others)
        item_id = same_topics(addition.item, live, limits.merge_similarity)
        known = [one for one in others if one.item.item_id == item_id]
    return known[0] if known else None


def _replaced(item: RecallItem, item_id: str) -> Steps[list[Numbered]]:
    """Return the live items that an item takes the place of: of its key, and this one."""
    found: list[Numbered] = []
    if item.key:
        found += items_of((yield OF_KEY, (item.owner, fold(item.key))))
    if item_id:
        found += items_of((yield GET, (item.owner, item_id)))
    others = {one.number: one for one in found if not one.item.replaced_by}
    return [one for one in others.values() if one.item.item_id != item.item_id]


def items_of(rows: Iterable[Sequence[object]]) -> list[Numbered]:
    """Return the items of rows that have a number and a document each."""
    return [Numbered(int(str(number)), ITEM.validate_json(str(text))) for number, text in rows]
