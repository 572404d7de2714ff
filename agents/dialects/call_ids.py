"""Ids of calls in the form that a dialect takes."""

import re
import string
from hashlib import blake2b

FIT = re.compile(r"[A-Za-z0-9_-]{1,64}")
SHORT = re.compile(r"[A-Za-z0-9]{9}")
DIGITS = string.ascii_letters + string.digits


def fit_id(call_id: str) -> str:
    """Return an id of 64 letters, digits, `_` and `-` at most: another one for each other id.

    Of what does not fit, 16 bytes of a digest stand for it, so that it is the same each time.
    """
    if FIT.fullmatch(call_id):
        return call_id
    return f"call_{_digest(call_id, 16).hex()}"


def short_id(call_id: str) -> str:
    """Return an id of nine letters and digits: another one for each other id, as good as always.

    What is so already stays.
    """
    if SHORT.fullmatch(call_id):
        return call_id
    number = int.from_bytes(_digest(call_id, 8))
    return "".join(DIGITS[number // len(DIGITS) ** place % len(DIGITS)] for place in range(9))


def _digest(call_id: str, size: int) -> bytes:
    return blake2b(call_id.encode(errors="surrogatepass"), digest_size=size).digest()
