"""Documents, in the database of a store."""

from collections.abc import Callable, Sequence
from typing import TypeVar

from pydantic_core import to_json

from crew.backends.sql.remembered.vectors import alike, nearest_numbers
from crew.backends.sql.remembered.versions import (
    DOCUMENT,
    OF_NAME,
    OWNERS,
    add_document,
    change_document,
    documents_of,
    drop_passages,
    erase_documents,
    insert_passages,
    keep_description,
    keep_document,
    publish_document,
    remove,
)
from crew.backends.sql.statements import sql
from crew.backends.sql.transactions import SqlDatabase, Steps
from crew.journal.records.remembered.documents import (
    AddedDocument,
    DocumentLimits,
    DocumentSearch,
    FoundPassage,
    Passage,
    StoredDocument,
    best_passages,
)
from crew.journal.records.remembered.recall import K1, SCORE_STEPS, B, weights_of
from crew.journal.records.remembered.vectors import DEPTH, QueryVector

GET = sql("""
SELECT document FROM crew_documents WHERE owner = $1 AND document_id = $2 AND state <> 'gone'
""")
PASSAGES = sql("""
SELECT position, starts_at, ends_at, place, content, about FROM crew_document_passages
WHERE owner = $1 AND document_id = $2 AND position >= $3 ORDER BY position LIMIT $4
""")
# each collection with its owner: both lists have the same length
LISTED = sql(
    """
SELECT found.document FROM unnest($1::text[], $2::text[]) AS place (owner, collection)
JOIN crew_documents AS found ON found.owner = place.owner AND found.collection = place.collection
WHERE found.state <> 'gone' AND ($3 = '' OR found.document_id < $3)
ORDER BY found.document_id DESC LIMIT $4
""",
    """
SELECT found.document FROM json_each(?1) AS owner JOIN json_each(?2) AS collection
    ON collection.key = owner.key
JOIN documents AS found ON found.owner = owner.value AND found.collection = collection.value
WHERE found.state <> 'gone' AND (?3 = '' OR found.document_id < ?3)
ORDER BY found.document_id DESC LIMIT ?4
""",
)
EVERYTHING = sql("""
SELECT document FROM crew_documents WHERE owner = $1 AND state <> 'gone' ORDER BY document_id DESC
""")
CONTENT = sql("SELECT content FROM crew_document_files WHERE owner = $1 AND document_id = $2")
TEXT = sql("""
SELECT substr(content, $3::int + 1, $4::int) FROM crew_document_texts
WHERE owner = $1 AND document_id = $2
""")
# of the passages, and of each word
STATISTICS = sql("""
SELECT NULL, coalesce(sum(passages), 0)::bigint, coalesce(sum(words), 0)::bigint
FROM crew_documents WHERE owner = ANY($1) AND collection = ANY($2)
    AND owner || ' ' || collection = ANY($4) AND state = 'live'
UNION ALL
SELECT term, count(*), 0 FROM crew_document_terms
WHERE owner = ANY($1) AND collection = ANY($2) AND owner || ' ' || collection = ANY($4)
    AND term = ANY($3) GROUP BY term
""")
# as of recall memory (see there): the words come first, and the best by words are looked at
SEARCH = sql(f"""
WITH word AS MATERIALIZED (
    SELECT key AS term, value::text::float8 * {K1 + 1} AS weight FROM json_each($3::text::json)
), hit AS MATERIALIZED (
    SELECT owner, number, score FROM (
        SELECT posting.owner AS owner, posting.number AS number,
            round({SCORE_STEPS} * sum(word.weight * posting.uses
                / (posting.uses + {K1} * ({1 - B} + {B} * posting.length / $4::float8)))) AS score
        FROM word CROSS JOIN crew_document_terms AS posting
        WHERE posting.owner = ANY($1) AND posting.collection = ANY($2)
            AND posting.owner || ' ' || posting.collection = ANY($8)
            AND posting.term = word.term
        GROUP BY posting.owner, posting.number
    ) AS scored ORDER BY score DESC, owner, number LIMIT $7
)
SELECT passage.position, passage.starts_at, passage.ends_at, passage.place, passage.content,
    passage.about, hit.score, found.document
FROM hit CROSS JOIN crew_document_passages AS passage CROSS JOIN crew_documents AS found
WHERE passage.owner = hit.owner AND passage.number = hit.number
    AND found.owner = passage.owner AND found.document_id = passage.document_id
    AND found.state = 'live' AND ($5 = '' OR found.document_id = $5)
ORDER BY hit.score DESC, found.document_id DESC, passage.position LIMIT $6
""")  # noqa: S608 # made of numbers of ours
NEAREST = alike("""
SELECT known.number AS number, known.vector AS vector FROM crew_document_vectors AS known
JOIN crew_document_passages AS passage
    ON passage.owner = known.owner AND passage.number = known.number
JOIN crew_documents AS found
    ON found.owner = passage.owner AND found.document_id = passage.document_id
WHERE known.owner = $3 AND known.space = $4 AND known.dimensions = $5::int
    AND found.state = 'live' AND found.collection = ANY($6)
    AND ($7 = '' OR found.document_id = $7)
""")
OF_NUMBERS = sql("""
SELECT passage.number, passage.position, passage.starts_at, passage.ends_at, passage.place,
    passage.content, passage.about, found.document
FROM crew_document_passages AS passage JOIN crew_documents AS found
    ON found.owner = passage.owner AND found.document_id = passage.document_id
WHERE passage.owner = $1 AND passage.number = ANY($2) AND found.state = 'live'
""")
T = TypeVar("T")
# of the best by words; all, where these do not suffice
LOOKED_AT, ALL = 300, 1_000_000


class SqlDocuments:
    """See DocumentLog."""

    def __init__(self, database: SqlDatabase) -> None:
        self._database = database

    async def add(
        self, document: StoredDocument, content: bytes, limits: DocumentLimits
    ) -> AddedDocument:
        """See DocumentLog."""
        return await self._database.transact(lambda: add_document(document, content, limits))

    async def keep(
        self, document: StoredDocument, content: bytes, limits: DocumentLimits
    ) -> AddedDocument:
        """See DocumentLog."""
        return await self._database.transact(lambda: keep_document(document, content, limits))

    async def get(self, owner: str, document_id: str) -> StoredDocument | None:
        """See DocumentLog."""
        found = documents_of(await self._database.fetch(GET, owner, document_id))
        return found[0] if found else None

    async def named(self, owner: str, collection: str, name: str) -> StoredDocument | None:
        """See DocumentLog."""
        found = documents_of(await self._database.fetch(OF_NAME, owner, collection, name))
        return found[0] if found else None

    async def listed(
        self, owners: Sequence[tuple[str, str]], limit: int = 50, after: str = ""
    ) -> list[StoredDocument]:
        """See DocumentLog."""
        places = _places(owners)
        return documents_of(await self._database.fetch(LISTED, *places, after, limit))

    async def everything_of(self, owner: str) -> list[StoredDocument]:
        """See DocumentLog."""
        return documents_of(await self._database.fetch(EVERYTHING, owner))

    async def content(self, owner: str, document_id: str) -> bytes | None:
        """See DocumentLog."""
        found = await self._database.fetch(CONTENT, owner, document_id)
        return bytes(found[0][0]) if found else None

    async def text(self, owner: str, document_id: str, start: int, chars: int) -> str | None:
        """See DocumentLog."""
        found = await self._database.fetch(TEXT, owner, document_id, start, chars)
        return str(found[0][0]) if found else None

    async def change(self, document: StoredDocument) -> bool:
        """See DocumentLog."""
        return await self._database.transact(lambda: change_document(document))

    async def add_passages(self, document: StoredDocument, passages: Sequence[Passage]) -> bool:
        """See DocumentLog."""
        return await self._database.transact(lambda: insert_passages(document, passages))

    async def publish(self, document: StoredDocument, text: str, limits: DocumentLimits) -> str:
        """See DocumentLog."""
        done = await self._database.transact(lambda: publish_document(document, text, limits))
        await self._database.forget_deleted()
        return done

    async def passages(self, owner: str, document_id: str, first: int, limit: int) -> list[Passage]:
        """See DocumentLog."""
        found = await self._database.fetch(PASSAGES, owner, document_id, first, limit)
        return [
            Passage(number, start, end, place, text, {}, 0, about)
            for number, start, end, place, text, about in found
        ]

    async def describe(self, document: StoredDocument, passage: Passage) -> bool:
        """See DocumentLog."""
        return await self._database.transact(lambda: keep_description(document, passage))

    async def search(self, search: DocumentSearch) -> list[FoundPassage]:
        """See DocumentLog."""
        if not search.terms or not search.owners:
            return []
        # a name of a collection has no space: no two pairs are the same
        places, pairs = _places(search.owners), [f"{one} {name}" for name, one in search.owners]
        ((_, passages, words), *uses) = await self._database.fetch(
            STATISTICS, *places, list(search.terms), pairs
        )
        counts = {term: count for term, count, _ in uses}
        # passages that are not searched yet, or no more, have words, too
        weights = weights_of(counts, max(passages, *counts.values(), 1))
        if not weights:
            return []
        average = max(1, words) / max(1, passages)
        values = (to_json(weights).decode(), average, search.document_id)
        for limit in (ALL,) if search.document_id else (LOOKED_AT, ALL):
            rest = (search.most, limit, pairs)
            rows = await self._database.fetch(SEARCH, *places, *values, *rest)
            found = [_passage(row) for row in rows]
            if len(found) == search.most:
                break
        return found

    async def nearest(self, search: DocumentSearch, query: QueryVector) -> list[FoundPassage]:
        """See DocumentLog."""
        found: list[FoundPassage] = []
        for owner in dict.fromkeys(owner for _, owner in search.owners):
            names = [name for name, one in search.owners if one == owner]
            place = (owner, query.space, query.dimensions, names, search.document_id)
            near = dict(await nearest_numbers(self._database, NEAREST, query, DEPTH, *place))
            rows = await self._database.fetch(OF_NUMBERS, owner, list(near))
            found += [
                _passage([*row, near[int(number)] * SCORE_STEPS, document])
                for number, *row, document in rows
            ]
        return best_passages(found)[:DEPTH]

    async def delete(self, owner: str, collection: str, name: str) -> list[StoredDocument]:
        """See DocumentLog."""

        def work() -> Steps[list[StoredDocument]]:
            found = documents_of((yield OF_NAME, (owner, collection, name)))
            for one in found:
                yield from remove(one)
            return found

        return await self._removed(work)

    async def drop(self, owner: str, document_id: str, limit: int) -> int:
        """See DocumentLog."""
        return await self._removed(lambda: drop_passages(owner, document_id, limit))

    async def owners(self, beginning: str) -> list[str]:
        """See DocumentLog."""
        return [owner for (owner,) in await self._database.fetch(OWNERS, beginning)]

    async def erase(self, owner: str, limit: int) -> int:
        """See DocumentLog."""
        return await self._removed(lambda: erase_documents(owner, limit))

    async def _removed(self, work: Callable[[], Steps[T]]) -> T:
        done = await self._database.transact(work)
        await self._database.forget_deleted()
        return done


def _places(owners: Sequence[tuple[str, str]]) -> tuple[list[str], list[str]]:
    """Return the owners, and the collections of each."""
    return [owner for _, owner in owners], [collection for collection, _ in owners]


def _place(document: StoredDocument) -> tuple[str, str]:
    return document.collection, document.owner


def _passage(row: Sequence[object]) -> FoundPassage:
    number, start, end, place, text, about, score, document = row
    return FoundPassage(
        DOCUMENT.validate_json(str(document)),
        int(str(number)),
        int(str(start)),
        int(str(end)),
        str(place),
        str(text),
        str(about),
        float(str(score)) / SCORE_STEPS,
    )
