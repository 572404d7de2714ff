"""Vectors of texts: checks of what every store promises.

One that cannot compare them (PostgreSQL without its extension) keeps them all the same.
"""

import array
import math
from collections.abc import Mapping
from dataclasses import replace

from crew.backends.conformance import documents, recall
from crew.backends.conformance.samples import DAY
from crew.journal.records.remembered.documents import DocumentSearch
from crew.journal.records.remembered.recall import Search
from crew.journal.records.remembered.vectors import QueryVector, VectorLog
from crew.journal.store import RunStore

ANN, EVE = "user:ann", "user:eve"
SPACE, OTHER = "p small", "p large"
LATER = DAY.format(28)


def vector(*numbers: float) -> bytes:
    """Return a vector in the direction of these numbers."""
    length = math.sqrt(sum(one * one for one in numbers))
    return array.array("f", [one / length for one in numbers]).tobytes()


async def _fill(
    log: VectorLog, collection: str, vectors: Mapping[str, bytes], owner: str = ANN
) -> None:
    """Keep vectors of the texts that contain these words."""
    for one in await log.missing(owner, collection, SPACE, 100):
        made = [made for word, made in vectors.items() if word in one.text]
        await log.put(owner, SPACE, [(one, made[0])] if made else [])


async def _due(store: RunStore) -> list[tuple[str, str]]:
    chores = await store.chores.take(LATER, LATER, 100, ["embed"])
    for chore in chores:
        await store.chores.finish(chore, LATER)
    return sorted((one.owner, one.key) for one in chores)


async def texts_without_vectors_are_known(store: RunStore) -> None:
    """Check which items have none, by model, and that chores make them."""
    log = store.item_vectors
    limits = replace(recall.LIMITS, embeds=True)
    await recall.add(store, recall.addition(1, "old", key="k"))
    assert not await _due(store), "no vectors are wanted"
    await recall.add(
        store, recall.addition(2, "tea"), recall.addition(3, "new", key="k"), limits=limits
    )
    assert await _due(store) == [(ANN, "")]
    found = await log.missing(ANN, "", SPACE, 100)
    assert [one.text for one in found] == ["tea", "new"], "what is replaced has none"
    assert [one.text for one in await log.missing(ANN, "", SPACE, 1)] == ["tea"]
    assert not await log.missing(EVE, "", SPACE, 100)
    assert not await log.missing(ANN, "notes", SPACE, 100)
    await log.put(ANN, SPACE, [(one, vector(1, 0)) for one in found])
    assert not await log.missing(ANN, "", SPACE, 100)
    assert await log.begin("", SPACE, LATER) == 0
    assert await log.begin("", OTHER, LATER) == 1, "another model's are not looked at"
    assert await _due(store) == [(ANN, "")]
    await log.put(ANN, OTHER, [(found[0], vector(1, 0, 0))])
    assert [one.text for one in await log.missing(ANN, "", OTHER, 9)] == ["new"]
    assert [one.text for one in await log.missing(ANN, "", SPACE, 9)] == ["tea"]
    await store.recall.delete(ANN, "m000002")
    assert not await log.missing(ANN, "", SPACE, 9)


async def a_vector_is_of_its_text_alone(store: RunStore) -> None:
    """Check that one that comes late is not that of a text which has the number now."""
    log, place = store.item_vectors, (ANN, "", SPACE, 9)
    await recall.add(store, recall.addition(1, "secret"))
    late = await log.missing(*place)
    await store.recall.delete(ANN, "m000001")
    await recall.add(store, recall.addition(2, "other"))
    await log.put(ANN, SPACE, [(one, vector(1, 0)) for one in late])
    assert [one.text for one in await log.missing(*place)] == ["other"]
    pages, place = store.passage_vectors, (ANN, "notes", SPACE, 9)
    await documents.keep(store, documents.document(1))
    await documents.publish(store, documents.document(1), "secret")
    late = await pages.missing(*place)
    await store.documents.delete(ANN, "notes", "a.txt")
    while await store.documents.drop(ANN, "d000001", 10):
        pass
    await documents.keep(store, documents.document(2))
    await documents.publish(store, documents.document(2), "other")
    await pages.put(ANN, SPACE, [(one, vector(1, 0)) for one in late])
    assert [one.text for one in await pages.missing(*place)] == ["page 1\nother"]
    await pages.put("user:gone", SPACE, [(one, vector(1, 0)) for one in late])


async def passages_have_vectors(store: RunStore) -> None:
    """Check which passages have none: of documents that are searched, in their collection."""
    log = store.passage_vectors
    await documents.keep(store, documents.document(1))
    limits = replace(documents.LIMITS, embeds=True)
    assert not await log.missing(ANN, "notes", SPACE, 9), "it is not searched yet"
    await documents.publish(store, documents.document(1), "tea", "rain", limits=limits)
    assert await _due(store) == [(ANN, "notes")]
    texts = [one.text for one in await log.missing(ANN, "notes", SPACE, 9)]
    assert texts == ["page 1\ntea", "page 2\nrain"]
    assert not await log.missing(ANN, "rules", SPACE, 9)
    assert await log.begin("notes", SPACE, LATER) == 1
    await _fill(log, "notes", {"tea": vector(1, 0), "rain": vector(0, 1)})
    assert await log.begin("notes", SPACE, LATER) == 0
    await store.documents.delete(ANN, "notes", "a.txt")
    while await store.documents.drop(ANN, "d000001", 10):
        pass
    await documents.keep(store, documents.document(2))
    await documents.publish(store, documents.document(2), "other")
    texts = [one.text for one in await log.missing(ANN, "notes", SPACE, 9)]
    assert texts == ["page 1\nother"], "its number had a vector before"


async def what_is_most_alike_is_found(store: RunStore) -> None:
    """Check that vectors of one model and owner are compared, and that importance and age count."""
    if await store.item_vectors.missing_extension():
        return
    await recall.add(
        store,
        recall.addition(1, "black tea"),
        recall.addition(2, "green tea", importance=1.0),
        recall.addition(3, "rain", day=20),
        recall.addition(4, "nothing"),
    )
    # as many of another owner, so that each number is there twice
    others = [recall.addition(10 + n, f"tea {n} of another", owner=EVE) for n in range(4)]
    await recall.add(store, *others)
    await _fill(store.item_vectors, "", {"tea": vector(1, 0)}, EVE)
    alike = {"black": vector(1, 0.1), "green": vector(1, 0.1), "rain": vector(0.1, 1)}
    await _fill(store.item_vectors, "", alike)
    search = Search(ANN, (), most=10, half_life_days=180.0, now=recall.NOW, since=0.0)
    found = await store.recall.nearest(search, QueryVector(SPACE, vector(1, 0)))
    assert [one.item_id for one in found] == ["m000002", "m000001", "m000003"]
    assert not await store.recall.nearest(search, QueryVector(OTHER, vector(1, 0)))
    assert not await store.recall.nearest(search, QueryVector(SPACE, vector(1, 0, 0)))
    late = replace(search, since=recall.NOW - 5)
    found = await store.recall.nearest(late, QueryVector(SPACE, vector(1, 0)))
    assert [one.item_id for one in found] == ["m000003"], (
        "what was not used since then is forgotten"
    )


async def passages_that_are_most_alike_are_found(store: RunStore) -> None:
    """Check that passages are found in their collections, or in one document."""
    if await store.passage_vectors.missing_extension():
        return
    await documents.keep(store, documents.document(1))
    await documents.publish(store, documents.document(1), "tea", "rain")
    await documents.keep(store, documents.document(2, "b.txt"))
    await documents.publish(store, documents.document(2, "b.txt"), "more tea", "nothing")
    theirs = documents.document(3, owner=EVE)
    await documents.keep(store, theirs)
    await documents.publish(store, theirs, *(f"tea {n}" for n in range(4)))
    await _fill(store.passage_vectors, "notes", {"tea": vector(1, 0)}, EVE)
    await _fill(store.passage_vectors, "notes", {"tea": vector(1, 0.2), "rain": vector(0, 1)})
    wanted = QueryVector(SPACE, vector(1, 0))

    async def near(*owners: tuple[str, str], document_id: str = "") -> list[str]:
        search = DocumentSearch(owners, (), 10, document_id)
        found = await store.documents.nearest(search, wanted)
        return [f"{one.document.document_id}/{one.number}" for one in found]

    assert await near(("notes", ANN)) == ["d000002/0", "d000001/0", "d000001/1"]
    assert await near(("notes", ANN), document_id="d000001") == ["d000001/0", "d000001/1"]
    assert await near(("rules", ANN)) == []


CHECKS = (
    texts_without_vectors_are_known,
    a_vector_is_of_its_text_alone,
    passages_have_vectors,
    what_is_most_alike_is_found,
    passages_that_are_most_alike_are_found,
)
