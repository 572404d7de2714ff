"""Ids of calls in the form that a dialect takes."""

import re
from hashlib import blake2b

FIT = re.compile(r"[A-Za-z0-9_-]{1,64}")


def fit_id(call_id: str) -> str:
    """Return an id of 64 letters, digits, `_` and `-` at most: another one for each other id.

    Of what does not fit, 16 bytes of a digest stand for it, so that it is the same each time.
    """
    if FIT.fullmatch(call_id):
        return call_id
    digest = blake2b(call_id.encode(errors="surrogatepass"), digest_size=16).hexdigest()
    return f"call_{digest}"
