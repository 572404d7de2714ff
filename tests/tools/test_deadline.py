"""The deadline arithmetic: never negative, never past the sequence, at least the minimum."""

from hypothesis import given
from hypothesis import strategies as st

from tools.limits.deadline import Deadline, Limits

seconds = st.floats(0, 1000)
positive = st.floats(0.001, 100)


@given(total=positive, overhead=seconds, minimum=positive, passed=seconds, wanted=positive)
def test_an_attempt_never_reaches_past_the_sequence(
    total: float, overhead: float, minimum: float, passed: float, wanted: float
):
    """Whatever the limits: what is allotted is above zero, fits into what remains, and is at least the minimum."""
    deadline = Deadline.after(
        0, Limits(sequence_seconds=total, overhead_seconds=overhead, minimum_seconds=minimum)
    )
    left = deadline.remaining(passed)
    given_ = deadline.allot(passed, wanted)
    assert 0 <= left <= total
    if left < minimum or left == 0:
        assert given_ is None
    else:
        assert given_ is not None
        assert 0 < given_ <= left
        assert given_ >= min(minimum, left)
        assert given_ <= max(minimum, wanted)


def test_the_numbers_of_the_contract():
    """5 s each of 30 s, less half a second at the end, 100 ms at least."""
    deadline = Deadline.after(0, Limits())
    assert deadline.allot(0, 5) == 5
    assert deadline.allot(27, 5) == 2.5
    assert deadline.allot(29.45, 5) == 0.1
    assert round(deadline.allot(29.9, 5) or 0, 6) == 0.1
    assert deadline.allot(29.901, 5) is None
    assert deadline.allot(31, 5) is None
