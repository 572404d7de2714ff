"""How often real models pass: shares with their intervals, and where failing plays leave the passing ones."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crew.rehearsal.measuring.parting import Parting, partings
from crew.rehearsal.measuring.rates import Rate


@pytest.mark.parametrize(
    ("passed", "plays", "low", "high"),
    [
        # as R's prop.test(…, conf.level = 0.9, correct = FALSE) has them
        (0, 10, 0.0, 0.2129),
        (10, 10, 0.7871, 1.0),
        (7, 10, 0.4422, 0.8731),
        (90, 100, 0.8398, 0.9393),
        (0, 0, 0.0, 1.0),
    ],
)
def test_the_interval(passed: int, plays: int, low: float, high: float):
    assert Rate(passed, plays).interval == pytest.approx((low, high), abs=2e-3)


@given(st.integers(1, 500).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
def test_the_share_is_in_its_interval(given: tuple[int, int]):
    """And more plays of the same share say more."""
    rate = Rate(*given)
    low, high = rate.interval
    assert 0 <= low <= rate.share + 1e-12
    assert rate.share - 1e-12 <= high <= 1
    longer = Rate(rate.passed * 4, rate.plays * 4).interval
    assert longer[1] - longer[0] < high - low
    assert not rate.differs_from(rate)


def test_a_difference_is_said_only_where_it_is_certain():
    assert not Rate(5, 5).differs_from(Rate(3, 5))
    assert not Rate(9, 10).differs_from(Rate(7, 10))
    assert Rate(19, 20).differs_from(Rate(9, 20))
    assert Rate(9, 20).differs_from(Rate(19, 20))


def test_where_failing_plays_leave_the_passing_ones():
    good, other = ["a", "b", "end"], ["a", "c", "end"]
    bad = [["a", "x", "end"], ["a", "x"], ["a", "b"], ["a", "b", "end"]]
    found = partings(bad, [good, good, other])
    assert found == [Parting(2, 2, "x", "b"), Parting(1, 3, "nothing more", "end")]
    assert partings(bad, []) == []
    assert partings([], [good]) == []
