"""Did you mean: the known word that a misspelt one was probably meant to be."""

import difflib
from collections.abc import Iterable

# the least likeness of two words, 0 to 1; difflib's own default
LIKENESS = 0.6


def nearest(word: str, known: Iterable[str]) -> str | None:
    """The known word that `word` was probably meant to be; None if none is near."""
    by_lower_case = {one.lower(): one for one in known}
    found = difflib.get_close_matches(word.lower(), by_lower_case, n=1, cutoff=LIKENESS)
    return by_lower_case[found[0]] if found else None
