"""Vectors of texts, in the database of a store.

SQLite has bytes and compares them here, with numpy; PostgreSQL has arrays, which its extension
`vector` compares.
"""

import asyncio
import importlib.util
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from crew.backends.sql.chores import insert_chores
from crew.backends.sql.remembered.items import ITEM
from crew.backends.sql.remembered.items import LOCK_OWNER as LOCK_ITEMS
from crew.backends.sql.remembered.versions import LOCK_OWNER as LOCK_DOCUMENTS
from crew.backends.sql.statements import Statement, sql
from crew.backends.sql.transactions import SqlDatabase, Steps
from crew.journal.records.conversations import Chore
from crew.journal.records.remembered.vectors import QueryVector, Unembedded, numbers_of, similarity

HAS_EXTENSION = sql("SELECT 1 FROM pg_extension WHERE extname = 'vector'", "SELECT 1")
CREATE_EXTENSION = "CREATE EXTENSION vector"
# numbers and how alike they are, of the vectors of a list
ALIKE = """
WITH own AS MATERIALIZED ({})
SELECT number, 1 - (vector::vector <=> $1::text::vector) FROM own ORDER BY 2 DESC, 1 DESC LIMIT $2
"""


@dataclass(frozen=True, slots=True)
class VectorTable:
    """The statements of one kind of texts."""

    # $1 the collection, $2 the space
    begin: Statement
    # $3 the owner, $4 how many
    missing: Statement
    # $1 the owner, $2 the number, $3 the space, $4 the dimensions, $5 and $6 the vector, $7 the id
    put: Statement
    # $1 the owner: others wait with their changes until the transaction's end
    lock: Statement
    # returns the text of what was found
    read: Callable[[Sequence[Any]], str]


def _put(table: str, there: str) -> Statement:
    """Return what keeps a vector, if its text is there; each database takes its own form of it."""
    values = "SELECT $1, $2::bigint, $3, $4::int, {} WHERE {} AND EXISTS (" + there + ")"
    update = """ON CONFLICT (owner, number) DO UPDATE
SET space = excluded.space, dimensions = excluded.dimensions, vector = excluded.vector"""
    into = f"INSERT INTO crew_{table} {values} {update}"
    theirs = into.format("$5::text::real[]", "$6::bytea IS NOT NULL")
    return sql(theirs, sql(into.format("$6", "$5 IS NOT NULL")).sqlite)


# of the newest version alone
OF_RECALL = VectorTable(
    sql("""
SELECT DISTINCT live.owner FROM crew_recall AS live
WHERE live.replaced_by = '' AND $1::text = '' AND NOT EXISTS (
    SELECT 1 FROM crew_recall_vectors AS known
    WHERE known.owner = live.owner AND known.number = live.number AND known.space = $2
)
"""),
    sql("""
SELECT live.number, live.item_id, found.document FROM crew_recall AS live
JOIN crew_recall_documents AS found ON found.owner = live.owner AND found.number = live.number
WHERE live.owner = $3 AND live.replaced_by = '' AND $1::text = '' AND NOT EXISTS (
    SELECT 1 FROM crew_recall_vectors AS known
    WHERE known.owner = live.owner AND known.number = live.number AND known.space = $2
) ORDER BY live.number LIMIT $4
"""),
    _put(
        "recall_vectors",
        "SELECT 1 FROM crew_recall WHERE owner = $1 AND number = $2 AND item_id = $7"
        " AND replaced_by = ''",
    ),
    LOCK_ITEMS,
    lambda row: str(ITEM.validate_json(row[0]).text),
)
OF_DOCUMENTS = VectorTable(
    sql("""
SELECT DISTINCT live.owner FROM crew_documents AS found
JOIN crew_document_passages AS live
    ON live.owner = found.owner AND live.document_id = found.document_id
WHERE found.state = 'live' AND found.collection = $1 AND NOT EXISTS (
    SELECT 1 FROM crew_document_vectors AS known
    WHERE known.owner = live.owner AND known.number = live.number AND known.space = $2
)
"""),
    sql("""
SELECT live.number, live.document_id || ' ' || live.position, live.place, live.content
FROM crew_documents AS found
JOIN crew_document_passages AS live
    ON live.owner = found.owner AND live.document_id = found.document_id
WHERE found.owner = $3 AND found.state = 'live' AND found.collection = $1 AND NOT EXISTS (
    SELECT 1 FROM crew_document_vectors AS known
    WHERE known.owner = live.owner AND known.number = live.number AND known.space = $2
) ORDER BY live.number LIMIT $4
"""),
    _put(
        "document_vectors",
        "SELECT 1 FROM crew_document_passages WHERE owner = $1 AND number = $2"
        " AND document_id || ' ' || position = $7",
    ),
    LOCK_DOCUMENTS,
    # as its words have it
    lambda row: "\n".join(filter(None, row)),
)


class SqlVectors:
    """See VectorLog."""

    def __init__(self, database: SqlDatabase, table: VectorTable) -> None:
        """Of a store; `table`: of the kind of texts."""
        self._database, self._table = database, table

    async def missing_extension(self) -> str:
        """See VectorLog."""
        return "" if await self._database.fetch(HAS_EXTENSION) else CREATE_EXTENSION

    async def begin(self, collection: str, space: str, at: str) -> int:
        """See VectorLog."""

        def work() -> Steps[int]:
            owners = yield self._table.begin, (collection, space)
            yield from insert_chores([Chore("embed", one, collection, at) for (one,) in owners])
            return len(owners)

        return await self._database.transact(work)

    async def missing(
        self, owner: str, collection: str, space: str, limit: int
    ) -> list[Unembedded]:
        """See VectorLog."""
        values = (collection, space, owner, limit)
        found = await self._database.fetch(self._table.missing, *values)
        return [Unembedded(int(one), id_, self._table.read(rest)) for one, id_, *rest in found]

    async def put(
        self, owner: str, space: str, vectors: Sequence[tuple[Unembedded, bytes]]
    ) -> None:
        """See VectorLog."""

        def work() -> Steps[None]:
            # beside an erasure that is not done yet a text is there no more
            if not (yield self._table.lock, (owner,)):
                return
            for text, vector in vectors:
                forms = (_written(vector, "{}"), memoryview(vector), text.id)
                yield self._table.put, (owner, text.number, space, len(vector) // 4, *forms)

        await self._database.transact(work)


def alike(vectors: str) -> Statement:
    """Return what finds the vectors that are most alike to $1, $2 at most.

    Of SQLite it finds all vectors, and the two values are not used; see `nearest_numbers`.

    Args:
        vectors: selects numbers and vectors, with values from $3 on.
    """
    theirs = ALIKE.format(vectors)
    return sql(theirs, sql(f"{vectors} AND $1 IS NOT NULL AND $2 > 0").sqlite)


async def nearest_numbers(
    database: SqlDatabase, statement: Statement, query: QueryVector, limit: int, *values: Any
) -> list[tuple[int, float]]:
    """Return the numbers of the texts that are most alike, best first, and how alike they are.

    Args:
        database: of the store.
        statement: see `alike`.
        query: what is looked for.
        limit: so many at most.
        values: of the statement, from $3 on.
    """
    rows = await database.fetch(statement, _written(query.numbers, "[]"), limit, *values)
    if not rows or not isinstance(rows[0][1], bytes | memoryview):
        return [(int(number), float(score)) for number, score in rows]
    return await asyncio.to_thread(_compared, rows, query, limit)


def _compared(
    rows: Sequence[Sequence[Any]], query: QueryVector, limit: int
) -> list[tuple[int, float]]:
    numbers, vectors = zip(*rows, strict=True)
    scores: Sequence[float]
    if importlib.util.find_spec("numpy") is None:
        wanted = numbers_of(query.numbers)
        scores = [similarity(numbers_of(one), wanted) for one in vectors]
    else:
        numpy = importlib.import_module("numpy")
        whole = numpy.frombuffer(b"".join(vectors), dtype="<f4").reshape(len(rows), -1)
        scores = (whole @ numpy.frombuffer(query.numbers, dtype="<f4")).tolist()
    pairs = [(int(number), score) for number, score in zip(numbers, scores, strict=True)]
    return sorted(pairs, key=lambda one: (-one[1], -one[0]))[:limit]


def _written(vector: bytes, brackets: str) -> str:
    """Return a vector as text: `{…}` of an array, `[…]` of the extension."""
    return f"{brackets[0]}{','.join(map(repr, numbers_of(vector)))}{brackets[1]}"
