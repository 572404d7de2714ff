"""Recall memory: checks of what every store promises."""

import asyncio
from collections import Counter
from dataclasses import replace

from crew.backends.conformance.conversations import begin_conversation, continue_run, ended, start
from crew.backends.conformance.samples import DAY
from crew.journal.errors import StoreError
from crew.journal.records.remembered.core import CoreVersion
from crew.journal.records.remembered.recall import (
    Addition,
    Lesson,
    RecallItem,
    RecallLimits,
    Remembered,
    Search,
    day_of,
)
from crew.journal.store import RunStore
from tools.text.folding import fold

ANN, EVE = "user:ann", "user:eve"
# of the conversation that is begun here
CONVERSATION = "conversation:ann:c1"
NOW = day_of(DAY.format(20))
LIMITS = RecallLimits(max_items=1000, half_life_days=180.0, now=NOW, since=0.0)


def addition(number: int, text: str, day: int = 1, **more: object) -> Addition:
    """Return an addition of a text, the words of which are those between its spaces."""
    known = {"owner": ANN, "created_at": DAY.format(day), "seen_at": DAY.format(day)}
    item = RecallItem(item_id=f"m{number:06}", text=text, **{**known, **more})  # type: ignore[arg-type] # of a check
    words = fold(text).split()
    return Addition(item, Counter(words), len(words))


async def add(store: RunStore, *additions: Addition, limits: RecallLimits = LIMITS) -> list[str]:
    """Add them, and return what that has come to."""
    done = await store.recall.add(additions[0].item.owner, additions, limits)
    assert done is not None, "there is no such conversation"
    return [f"{one.op} {one.item_id} {one.replaced}".strip() for one in done]


async def ids(store: RunStore, *terms: str, owner: str = ANN, **more: object) -> list[str]:
    """Return the ids of what is found by words."""
    search = Search(owner, terms, most=10, half_life_days=180.0, now=NOW, since=0.0)
    found = await store.recall.search(replace(search, **more))  # type: ignore[arg-type] # of a check
    return [item.item_id for item, _ in found]


async def live(store: RunStore, owner: str = ANN) -> list[str]:
    """Return the ids of the live items, newest first."""
    return [one.item_id for one in await store.recall.listed(owner)]


async def items_are_remembered_once(store: RunStore) -> None:
    """Check that the same text is the same item, in whatever form; and that owners do not meet."""
    first = addition(1, "Ann likes bánh mì", quote="I like bánh mì", topics=("food",))
    assert await add(store, first) == ["added m000001"]
    again = addition(2, "  ANN likes ba\u0301nh   MÌ ", day=3, importance=0.9, key="food")
    other = addition(3, "Ann likes banh mi")
    assert await add(store, again, other) == ["again m000001", "added m000003"]
    known = await store.recall.get(ANN, "m000001")
    wanted = replace(first.item, seen=2, seen_at=DAY.format(3), importance=0.9, key="food")
    assert known == wanted, known
    eves = addition(1, "Ann likes bánh mì", owner=EVE)
    assert await add(store, eves) == ["added m000001"]
    assert await store.recall.get(EVE, "m000001") == eves.item
    assert await store.recall.get(EVE, "m000003") is None
    assert not await store.recall.delete(EVE, "m000003")
    assert await store.recall.delete(ANN, "m000003")
    assert await live(store) == ["m000001"]
    assert await live(store, EVE) == ["m000001"]
    assert await ids(store, "banh") == []
    # made again, a call changes nothing
    called = addition(4, "a call", call_key="k")
    assert await add(store, called) == ["added m000004"]
    repeated = addition(5, "a call", call_key="k")
    assert await add(store, repeated) == ["added m000004"]
    assert await store.recall.get(ANN, "m000004") == called.item


async def keys_replace(store: RunStore) -> None:
    """Check that of a key one item is live, also where one comes back; and what says the same."""
    assert await add(store, addition(1, "lives in Hanoi", key="City")) == ["added m000001"]
    done = await add(store, addition(2, "lives in Hue", key="city "))
    assert done == ["replaced m000002 m000001"], done
    assert await ids(store, "hanoi") == []
    assert await add(store, addition(3, "lives in hanoi", key="City")) == ["again m000001"]
    assert await live(store) == ["m000001"]
    assert await ids(store, "hue") == []
    assert await ids(store, "hanoi", "lives") == ["m000001"]
    every = await store.recall.listed(ANN, replaced=True)
    assert [one.replaced_by for one in every] == ["m000001", ""], every
    for number in range(4, 104):
        done = await add(store, addition(number, f"lives in {number}", key="City"))
        assert len(done) == 1
        assert done[0].startswith("replaced"), done
    assert await live(store) == ["m000103"]
    # one that is named
    named = replace(addition(200, "moves often"), replaces="m000103")
    assert await add(store, named) == ["replaced m000200 m000103"]
    same = replace(addition(201, "is on the move"), same_as="m000200")
    assert await add(store, same) == ["again m000200"]
    # one that was replaced is not the same as anything
    gone = replace(addition(203, "sleeps late"), same_as="m000103")
    assert await add(store, gone) == ["added m000203"]
    nowhere = replace(addition(202, "has no home"), same_as="m999999", replaces="m999998")
    assert await add(store, nowhere) == ["added m000202"]
    # topics
    likes = replace(LIMITS, merge_similarity=0.5)
    tea = addition(300, "likes tea", topics=("tea", "drinks"))
    green = addition(301, "loves green tea", topics=("Drinks", "tea", "green"))
    milk = addition(302, "likes milk", topics=("milk", "drinks"))
    assert await add(store, tea, limits=likes) == ["added m000300"]
    done = await add(store, green, milk, limits=likes)
    assert done == ["again m000300", "added m000302"], done


async def items_are_found_by_their_words(store: RunStore) -> None:
    """Check the order of what is found: by words, importance and age, of equal ones the newest."""
    texts = ["red tea", "green tea", "tea tea tea", "coffee", "red wine with red cheese"]
    await add(store, *(addition(n, text) for n, text in enumerate(texts, 1)))
    await add(store, *(addition(n, f"tea {n}", owner=EVE) for n in range(1, 50)))
    assert await ids(store, "coffee") == ["m000004"]
    assert await ids(store, "red") == ["m000005", "m000001"], await ids(store, "red")
    assert await ids(store, "tea") == ["m000003", "m000002", "m000001"], await ids(store, "tea")
    assert await ids(store, "tea", most=2) == ["m000003", "m000002"]
    assert await ids(store, "red", "tea") == ["m000001", "m000005", "m000003", "m000002"]
    assert await ids(store) == []
    assert await ids(store, "nothing") == []
    assert await ids(store, "tea", owner="user:other") == []
    search = Search(ANN, ["red", "tea"], 10, 180.0, NOW, 0.0)
    scores = [score for _, score in await store.recall.search(search)]
    assert await ids(store, "red", "tea", min_score=scores[1]) == ["m000001", "m000005"]
    more = addition(6, "old tea", day=1, importance=1.0), addition(7, "new tea", day=19)
    await add(store, *more)
    assert (await ids(store, "tea"))[:3] == ["m000003", "m000006", "m000007"]
    # with a short half life the newest comes first
    assert (await ids(store, "tea", half_life_days=2.0))[0] == "m000007"
    # one that was said very long ago is found all the same
    old = await ids(store, "tea", half_life_days=0.001, now=NOW + 30_000)
    assert set(old) == {"m000001", "m000002", "m000003", "m000006", "m000007"}, old
    # a clock that was set back makes nothing better than new
    early = await ids(store, "tea", now=day_of(DAY.format(2)))
    assert early == await ids(store, "tea", now=day_of(DAY.format(1)) - 5), early


async def the_best_is_found_among_many(store: RunStore) -> None:
    """Check that one that is new and important comes before hundreds with more of the words."""
    old = [addition(n, f"tea tea tea {n}", day=1, importance=0.0) for n in range(400)]
    await add(store, *old)
    words = "tea and much else that is said in one item, which makes it a long one"
    await add(store, addition(900, words, day=19, importance=1.0))
    assert (await ids(store, "tea", half_life_days=2.0))[0] == "m000900"
    assert (await ids(store, "tea", half_life_days=2000.0))[0] == "m000399"
    only = await ids(store, "tea", half_life_days=1.0, since=day_of(DAY.format(10)))
    assert only == ["m000900"], only


async def what_is_too_much_is_forgotten(store: RunStore) -> None:
    """Check that an owner's least items go first, and those that were not used for long."""
    limits = replace(LIMITS, max_items=3)
    given = [addition(n, f"text {n}", importance=0.9 - n / 10) for n in range(1, 6)]
    done = await add(store, *given, limits=limits)
    assert done[2:] == ["added m000003", "full", "full"], done
    assert await live(store) == ["m000003", "m000002", "m000001"]
    assert await ids(store, "text") == ["m000001", "m000002", "m000003"]
    replaced = addition(7, "text seven", importance=0.0, key="k")
    await add(store, replaced, addition(8, "text eight", importance=0.01, key="k"), limits=limits)
    # one that is replaced goes before any live one
    kept = await store.recall.listed(ANN, replaced=True)
    assert [one.item_id for one in kept] == ["m000003", "m000002", "m000001"], kept
    await store.recall.touch(ANN, ["m000002", "m000009"], DAY.format(18))
    touched = await store.recall.get(ANN, "m000002")
    assert touched is not None
    assert touched.recalled_at == DAY.format(18)
    since = day_of(DAY.format(10))
    assert await ids(store, "text", since=since) == ["m000002"]
    await add(store, addition(1, "of eve", owner=EVE))
    assert await store.recall.purge(since) == 3
    # of an owner that has nothing, nothing is kept
    await store.recall.touch("user:none", ["m000001"], DAY.format(18))
    assert not await store.recall.delete("user:none", "m000001")
    assert await store.recall.get("user:none", "m000001") is None
    assert await live(store) == ["m000002"]
    assert await live(store, EVE) == []
    assert await ids(store, "text") == ["m000002"]
    late = replace(limits, since=day_of(DAY.format(19)))
    assert await add(store, addition(20, "late", day=19), limits=late) == ["added m000020"]
    assert await live(store) == ["m000020"]
    await add(store, addition(21, "b", day=19), addition(22, "c", day=19))
    page = await store.recall.listed(ANN, limit=2)
    assert [one.item_id for one in page] == ["m000022", "m000021"]
    assert [one.item_id for one in await store.recall.listed(ANN, 2, "m000021")] == ["m000020"]


async def of_many_writers_each_text_is_one_item(store: RunStore) -> None:
    """Check that 20 writers of the same texts make no item twice."""

    async def write(writer: int) -> None:
        for number in range(10):
            text = f"text {number}" if writer % 2 else f"TEXT  {number}"
            await add(store, addition(100 * writer + number, text))

    await asyncio.gather(*(write(writer) for writer in range(20)))
    known = await store.recall.listed(ANN, 1000, replaced=True)
    assert sorted(fold(one.text) for one in known) == [f"text {n}" for n in range(10)], known
    assert {one.seen for one in known} == {20}, known


async def a_lesson_is_kept_once(store: RunStore) -> None:
    """Check that what is learned, and how far that has come, are kept in one."""
    await begin_conversation(store, "r1", start("r1", 1))
    await continue_run(store, "r1", ended("r1", 1))
    known = await store.conversations.get(ANN, "c1")
    assert known is not None
    assert known.learned == 0
    block = CoreVersion(ANN, "profile", 1, "short", DAY.format(1), "learn", "learn")
    more = (addition(1, "likes tea"),)
    lesson = Lesson(ANN, "c1", known.created_at, 0, 1, more, (block,))
    for other in (
        replace(lesson, created_at="another"),
        replace(lesson, after=1),
        replace(lesson, conversation_id="c2"),
    ):
        assert await store.recall.learn(other, LIMITS) is None
    done = await asyncio.gather(*(store.recall.learn(lesson, LIMITS) for _ in range(5)))
    made = [one for one in done if one is not None]
    assert made == [[Remembered("added", "m000001")]], done
    assert await store.core.newest([ANN]) == [block]
    known = await store.conversations.get(ANN, "c1")
    assert known is not None
    assert known.learned == 1
    # where a block has changed meanwhile nothing is kept
    stale = replace(lesson, after=1, through=2, additions=(addition(2, "likes milk"),))
    try:
        await store.recall.learn(stale, LIMITS)
    except StoreError:
        pass
    else:
        raise AssertionError("a version of a block was written twice")
    assert await live(store) == ["m000001"]
    known = await store.conversations.get(ANN, "c1")
    assert known is not None
    assert known.learned == 1
    nothing = Lesson(ANN, "c1", known.created_at, 1, 2)
    assert await store.recall.learn(nothing, LIMITS) == []


async def what_belongs_to_a_conversation_goes_with_it(store: RunStore) -> None:
    """Check that such items need their conversation."""
    one = addition(1, "likes tea", owner=CONVERSATION)
    assert await store.recall.add(CONVERSATION, [one], LIMITS) is None
    await begin_conversation(store, "r1", start("r1", 1))
    await continue_run(store, "r1", ended("r1", 1))
    assert await add(store, one) == ["added m000001"]
    await add(store, addition(1, "likes milk"))
    assert await store.conversations.delete(ANN, "c1") == "deleted"
    assert await live(store, CONVERSATION) == []
    assert await ids(store, "tea", owner=CONVERSATION) == []
    assert await live(store) == ["m000001"]


CHECKS = (
    items_are_remembered_once,
    keys_replace,
    items_are_found_by_their_words,
    the_best_is_found_among_many,
    what_is_too_much_is_forgotten,
    of_many_writers_each_text_is_one_item,
    a_lesson_is_kept_once,
    what_belongs_to_a_conversation_goes_with_it,
)
