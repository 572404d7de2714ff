"""How long servers ask to wait, in their headers and in their words."""

import re
from collections.abc import Mapping
from datetime import UTC
from email.utils import parsedate_to_datetime
from http import HTTPStatus

# longer than any deadline; a server may write any number
MOST_SECONDS = 1e9
# later numbers are times since 1970: in seconds, and in milliseconds
FIRST_TIME, FIRST_MILLIS = 1e9, 1e11
NUMBER = re.compile(r"\d+(?:\.\d+)?", re.ASCII)
# of "1m2.5s", "58 hours" or "2 minutes and 3 seconds"
PART = re.compile(
    r"(?P<number>\d{1,9}(?:\.\d{1,9})?)\s{0,3}"
    r"(?P<unit>ms|milliseconds?|d(?:ays?)?|h(?:(?:ou)?rs?)?|m(?:in(?:ute)?s?)?|s(?:ec(?:ond)?s?)?)"
    r"(?![a-z])\s{0,3}(?:and\s{1,3})?",
    re.IGNORECASE,
)
SECONDS = {"ms": 0.001, "m": 60.0, "d": 86400.0, "h": 3600.0, "s": 1.0}
# of Google ("retryDelay": "2s"), Groq ("try again in 1m2.5s"), Azure ("retry after 8 seconds")
ASKED = re.compile(
    r"(?:\"retry_?(?:delay|after)\"\s{0,3}:\s{0,3}\"?"
    r"|\b(?:retry|try(?:ing)? again|wait|reset(?:s|ting)?)"
    r"(?: (?:in|after|for|at least|about)){0,2} )",
    re.IGNORECASE,
)
PLAIN = re.compile(
    r"\"retry_?after\"\s{0,3}:\s{0,3}\"?(\d{1,9}(?:\.\d{1,9})?)[\"\s,}]", re.IGNORECASE
)
# of what is counted, what is left of it and when it is whole again (OpenAI, Groq, Cerebras)
COUNTED = ("requests", "tokens")


def parse_duration(text: str) -> float | None:
    """Return the seconds of a duration, such as "1m2.5s", that begins a text; None: none does."""
    seconds, place = 0.0, 0
    while (found := PART.match(text, place)) is not None:
        unit = found["unit"].lower()
        name = "ms" if unit == "ms" or unit.startswith("milli") else unit[:1]
        seconds += float(found["number"]) * SECONDS[name]
        place = found.end()
    return min(seconds, MOST_SECONDS) if place else None


def parse_retry_after(value: str, now: float) -> float | None:
    """Return seconds that a server asks to wait, by number, duration or date; None: anything else.

    Args:
        value: of the header `Retry-After` (RFC 9110, 10.2.3).
        now: seconds since 1970.
    """
    text = value.strip()
    if NUMBER.fullmatch(text):
        return min(float(text), MOST_SECONDS)
    if (seconds := parse_duration(text)) is not None:
        return seconds
    try:
        moment = parsedate_to_datetime(text)
        # a zone of -0000 is none, and the time that of Greenwich (RFC 5322, 3.3)
        aware = moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)
        return max(0.0, aware.timestamp() - now)
    except (ValueError, OverflowError):
        return None


def wait_in_headers(headers: Mapping[str, str], now: float, status: int) -> float | None:
    """Return seconds that a server asks to wait in its headers; None: it does not.

    Args:
        headers: of an answer, found in any case.
        now: seconds since 1970.
        status: of the answer; many servers say in all of theirs when a limit is reset.
    """
    # Azure has milliseconds in a header of its own
    millis = headers.get("retry-after-ms", "")
    if NUMBER.fullmatch(millis):
        return min(float(millis) / 1000, MOST_SECONDS)
    if (wait := parse_retry_after(headers.get("retry-after", ""), now)) is not None:
        return wait
    if status != HTTPStatus.TOO_MANY_REQUESTS:
        return None
    if (wait := parse_retry_after(headers.get("x-ratelimit-reset-after", ""), now)) is not None:
        return wait
    for what in COUNTED:
        if headers.get(f"x-ratelimit-remaining-{what}") == "0":
            reset = headers.get(f"x-ratelimit-reset-{what}", "")
            if (wait := parse_retry_after(reset, now)) is not None:
                return wait
    is_left = headers.get("x-ratelimit-remaining", "0") != "0"
    return None if is_left else _until(headers.get("x-ratelimit-reset", ""), now)


def _until(reset: str, now: float) -> float | None:
    """Return seconds until a limit is reset: given as they are, or as a time since 1970."""
    if not NUMBER.fullmatch(reset):
        return parse_retry_after(reset, now)
    number = float(reset)
    if number >= FIRST_MILLIS:
        number /= 1000
    return max(0.0, number - now) if number >= FIRST_TIME else number


def wait_in_words(text: str) -> float | None:
    """Return seconds that a server asks to wait in the words of its refusal; None: it does not."""
    for found in ASKED.finditer(text):
        if (seconds := parse_duration(text[found.end() : found.end() + 80])) is not None:
            return seconds
    plain = PLAIN.search(text)
    return float(plain[1]) if plain is not None else None
