"""Which part of a conversation a client's history is."""

from hypothesis import given
from hypothesis import strategies as st

from crew.journal.records.conversations import Exchange
from server.protocols.branches import has_gone_back, shared_exchanges, thread_of

TEXTS = st.lists(st.text("abc", min_size=1, max_size=3), min_size=1, max_size=8)
DIFFERENT = st.lists(st.text("abc", min_size=1, max_size=3), min_size=1, max_size=8, unique=True)


def gone_back(
    queries: list[str], said: list[str], text: str = "next", *, is_open: bool = False
) -> bool:
    ends = ["2026-01-01T00:00:00.000Z"] * len(queries)
    if is_open:
        ends[-1] = ""
    exchanges = [
        Exchange(number, f"r{number}", query, "x", "a", "A", "completed", "", end)
        for number, (query, end) in enumerate(zip(queries, ends, strict=True), 1)
    ]
    return has_gone_back(exchanges, shared_exchanges(queries, said), said, text)


@given(TEXTS, st.lists(st.tuples(st.integers(0, 8), st.text("xyz", min_size=1)), max_size=4))
def test_who_repeats_all_has_not_gone_back(queries: list[str], others: list[tuple[int, str]]):
    """Nor who has messages besides that the crew never got."""
    said = list(queries)
    for place, text in others:
        said.insert(place, text)
    assert shared_exchanges(queries, said) == len(queries)
    assert not gone_back(queries, said)


@given(DIFFERENT, st.data())
def test_who_leaves_out_what_is_old_has_not_gone_back(queries: list[str], data: st.DataObject):
    said = queries[data.draw(st.integers(0, len(queries) - 1)) :]
    assert not gone_back(queries, said)


@given(TEXTS, st.data())
def test_who_repeats_only_the_first_has_gone_back(queries: list[str], data: st.DataObject):
    said = queries[: data.draw(st.integers(0, len(queries) - 1))]
    assert shared_exchanges(queries, said) == len(said)
    assert gone_back(queries, said)


@given(TEXTS)
def test_the_same_again_while_it_is_at_work(queries: list[str]):
    said = queries[:-1]
    assert not gone_back(queries, said, queries[-1], is_open=True)
    assert gone_back(queries, said, "something else", is_open=True)


def test_texts_that_are_changed_on_the_way():
    """As by a client that adds documents to the newest message only: it is not gone back."""
    said = ["one", "two"]
    assert not gone_back(["one with text", "two with text"], said)
    assert not gone_back(["one with text", "two with text", "three with text"], said)


def test_names():
    assert thread_of("c1-fork-12") == "c1"
    assert thread_of("c1-fork-0") == "c1-fork-0"
    assert thread_of("") == ""
