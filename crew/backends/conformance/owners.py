"""Two owners with the same ids, numbers, names and words: checks that neither touches the other."""

from collections import Counter
from dataclasses import astuple, replace

from crew.backends.conformance import documents, recall, vectors
from crew.backends.conformance.documents import ANN, EVE, LATER, NOTES
from crew.backends.conformance.samples import DAY
from crew.journal.records.conversations import CREW_OWNER, Chore
from crew.journal.records.remembered.documents import DocumentSearch, Passage, StoredDocument
from crew.journal.records.remembered.recall import Search, day_of
from crew.journal.records.remembered.vectors import QueryVector, VectorLog
from crew.journal.store import RunStore

SPACE = vectors.SPACE


async def _fill(log: VectorLog, collection: str, owner: str) -> None:
    missing = await log.missing(owner, collection, SPACE, 100)
    await log.put(owner, SPACE, [(one, vectors.vector(1, 0.1)) for one in missing])


async def _items_of(store: RunStore, owner: str) -> list[object]:
    """Return all that is kept of an owner's items, as a person and a search see it."""
    listed = await store.recall.listed(owner, 100, replaced=True)
    assert all(one.owner == owner for one in listed)
    by_words = []
    for word in ("tea", "one", "two"):
        search = Search(owner, (word,), most=10, half_life_days=180.0, now=recall.NOW, since=0.0)
        hits = await store.recall.search(search)
        by_words += [(one.item_id, round(score, 6)) for one, score in hits]
    missing = [one.text for one in await store.item_vectors.missing(owner, "", SPACE, 100)]
    nearest: list[str] = []
    if not await store.item_vectors.missing_extension():
        search = Search(owner, (), most=10, half_life_days=180.0, now=recall.NOW, since=0.0)
        found = await store.recall.nearest(search, QueryVector(SPACE, vectors.vector(1, 0)))
        nearest = [one.item_id for one in found]
    whole = [astuple(replace(one, owner="")) for one in listed]
    return [*whole, by_words, missing, nearest]


async def what_is_done_to_items_is_done_to_ones_own(store: RunStore) -> None:
    """Check each way in which items change, beside another owner's with the same ids."""
    keys = ("k", "", "")
    for owner in (EVE, ANN):
        given = [
            recall.addition(n, f"tea {word}", owner=owner, key=key, importance=0.5)
            for n, (word, key) in enumerate(zip(("one", "two", "three"), keys, strict=True), 1)
        ]
        await recall.add(store, *given)
        await _fill(store.item_vectors, "", owner)
    before = await _items_of(store, EVE)
    assert await _items_of(store, ANN) == before
    # said again, with more of it; and replaced by its key
    await recall.add(store, recall.addition(4, "tea two", importance=0.9, quote="it is two"))
    await recall.add(store, recall.addition(5, "tea five", key="k"))
    assert await _items_of(store, EVE) == before
    await store.recall.touch(ANN, ["m000002"], DAY.format(19))
    assert await store.recall.delete(ANN, "m000003")
    assert await store.recall.get(ANN, "m000003") is None
    assert await _items_of(store, EVE) == before
    # those that are too many, and then those that are too old
    few = replace(recall.LIMITS, max_items=2)
    await recall.add(store, recall.addition(6, "tea six", importance=0.8), limits=few)
    assert len(await recall.live(store)) == 2
    assert await _items_of(store, EVE) == before
    late = replace(recall.LIMITS, since=day_of(DAY.format(19)))
    await recall.add(store, recall.addition(7, "tea seven", day=20), limits=late)
    assert await recall.live(store) == ["m000007", "m000002"]
    assert await _items_of(store, EVE) == before
    # the numbers of what was forgotten are given again
    await recall.add(store, recall.addition(8, "tea eight", day=20))
    await _fill(store.item_vectors, "", ANN)
    assert await _items_of(store, EVE) == before
    assert "m000008" in await recall.ids(store, "tea")


async def _documents_of(store: RunStore, owner: str) -> list[object]:
    """Return all that is kept of an owner's documents, as a person and a search see it."""
    log, kept = store.documents, await store.documents.everything_of(owner)
    assert all(one.owner == owner for one in kept)
    found: list[object] = [replace(one, owner="") for one in kept]
    for one in kept:
        assert await log.get(owner, one.document_id) == one
        assert await log.named(owner, NOTES, one.name) is not None
        found.append(await log.text(owner, one.document_id, 0, 1000))
        found.append(await log.content(owner, one.document_id))
        passages = await log.passages(owner, one.document_id, 0, 50)
        found += [(passage.number, passage.text, passage.about) for passage in passages]
    for word in ("tea", "one", "about"):
        hits = await log.search(DocumentSearch(((NOTES, owner),), [word], 10))
        found += [(hit.document.document_id, hit.number, round(hit.score, 6)) for hit in hits]
    missing = await store.passage_vectors.missing(owner, NOTES, SPACE, 100)
    return [*found, [one.text for one in missing]]


async def what_is_done_to_documents_is_done_to_ones_own(store: RunStore) -> None:
    """Check each way in which documents change, beside another owner's with the same ids."""

    def of(owner: str, number: int, name: str = "a.txt", **more: object) -> StoredDocument:
        return documents.document(number, name, owner=owner, **more)

    for owner in (EVE, ANN):
        await documents.keep(store, of(owner, 1))
        await documents.publish(store, of(owner, 1), "tea one", "tea two", "rain")
        await documents.keep(store, of(owner, 2, "b.txt"))
        await _fill(store.passage_vectors, NOTES, owner)
    before = await _documents_of(store, EVE)
    assert await _documents_of(store, ANN) == before
    (passage,) = await store.documents.passages(ANN, "d000001", 0, 1)
    about = replace(passage, about="about one", terms=Counter(["about", "one"]), length=2)
    assert await store.documents.describe(of(ANN, 1), about)
    assert await store.documents.change(of(ANN, 2, "b.txt", status="failed", reason="damaged"))
    assert await _documents_of(store, EVE) == before
    # a new version takes the place of the one before, which goes by and by
    await documents.keep(store, of(ANN, 3))
    await documents.publish(store, of(ANN, 3), "coffee")
    while await store.documents.drop(ANN, "d000001", 1):
        pass
    assert await store.documents.text(ANN, "d000001", 0, 10) is None
    assert await _documents_of(store, EVE) == before
    # one that is read while it is deleted
    assert await store.documents.add_passages(of(ANN, 2, "b.txt"), [_passage("late tea")])
    await store.documents.delete(ANN, NOTES, "b.txt")
    while await store.documents.drop(ANN, "d000002", 1):
        pass
    assert await store.documents.publish(of(ANN, 2, "b.txt"), "late tea", documents.LIMITS)
    assert await _documents_of(store, EVE) == before
    await documents.keep(store, of(ANN, 4, "c.txt"))
    await documents.publish(store, of(ANN, 4, "c.txt"), "tea four")
    await _fill(store.passage_vectors, NOTES, ANN)
    assert await documents.found(store, "tea") == ["d000004/0"]
    assert await _documents_of(store, EVE) == before
    while await store.documents.erase(ANN, 1):
        pass
    assert await _documents_of(store, ANN) != before
    assert await _documents_of(store, EVE) == before


def _passage(text: str) -> Passage:
    words = text.split()
    return Passage(0, 0, len(text), "", text, Counter(words), len(words))


async def a_chore_is_of_its_owner(store: RunStore) -> None:
    """Check that of two owners' chores with the same key one is done."""
    for owner in (ANN, EVE):
        await documents.keep(store, documents.document(1, owner=owner))
    taken = await store.chores.take(LATER, LATER, 10, ["read"])
    assert sorted((one.owner, one.key) for one in taken) == [(ANN, "d000001"), (EVE, "d000001")]
    (own,) = [one for one in taken if one.owner == ANN]
    await store.chores.finish(own, LATER)
    assert await store.chores.counts() == {"read": 1}


async def people_come_before_the_files_of_the_crew(store: RunStore) -> None:
    """Check that a chore of a person is taken first, however long the crew's own are due."""
    for number in range(3):
        await store.chores.add(Chore("read", CREW_OWNER, f"f{number}", DAY.format(1)))
    await store.chores.add(Chore("read", ANN, "d1", DAY.format(5)))
    (first,) = await store.chores.take(DAY.format(6), LATER, 1, ["read"])
    assert (first.owner, first.key) == (ANN, "d1")
    rest = await store.chores.take(DAY.format(6), LATER, 9, ["read"])
    assert sorted(one.key for one in rest) == ["f0", "f1", "f2"]


CHECKS = (
    people_come_before_the_files_of_the_crew,
    what_is_done_to_items_is_done_to_ones_own,
    what_is_done_to_documents_is_done_to_ones_own,
    a_chore_is_of_its_owner,
)
