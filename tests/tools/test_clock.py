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


@given(MOMENTS, MOMENTS)
def test_texts_sort_by_time(one: datetime, other: datetime):
    """Those of the same millisecond are the same."""
    if one < other:
        assert rfc3339(one) <= rfc3339(other)
