"""Notices that wait together: no event is missing in the middle of them, none comes twice."""

from hypothesis import given
from hypothesis import strategies as st

from crew.journal.records.cluster import MAX_TOGETHER, Watch, Written

# how many events each notice is about, and whether it has them
NOTICES = st.lists(st.tuples(st.integers(1, 4), st.booleans()), min_size=1, max_size=8)


@given(NOTICES)
def test_successive_notices_are_one(notices: list[tuple[int, bool]]):
    """With all events if each had its own; else with none, or the newest ones."""
    watch, seq = Watch(), 0
    for count, has_events in notices:
        numbers = range(seq + 1, seq + count + 1)
        seq += count
        watch.notify(Written(seq, tuple(map(str, numbers)) if has_events else ()))
    (one,) = watch.notices
    assert isinstance(one, Written)
    assert one.seq == seq
    assert one.events == tuple(map(str, range(seq - len(one.events) + 1, seq + 1)))
    if all(has_events for _, has_events in notices):
        assert len(one.events) == seq


def test_what_does_not_join_is_read():
    """A notice between the two was lost; or they are too much to be kept."""
    assert Written(3, ("3",)).then(Written(5, ("5",))) == Written(5)
    assert Written(5, ("5",)).then(Written(3, ("3",))) == Written(3)
    long = "x" * (MAX_TOGETHER // 2)
    assert Written(1, (long,)).then(Written(2, (long,))) == Written(2, (long, long))
    assert Written(1, (long,)).then(Written(2, (long + "x",))) == Written(2)


def test_ephemeral_events_keep_their_place():
    """What was stored before one is not put behind it."""
    watch = Watch()
    notices: list[Written | str | None]
    notices = [Written(1, ("1",)), "delta", Written(2, ("2",)), None, Written(3, ("3",))]
    for notice in notices:
        watch.notify(notice)
    assert list(watch.notices) == notices
