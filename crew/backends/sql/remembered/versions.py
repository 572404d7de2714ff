"""Versions of documents as transactions change them, in the database of a store."""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from pydantic import TypeAdapter
from pydantic_core import to_json

from crew.backends.sql.chores import insert_chores
from crew.backends.sql.remembered.core import has_place
from crew.backends.sql.statements import sql
from crew.backends.sql.transactions import Steps
from crew.journal.records.conversations import DUE, Chore
from crew.journal.records.remembered.documents import (
    WAITING,
    AddedDocument,
    DocumentLimits,
    Passage,
    StoredDocument,
    may_be,
)

DOCUMENT: TypeAdapter[StoredDocument] = TypeAdapter(StoredDocument)
ADD_OWNER = sql("INSERT INTO crew_document_owners VALUES ($1) ON CONFLICT DO NOTHING")
# others wait with their changes of this owner until the transaction's end
LOCK_OWNER = sql("SELECT 1 FROM crew_document_owners WHERE owner = $1 FOR UPDATE")
STATE = sql("SELECT state, document FROM crew_documents WHERE owner = $1 AND document_id = $2")
# newest first
OF_NAME = sql("""
SELECT state, document FROM crew_documents
WHERE owner = $1 AND collection = $2 AND name = $3 AND state <> 'gone' ORDER BY document_id DESC
""")
COUNT_NAMES = sql("""
SELECT count(DISTINCT name) FROM crew_documents
WHERE owner = $1 AND collection = $2 AND state <> 'gone'
""")
USED = sql("""
SELECT coalesce(sum(chars), 0)::bigint, coalesce(sum(passages), 0)::bigint FROM crew_documents
WHERE owner = $1 AND collection = $2 AND state = 'live' AND name <> $3
""")
ADD = sql("INSERT INTO crew_documents VALUES ($1, $2, $3, $4, 'new', 0, 0, 0, $5)")
ADD_FILE = sql("INSERT INTO crew_document_files VALUES ($1, $2, $3)")
ADD_TEXT = sql("INSERT INTO crew_document_texts VALUES ($1, $2, $3)")
SET = sql("UPDATE crew_documents SET document = $3 WHERE owner = $1 AND document_id = $2")
SET_GONE = sql("UPDATE crew_documents SET state = 'gone' WHERE owner = $1 AND document_id = $2")
SET_LIVE = sql("""
UPDATE crew_documents SET state = 'live', chars = $3, passages = $4, words = $5, document = $6
WHERE owner = $1 AND document_id = $2
""")
DELETE_FILE = sql("DELETE FROM crew_document_files WHERE owner = $1 AND document_id = $2")
DELETE_TEXT = sql("DELETE FROM crew_document_texts WHERE owner = $1 AND document_id = $2")
DELETE_ROW = sql("DELETE FROM crew_documents WHERE owner = $1 AND document_id = $2")
COUNT_PASSAGES = sql("""
SELECT count(*) FROM crew_document_passages WHERE owner = $1 AND document_id = $2
""")
OWNERS = sql("""
SELECT owner FROM crew_document_owners WHERE substr(owner, 1, length($1)) = $1 ORDER BY owner
""")
NEXT = sql("SELECT coalesce(max(number), 0) + 1 FROM crew_document_passages WHERE owner = $1")
ADD_PASSAGE = sql("INSERT INTO crew_document_passages VALUES ($1, $2, $3, $4, $5, $6, $7, $8, '')")
ADD_TERMS = sql("""
INSERT INTO crew_document_terms
SELECT $1, $2, word.key, $3::bigint, word.value::text::int, $5::int
FROM json_each($4::text::json) AS word
""")
MORE_TERMS = sql("""
INSERT INTO crew_document_terms
SELECT $1, $2, word.key, $3::bigint, word.value::text::int, $5::int
FROM json_each($4::text::json) AS word WHERE true
ON CONFLICT (owner, collection, term, number)
    DO UPDATE SET uses = crew_document_terms.uses + excluded.uses
""")
NUMBER = sql("""
SELECT passage.number, (
    SELECT max(length) FROM crew_document_terms AS word
    WHERE word.owner = passage.owner AND word.number = passage.number
) FROM crew_document_passages AS passage
WHERE passage.owner = $1 AND passage.document_id = $2 AND passage.position = $3
    AND passage.about = ''
""")
SET_ABOUT = sql("UPDATE crew_document_passages SET about = $3 WHERE owner = $1 AND number = $2")
SET_LENGTHS = sql("UPDATE crew_document_terms SET length = $3 WHERE owner = $1 AND number = $2")
ADD_WORDS = sql("""
UPDATE crew_documents SET words = words + $3 WHERE owner = $1 AND document_id = $2
""")
SOME_PASSAGES = sql("""
SELECT number FROM crew_document_passages WHERE owner = $1 AND document_id = $2
ORDER BY number LIMIT $3
""")
SOME_OF_OWNER = sql("SELECT number FROM crew_document_passages WHERE owner = $1 LIMIT $2")
DELETE_PASSAGES = sql("DELETE FROM crew_document_passages WHERE owner = $1 AND number = ANY($2)")
DELETE_TERMS = sql("DELETE FROM crew_document_terms WHERE owner = $1 AND number = ANY($2)")
DELETE_VECTORS = sql("DELETE FROM crew_document_vectors WHERE owner = $1 AND number = ANY($2)")
DELETE_OF_OWNER = [
    sql(f"DELETE FROM crew_{table} WHERE owner = $1 RETURNING 1")  # noqa: S608 # ours
    for table in (
        "documents",
        "document_files",
        "document_texts",
        "document_vectors",
        "document_owners",
    )
]
OF_OWNER = sql("SELECT document FROM crew_documents WHERE owner = $1 AND state <> 'gone'")


def documents_of(rows: Iterable[Sequence[object]]) -> list[StoredDocument]:
    """Return the documents of rows, the last column of which has them."""
    return [DOCUMENT.validate_json(str(row[-1])) for row in rows]


def add_document(
    document: StoredDocument, content: bytes, limits: DocumentLimits
) -> Steps[AddedDocument]:
    """Add a version; see DocumentLog.add."""
    if not (yield from has_place(document.owner)):
        return AddedDocument("nowhere")
    owner, place = document.owner, (document.owner, document.collection)
    # an erasure that ends meanwhile deletes the row that is waited for
    while not (yield LOCK_OWNER, (owner,)):
        yield ADD_OWNER, (owner,)
    versions = yield OF_NAME, (*place, document.name)
    if versions:
        (newest,) = documents_of(versions[:1])
        if newest.sha256 == document.sha256 and newest.status != "failed":
            if newest.status in WAITING:
                # so that none is ever left without it
                yield from insert_chores([_reading(newest)])
            return AddedDocument("same", newest)
    else:
        ((names,),) = yield COUNT_NAMES, place
        if names >= limits.files:
            return AddedDocument("full")
    unread = documents_of(row for row in versions if row[0] != "live")
    waiting = [one for one in unread if one.status != "failed"]
    for known in unread:
        if known not in waiting[:1]:
            yield from remove(known)
    added = replace(document, replaces=_searched(versions))
    text = DOCUMENT.dump_json(added).decode()
    yield ADD, (owner, added.document_id, added.collection, added.name, text)
    yield ADD_FILE, (owner, added.document_id, memoryview(content))
    yield from insert_chores([_reading(added)])
    return AddedDocument("added", added)


def _searched(versions: Iterable[Sequence[object]]) -> str:
    """Return the id of the version that is searched, of rows of OF_NAME; "" if none is."""
    return next(
        (one.document_id for one in documents_of(r for r in versions if r[0] == "live")), ""
    )


def keep_document(
    document: StoredDocument, content: bytes, limits: DocumentLimits
) -> Steps[AddedDocument]:
    """Add a document that is not read; see DocumentLog.keep."""
    owner, place = document.owner, (document.owner, document.collection)
    while not (yield LOCK_OWNER, (owner,)):
        yield ADD_OWNER, (owner,)
    for known in documents_of((yield OF_NAME, (*place, document.name))):
        if known.sha256 == document.sha256:
            return AddedDocument("same", known)
    ((names,),) = yield COUNT_NAMES, place
    if names >= limits.files:
        return AddedDocument("full")
    text = DOCUMENT.dump_json(document).decode()
    yield ADD, (owner, document.document_id, document.collection, document.name, text)
    yield ADD_FILE, (owner, document.document_id, memoryview(content))
    yield SET_LIVE, (owner, document.document_id, 0, 0, 0, text)
    return AddedDocument("added", document)


def _reading(document: StoredDocument) -> Chore:
    return Chore("read", document.owner, document.document_id, document.created_at)


def remove(document: StoredDocument) -> Steps[None]:
    """Delete a version but its passages, which a chore drops."""
    place = (document.owner, document.document_id)
    yield SET_GONE, place
    yield DELETE_FILE, place
    yield DELETE_TEXT, place
    yield from insert_chores([Chore("drop", *place, DUE)])


def remove_all(owner: str) -> Steps[None]:
    """Delete all versions of an owner, within the deletion of what they belong to."""
    yield LOCK_OWNER, (owner,)
    for one in documents_of((yield OF_OWNER, (owner,))):
        yield from remove(one)


def change_document(document: StoredDocument) -> Steps[bool]:
    """Keep what has changed of a version; see DocumentLog.change."""
    place = (document.owner, document.document_id)
    yield LOCK_OWNER, (document.owner,)
    found = yield STATE, place
    # what has become of it since decides, and not a reader that comes too late
    if not found or not may_be(found[0][0], document.status):
        return False
    yield SET, (*place, DOCUMENT.dump_json(document).decode())
    if document.status == "failed":
        yield DELETE_FILE, place
    return True


def insert_passages(document: StoredDocument, passages: Sequence[Passage]) -> Steps[bool]:
    """Add passages; see DocumentLog.add_passages."""
    owner, document_id = document.owner, document.document_id
    yield LOCK_OWNER, (owner,)
    found = yield STATE, (owner, document_id)
    if not found or found[0][0] != "new":
        return False
    ((number,),) = yield NEXT, (owner,)
    for number, one in enumerate(passages, int(number)):  # noqa: B020 # from there on
        place = (one.number, one.start, one.end, one.place, one.text)
        yield ADD_PASSAGE, (owner, number, document_id, *place)
        words = to_json(one.terms).decode()
        yield ADD_TERMS, (owner, document.collection, number, words, one.length)
    return True


def keep_description(document: StoredDocument, passage: Passage) -> Steps[bool]:
    """Keep what a passage is about; see DocumentLog.describe."""
    owner, document_id = document.owner, document.document_id
    yield LOCK_OWNER, (owner,)
    state = yield STATE, (owner, document_id)
    if not state or state[0][0] == "gone":
        return False
    for number, length in (yield NUMBER, (owner, document_id, passage.number)):
        total = (length or 0) + passage.length
        words = to_json(passage.terms).decode()
        yield SET_ABOUT, (owner, number, passage.about)
        yield MORE_TERMS, (owner, document.collection, number, words, total)
        yield SET_LENGTHS, (owner, number, total)
        yield ADD_WORDS, (owner, document_id, passage.length)
    return True


def publish_document(document: StoredDocument, text: str, limits: DocumentLimits) -> Steps[str]:
    """Let a version be searched; see DocumentLog.publish."""
    owner, document_id = document.owner, document.document_id
    yield LOCK_OWNER, (owner,)
    found = yield STATE, (owner, document_id)
    if not found or found[0][0] != "new":
        return "deleted"
    ((kept,),) = yield COUNT_PASSAGES, (owner, document_id)
    if kept != document.chunks:
        return "differs"
    versions = yield OF_NAME, (owner, document.collection, document.name)
    if _searched(versions) > document_id:
        # a newer version was read sooner
        yield from remove(document)
        return "deleted"
    ((chars, passages),) = yield USED, (owner, document.collection, document.name)
    if chars + document.chars > limits.chars:
        return "chars"
    if passages + document.chunks > limits.passages:
        return "passages"
    for one in documents_of(versions):
        if one.document_id < document_id:
            yield from remove(one)
        elif one.document_id > document_id:
            text_of = DOCUMENT.dump_json(replace(one, replaces=document_id)).decode()
            yield SET, (owner, one.document_id, text_of)
    counts = (document.chars, document.chunks, document.words)
    live = DOCUMENT.dump_json(replace(document, replaces="")).decode()
    yield SET_LIVE, (owner, document_id, *counts, live)
    yield DELETE_FILE, (owner, document_id)
    yield ADD_TEXT, (owner, document_id, text)
    if document.status == "summarizing":
        chore = Chore("describe", owner, document_id, document.changed_at)
        yield from insert_chores([chore])
    if limits.embeds:
        chore = Chore("embed", owner, document.collection, document.changed_at)
        yield from insert_chores([chore])
    return ""


def drop_passages(owner: str, document_id: str, limit: int) -> Steps[int]:
    """Delete some passages of a version; see DocumentLog.drop."""
    yield LOCK_OWNER, (owner,)
    found = yield SOME_PASSAGES, (owner, document_id, limit)
    if found:
        return (yield from _delete_passages(owner, found))
    state = yield STATE, (owner, document_id)
    if state and state[0][0] == "gone":
        yield DELETE_ROW, (owner, document_id)
    return 0


def erase_documents(owner: str, limit: int) -> Steps[int]:
    """Delete some of what an owner has; see DocumentLog.erase."""
    yield LOCK_OWNER, (owner,)
    found = yield SOME_OF_OWNER, (owner, limit)
    if found:
        return (yield from _delete_passages(owner, found))
    documents, *_ = yield from _delete_rest(owner)
    return documents


def _delete_rest(owner: str) -> Steps[list[int]]:
    counts: list[int] = []
    for statement in DELETE_OF_OWNER:
        deleted = yield statement, (owner,)
        counts.append(len(deleted))
    return counts


def _delete_passages(owner: str, rows: Sequence[Sequence[int]]) -> Steps[int]:
    numbers = [number for (number,) in rows]
    yield DELETE_PASSAGES, (owner, numbers)
    yield DELETE_TERMS, (owner, numbers)
    yield DELETE_VECTORS, (owner, numbers)
    return len(numbers)
