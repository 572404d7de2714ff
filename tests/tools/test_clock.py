"""How moments are written."""

from datetime import UTC, datetime, timedelta, timezone

from hypothesis import given
from hypothesis import strategies as st

from tools.clock import rfc3339

MOMENTS = st.datetimes(
    # what hypothesis wants here has no zone
    datetime(2, 1, 1),  # noqa: DTZ001
    datetime(9998, 12, 31),  # noqa: DTZ001
    timezones=st.sampled_from([UTC, timezone(timedelta(hours=-9, minutes=-30))]),
)


@given(MOMENTS)
def test_a_moment_is_written_in_utc(moment: datetime):
    """With milliseconds, cut off; and read back as what it was."""
    text = rfc3339(moment)
    exact = moment.astimezone(UTC)
    cut = exact.replace(microsecond=exact.microsecond // 1000 * 1000)
    assert text.endswith("Z")
    assert len(text) == len("2026-01-01T00:00:00.000Z")
    assert datetime.fromisoformat(text) == cut


@given(MOMENTS, st.integers(0, 999_999))
def test_texts_of_a_second_differ_in_their_milliseconds(moment: datetime, microseconds: int):
    """What is remembered of a second is the same for each of its moments."""
    first, other = rfc3339(moment), rfc3339(moment.replace(microsecond=microseconds))
    assert first[:20] == other[:20]
    assert other[20:] == f"{microseconds // 1000:03d}Z"


@given(MOMENTS, MOMENTS)
def test_texts_sort_by_time(one: datetime, other: datetime):
    """As the moments do."""
    first, last = sorted([one, other])
    assert rfc3339(first) <= rfc3339(last)
