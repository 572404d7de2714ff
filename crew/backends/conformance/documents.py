"""Documents: checks of what every store promises."""

import asyncio
from collections import Counter
from dataclasses import replace

from crew.backends.conformance.conversations import begin_conversation, start
from crew.backends.conformance.samples import DAY
from crew.journal.records.conversations import Chore, owner_of
from crew.journal.records.remembered.core import conversation_owner
from crew.journal.records.remembered.documents import (
    DocumentLimits,
    DocumentSearch,
    FoundPassage,
    Passage,
    StoredDocument,
)
from crew.journal.store import RunStore
from tools.text.folding import fold

ANN, EVE = "user:ann", "user:eve"
NOTES, RULES = "notes", "rules"
LIMITS = DocumentLimits(files=3, chars=1000, passages=5)
LATER = DAY.format(28)


def document(number: int, name: str = "a.txt", **more: object) -> StoredDocument:
    """Return a version of a document that was sent on the first day."""
    at, digest = DAY.format(1), f"{number:064x}"
    place = (ANN, f"d{number:06}", NOTES, name)
    one = StoredDocument(*place, digest, "txt", 9, at, "ann", changed_at=at)
    return replace(one, **more)  # type: ignore[arg-type] # of a check


async def keep(store: RunStore, one: StoredDocument, content: bytes = b"a\0b\xff") -> str:
    """Add a document, and return what has become of it."""
    return (await store.documents.add(one, content, LIMITS)).op


async def publish(
    store: RunStore,
    one: StoredDocument,
    *texts: str,
    status: str = "ready",
    limits: DocumentLimits = LIMITS,
) -> str:
    """Have a document searched, with passages of these texts."""
    passages: list[Passage] = []
    start = 0
    for number, text in enumerate(texts):
        words = fold(text).split()
        end = start + len(text)
        place = f"page {number + 1}"
        passages.append(Passage(number, start, end, place, text, Counter(words), len(words)))
        start = end + 1
    assert await store.documents.add_passages(one, passages[:1])
    assert await store.documents.add_passages(one, passages[1:])
    whole = "\n".join(texts)
    counts = {"chars": len(whole), "chunks": len(texts)}
    counts["words"] = sum(passage.length for passage in passages)
    read = replace(one, status=status, **counts)  # type: ignore[arg-type] # of a check
    return await store.documents.publish(read, whole, limits)


async def found(store: RunStore, *terms: str, document_id: str = "", **owners: str) -> list[str]:
    """Return what words find, as `document/number`."""
    places = tuple(owners.items()) or ((NOTES, ANN),)
    passages = await _search(store, DocumentSearch(places, terms, 10, document_id))
    return [f"{one.document.document_id}/{one.number}" for one in passages]


async def _search(store: RunStore, search: DocumentSearch) -> list[FoundPassage]:
    return await store.documents.search(search)


async def an_image_stays_with_its_bytes(store: RunStore) -> None:
    """Check what is kept and never read; its conversation may begin later."""
    owner = conversation_owner(ANN, "c1")
    image = document(1, "a.png", owner=owner, collection="images", kind="png", status="ready")
    limits = DocumentLimits(files=2, chars=0, passages=0)
    kept = await store.documents.keep(image, b"\x89PNG\0", limits)
    assert (kept.op, kept.document) == ("added", image)
    again = replace(image, document_id="d000002")
    assert (await store.documents.keep(again, b"\x89PNG\0", limits)).document == image
    other = replace(image, document_id="d000003", name="b.png", sha256="b")
    assert (await store.documents.keep(other, b"b", limits)).op == "added"
    third = replace(image, document_id="d000004", name="c.png", sha256="c")
    assert (await store.documents.keep(third, b"c", limits)).op == "full"
    assert await store.documents.content(owner, "d000001") == b"\x89PNG\0"
    assert await store.documents.get(owner, "d000001") == image
    listed = await store.documents.listed([("images", owner)])
    assert [one.document_id for one in listed] == ["d000003", "d000001"]
    assert not await store.chores.take(LATER, LATER, 10, ["read"]), "it is never read"
    await store.documents.delete(owner, "images", "a.png")
    assert await store.documents.content(owner, "d000001") is None
    assert owner in await store.documents.owners("conversation:")
    while await store.documents.erase(owner, 10):
        pass
    assert await store.documents.get(owner, "d000003") is None
    assert await store.documents.content(owner, "d000003") is None


async def bytes_are_kept_until_they_are_read(store: RunStore) -> None:
    """Check a document from its bytes to its text, and that a chore waits for it."""
    assert await keep(store, document(1)) == "added"
    assert await store.documents.content(ANN, "d000001") == b"a\0b\xff"
    assert await store.documents.content(EVE, "d000001") is None
    (chore,) = await store.chores.take(LATER, LATER, 10, ["read"])
    assert (chore.owner, chore.key) == (ANN, "d000001")
    assert await publish(store, document(1), "über tea", "and more tea") == ""
    known = await store.documents.get(ANN, "d000001")
    assert known is not None
    assert (known.status, known.chars, known.chunks) == ("ready", 21, 2)
    assert await store.documents.content(ANN, "d000001") is None
    assert await store.documents.text(ANN, "d000001", 5, 9) == "tea\nand m"
    assert await store.documents.text(EVE, "d000001", 0, 9) is None
    assert await found(store, "tea") == ["d000001/0", "d000001/1"]
    passages = await _search(store, DocumentSearch(((NOTES, ANN),), ["more"], 10))
    (one,) = passages
    assert (one.place, one.text, one.start, one.end) == ("page 2", "and more tea", 9, 21)
    assert one.document == known


async def the_same_bytes_are_the_same_document(store: RunStore) -> None:
    """Check uploads of one name, at once too; one that has failed is read again."""
    many = [keep(store, document(number, sha256="a")) for number in range(1, 9)]
    assert Counter(await asyncio.gather(*many)) == {"added": 1, "same": 7}
    (only,) = await store.documents.listed([(NOTES, ANN)])
    assert await keep(store, document(10, sha256="a", owner=EVE)) == "added"
    assert await keep(store, document(11, sha256="a", collection=RULES)) == "added"
    assert await keep(store, document(12, sha256="a", name="b.txt")) == "added"
    failed = replace(only, status="failed", reason="is damaged")
    assert await store.documents.change(failed)
    assert await store.documents.content(ANN, only.document_id) is None
    assert await keep(store, document(13, sha256="a")) == "added"
    newest = await store.documents.named(ANN, NOTES, "a.txt")
    assert newest is not None
    assert newest.document_id == "d000013"
    assert await store.documents.get(ANN, only.document_id) is None


async def an_owner_has_so_many(store: RunStore) -> None:
    """Check the limits of files, characters and passages."""
    for number, name in enumerate("abc", 1):
        assert await keep(store, document(number, name)) == "added"
    assert await keep(store, document(4, "d")) == "full"
    assert await keep(store, document(5, "a")) == "added", "another version is no other file"
    assert await keep(store, document(6, "d", collection=RULES)) == "added"
    assert await publish(store, document(5, "a"), "x" * 600) == ""
    assert await publish(store, document(2, "b"), "x" * 401) == "chars"
    known = await store.documents.get(ANN, "d000002")
    assert known is not None
    assert known.status == "received"
    assert await store.documents.publish(replace(known, chunks=9), "x", LIMITS) == "differs"
    many = document(3, "c")
    assert await publish(store, many, *(["x"] * 5)) == "passages"


async def a_new_version_replaces_the_old_once_it_is_searched(store: RunStore) -> None:
    """Check that the old one is found until then, and deleted after it."""
    await keep(store, document(1))
    await publish(store, document(1), "old words")
    await keep(store, document(2))
    await keep(store, document(3))
    newest = await store.documents.named(ANN, NOTES, "a.txt")
    assert newest is not None
    assert (newest.document_id, newest.replaces) == ("d000003", "d000001")
    assert await store.documents.get(ANN, "d000002"), "the newest may be unreadable"
    assert await found(store, "words") == ["d000001/0"]
    assert await publish(store, document(3), "new words", status="summarizing") == ""
    assert await found(store, "words") == ["d000003/0"]
    assert await store.documents.add_passages(document(2), []) is False, "a newer one is searched"
    listed = await store.documents.listed([(NOTES, ANN)])
    assert [one.document_id for one in listed] == ["d000003"]
    assert listed[0].replaces == ""
    assert await store.documents.text(ANN, "d000001", 0, 9) is None
    chores = await store.chores.take(LATER, LATER, 10, ["drop", "describe"])
    assert sorted((one.kind, one.key) for one in chores) == [
        ("describe", "d000003"),
        ("drop", "d000001"),
        ("drop", "d000002"),
    ]
    assert await store.documents.drop(ANN, "d000001", 10) == 1
    assert await store.documents.drop(ANN, "d000001", 10) == 0
    assert await found(store, "words") == ["d000003/0"]


async def a_version_that_cannot_be_read_loses_no_other_one(store: RunStore) -> None:
    """Check that an older one is still read; and that a newer one that was read sooner stays."""
    await keep(store, document(1))
    await keep(store, document(2))
    assert await store.documents.change(document(2, status="failed"))
    assert await publish(store, document(1), "first words") == ""
    assert await found(store, "words") == ["d000001/0"]
    named = await store.documents.named(ANN, NOTES, "a.txt")
    assert named is not None
    assert (named.document_id, named.status, named.replaces) == ("d000002", "failed", "d000001")
    for number in (3, 4, 5):
        await keep(store, document(number))
    known = [f"d{n:06}" for n in range(1, 6) if await store.documents.get(ANN, f"d{n:06}")]
    assert known == ["d000001", "d000004", "d000005"], "of those to be read the newest two"
    assert await store.documents.add_passages(document(4), [])
    assert await publish(store, document(5), "newest words") == ""
    assert await publish_read(store, document(4)) == "deleted"
    assert await found(store, "words") == ["d000005/0"]


async def publish_read(store: RunStore, one: StoredDocument) -> str:
    """Have a document searched that has no passages."""
    return await store.documents.publish(replace(one, status="ready"), "", LIMITS)


async def documents_are_found_by_their_words(store: RunStore) -> None:
    """Check the order of what is found, its owners and collections, and one document alone."""
    texts = ["tea tea", "tea and coffee and milk", "tea and coffee and milk", "water"]
    for number, text in enumerate(texts[:3], 1):
        await keep(store, document(number, f"{number}.txt"))
        await publish(store, document(number, f"{number}.txt"), text)
    await keep(store, document(4, owner=EVE))
    await publish(store, document(4, owner=EVE), "tea of eve")
    await keep(store, document(5, collection=RULES))
    await publish(store, document(5, collection=RULES), "tea rules", "rules of tea")
    assert await found(store, "tea") == ["d000001/0", "d000003/0", "d000002/0"]
    assert await found(store, "coffee") == ["d000003/0", "d000002/0"], "of equal ones the newest"
    assert await found(store, "tea", document_id="d000002") == ["d000002/0"]
    both = await found(store, "rules", "eve", notes=EVE, rules=ANN)
    assert sorted(both) == ["d000004/0", "d000005/0", "d000005/1"]
    assert await found(store, "tea", rules=EVE) == []
    # pairs of an owner and a collection, and not each of one with each of the other
    assert await found(store, "tea", notes=EVE, rules=ANN) == [
        *("d000005/0", "d000005/1", "d000004/0"),
    ]
    # what is not searched yet changes no order
    await keep(store, document(6, "1.txt"))
    words = Counter({"tea": 1})
    more = [Passage(number, 0, 1, "", "tea", words, 1) for number in range(20)]
    assert await store.documents.add_passages(document(6, "1.txt"), more)
    assert await found(store, "tea") == ["d000001/0", "d000003/0", "d000002/0"]
    await store.documents.delete(ANN, NOTES, "1.txt")
    assert await found(store, "milk", "nothing") == ["d000003/0", "d000002/0"]
    assert await found(store) == []
    page = await store.documents.listed([(NOTES, ANN), (RULES, ANN)], 2)
    assert [one.document_id for one in page] == ["d000005", "d000003"]
    rest = await store.documents.listed([(NOTES, ANN), (RULES, ANN)], 9, "d000003")
    assert [one.document_id for one in rest] == ["d000002"]


async def passages_are_found_by_what_they_are_about(store: RunStore) -> None:
    """Check that a description adds words, once, and is given with its passage."""
    one = document(1)
    await keep(store, one)
    await publish(store, one, "the first", "the second")
    passages = await store.documents.passages(ANN, "d000001", 1, 5)
    assert [(passage.number, passage.text, passage.about) for passage in passages] == [
        (1, "the second", "")
    ]
    described = replace(passages[0], about="on tea", terms={"on": 1, "tea": 1, "the": 1}, length=3)
    assert await store.documents.describe(one, described)
    assert await store.documents.describe(one, replace(described, about="on coffee"))
    assert await found(store, "tea") == ["d000001/1"]
    (hit,) = await _search(store, DocumentSearch(((NOTES, ANN),), ["second"], 10))
    assert (hit.text, hit.about) == ("the second", "on tea")
    scores = await _search(store, DocumentSearch(((NOTES, ANN),), ["the"], 10))
    assert [passage.number for passage in scores] == [1, 0], "it is there twice now"
    await store.documents.delete(ANN, NOTES, "a.txt")
    assert await store.documents.describe(one, described) is False


async def what_is_deleted_is_found_no_more(store: RunStore) -> None:
    """Check a deletion, also in the middle of reading; and that its parts go by and by."""
    await keep(store, document(1))
    await publish(store, document(1), *("one tea", "two tea", "three tea"))
    await keep(store, document(2))
    assert await store.documents.add_passages(document(2), [])
    deleted = await store.documents.delete(ANN, NOTES, "a.txt")
    assert sorted(one.document_id for one in deleted) == ["d000001", "d000002"]
    assert await found(store, "tea") == []
    assert await store.documents.named(ANN, NOTES, "a.txt") is None
    assert await store.documents.listed([(NOTES, ANN)]) == []
    assert await store.documents.change(document(2)) is False
    await keep(store, document(9, "late.txt"))
    await publish(store, document(9, "late.txt"), "tea")
    late = document(9, "late.txt", status="failed")
    assert await store.documents.change(late) is False, "it is searched already"
    await store.documents.delete(ANN, NOTES, "late.txt")
    assert await store.documents.publish(document(2), "tea", LIMITS) == "deleted"
    assert [await store.documents.drop(ANN, "d000001", 2) for _ in range(3)] == [2, 1, 0]
    assert await store.documents.delete(ANN, NOTES, "a.txt") == []
    # the name is free
    assert await keep(store, document(3)) == "added"


async def what_a_process_has_taken_is_freed(store: RunStore) -> None:
    """Check that a chore of a process that is gone is due at once, and others stay as they are."""
    now, later, last = (DAY.format(day) for day in (2, 20, 28))
    await store.chores.add(Chore("read", ANN, "d1", now))
    await store.chores.add(Chore("drop", ANN, "d2", later))
    (taken,) = await store.chores.take(now, last, 5, ["read"])
    assert await store.chores.take(now, last, 5, ["read", "drop"]) == []
    await store.chores.free(now)
    (again,) = await store.chores.take(now, last, 5, ["read", "drop"])
    assert (again.key, again.attempts) == ("d1", taken.attempts + 1)
    await store.chores.finish(taken, now)
    assert await store.chores.counts() == {"read": 1, "drop": 1}, "it is another one's now"


async def documents_go_with_their_owner(store: RunStore) -> None:
    """Check the deletion of a conversation, and the erasure of a user."""
    await begin_conversation(store, "r1", start("r1", 1))
    owner = conversation_owner(owner_of("ann"), "c1")
    assert await keep(store, document(1, owner="conversation:ann:other")) == "nowhere"
    assert await keep(store, document(2, owner=owner)) == "added"
    await publish(store, document(2, owner=owner), "tea")
    assert await found(store, "tea", notes=owner) == ["d000002/0"]
    await keep(store, document(3))
    await publish(store, document(3), "tea", "coffee")
    assert [await store.documents.erase(ANN, 1) for _ in range(4)] == [1, 1, 1, 0]
    assert await store.documents.everything_of(ANN) == []
    assert await store.documents.owners("user:") == []
    assert await store.documents.owners("conversation:ann:") == [owner]
    assert await found(store, "tea", notes=owner) == ["d000002/0"]
    assert [one.document_id for one in await store.documents.everything_of(owner)] == ["d000002"]


CHECKS = (
    an_image_stays_with_its_bytes,
    bytes_are_kept_until_they_are_read,
    the_same_bytes_are_the_same_document,
    an_owner_has_so_many,
    a_new_version_replaces_the_old_once_it_is_searched,
    a_version_that_cannot_be_read_loses_no_other_one,
    documents_are_found_by_their_words,
    passages_are_found_by_what_they_are_about,
    what_is_deleted_is_found_no_more,
    what_a_process_has_taken_is_freed,
    documents_go_with_their_owner,
)
