"""Which part of a conversation a client's history is."""

from hypothesis import given
from hypothesis import strategies as st

from crew.journal.records.conversations import Exchange
from server.protocols.branches import HistoryFit, shared_exchanges, thread_of

TEXTS = st.lists(st.text("abc", min_size=1, max_size=3), min_size=1, max_size=8)
DIFFERENT = st.lists(st.text("abc", min_size=1, max_size=3), min_size=1, max_size=8, unique=True)


def fit_of(queries: list[str], said: list[str], *, is_open: bool = False) -> HistoryFit:
    ends = ["2026-01-01T00:00:00.000Z"] * len(queries)
    if is_open:
        ends[-1] = ""
    exchanges = [
        Exchange(number, f"r{number}", query, "x", "a", "A", "completed", "", end)
        for number, (query, end) in enumerate(zip(queries, ends, strict=True), 1)
    ]
    return HistoryFit("c1", exchanges, shared_exchanges(queries, said))


@given(TEXTS, st.lists(st.tuples(st.integers(0, 8), st.text("xyz", min_size=1)), max_size=4))
def test_who_repeats_all_has_not_gone_back(queries: list[str], others: list[tuple[int, str]]):
    """Nor who has messages besides that the crew never got."""
    said = list(queries)
    for place, text in others:
        said.insert(place, text)
    fit = fit_of(queries, said)
    assert fit.shared == len(queries)
    assert not fit.is_left(said, "next")


@given(DIFFERENT, st.data())
def test_who_leaves_out_what_is_old_has_not_gone_back(queries: list[str], data: st.DataObject):
    said = queries[data.draw(st.integers(0, len(queries) - 1)) :]
    assert not fit_of(queries, said).is_left(said, "next")


@given(TEXTS, st.data())
def test_who_repeats_only_the_first_has_gone_back(queries: list[str], data: st.DataObject):
    said = queries[: data.draw(st.integers(0, len(queries) - 1))]
    fit = fit_of(queries, said)
    assert fit.shared == len(said)
    assert fit.is_left(said, "next")


@given(TEXTS)
def test_the_same_again_while_it_is_at_work(queries: list[str]):
    said = queries[:-1]
    assert not fit_of(queries, said, is_open=True).is_left(said, queries[-1])
    assert fit_of(queries, said, is_open=True).is_left(said, "something else")


def test_texts_that_are_changed_on_the_way():
    """As by a client that adds documents to the newest message only: it is not gone back."""
    said = ["one", "two"]
    assert not fit_of(["one with text", "two with text"], said).is_left(said, "three with text")


def test_names():
    assert thread_of("c1-fork-12") == "c1"
    assert thread_of("c1-fork-0") == "c1-fork-0"
    assert thread_of("") == ""
