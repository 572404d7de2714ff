"""How long servers ask to wait: each way that one was seen to say it."""

from email.utils import formatdate

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tools.limits.waits import parse_retry_after, wait_in_headers, wait_in_words

NOW = 1_790_000_000.0


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        ("7", 7.0),
        (" 1.5 ", 1.5),
        ("1s", 1.0),
        ("6m0s", 360.0),
        ("1h2m3.5s", 3723.5),
        ("120ms", 0.12),
        (formatdate(NOW + 9, usegmt=True), 9.0),
        (formatdate(NOW + 9), 9.0),
        (formatdate(NOW - 9, usegmt=True), 0.0),
        ("9" * 15, 1e9),
        ("9" * 400, 1e9),
        ("", None),
        ("soon", None),
        ("-1", None),
        ("nan", None),
        ("٣", None),
        ("Fri, 31 Dec 99999 23:59:59 GMT", None),
    ],
)
def test_retry_after(value: str, seconds: float | None):
    """A number, a duration, or a date; a date without a zone is that of Greenwich."""
    assert parse_retry_after(value, NOW) == seconds


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry-after-ms": "1500", "retry-after": "9"}, 1.5),
        ({"retry-after": "2", "x-ratelimit-reset": "60"}, 2.0),
        ({"x-ratelimit-reset-after": "3"}, 3.0),
        ({"x-ratelimit-reset": str(int((NOW + 4) * 1000))}, 4.0),
        ({"x-ratelimit-reset": str(int(NOW) + 5)}, 5.0),
        ({"x-ratelimit-reset": "6"}, 6.0),
        ({"x-ratelimit-remaining": "4999", "x-ratelimit-reset": "6"}, None),
        ({"x-ratelimit-remaining-requests": "0", "x-ratelimit-reset-requests": "1m0s"}, 60.0),
        (
            {
                "x-ratelimit-remaining-requests": "9",
                "x-ratelimit-reset-requests": "1s",
                "x-ratelimit-remaining-tokens": "0",
                "x-ratelimit-reset-tokens": "2s",
            },
            2.0,
        ),
        ({"x-ratelimit-remaining-requests": "9", "x-ratelimit-reset-requests": "1s"}, None),
        ({}, None),
    ],
)
def test_headers(headers: dict[str, str], seconds: float | None):
    """The one that says it most exactly; of what is counted, only what is used up."""
    assert wait_in_headers(headers, NOW, 429) == seconds


def test_limits_that_every_answer_names():
    """Say nothing of a server that has failed."""
    headers = {"x-ratelimit-remaining": "0", "x-ratelimit-reset": "60"}
    assert wait_in_headers(headers, NOW, 503) is None
    assert wait_in_headers({**headers, "retry-after": "2"}, NOW, 503) == 2.0


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ('{"retryDelay": "2s"}', 2.0),
        ("Rate limit reached. Please try again in 1m2.5s.", 62.5),
        ("try again in 1h2m3.5s", 3723.5),
        ("Please retry after 8 seconds.", 8.0),
        ("Please wait 1 seconds before retrying", 1.0),
        ("You can try again in 58 hours", 58 * 3600.0),
        ("Your limit will reset in 2 minutes and 3 seconds", 123.0),
        ("retry in 250 ms", 0.25),
        ('{"error": {"retry_after": 4}}', 4.0),
        ("try again in a moment", None),
        ("wait 5 monkeys", None),
        ("It took 20 s", None),
    ],
)
def test_words(text: str, seconds: float | None):
    """Of a refusal."""
    assert wait_in_words(text) == seconds


@given(st.text(), st.dictionaries(st.sampled_from(["retry-after", "x-ratelimit-reset"]), st.text()))
def test_any_text_is_read(text: str, headers: dict[str, str]):
    """It is a time to wait, or none."""
    for wait in (
        wait_in_words(text),
        wait_in_words(f"try again in {text}"),
        parse_retry_after(text, NOW),
        wait_in_headers(headers, NOW, 429),
    ):
        assert wait is None or 0 <= wait < float("inf")


@given(st.integers(0, 23), st.integers(0, 59), st.floats(0, 59).map(lambda one: round(one, 3)))
def test_durations_are_sums(hours: int, minutes: int, seconds: float):
    """Of their parts."""
    expected = hours * 3600 + minutes * 60 + seconds
    text = f"{hours}h{minutes}m{seconds:.3f}s"
    assert parse_retry_after(text, NOW) == pytest.approx(expected)
    assert wait_in_words(f"Please try again in {text}") == pytest.approx(expected)
