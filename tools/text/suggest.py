"""Did you mean: the known word that a misspelt one was probably meant to be."""

import difflib
from collections.abc import Collection, Iterable

# the least likeness of two words, 0 to 1: difflib's own for short ones; with it `max_turns` would
# be `max_tokens`
SHORT_LIKENESS = 0.6
SHORT = 4
LIKENESS = 0.7


def nearest(word: str, known: Iterable[str]) -> str | None:
    """Return the known word that `word` was probably meant to be; None if none is near."""
    by_lower_case = {one.lower(): one for one in known}
    cutoff = SHORT_LIKENESS if len(word) <= SHORT else LIKENESS
    found = difflib.get_close_matches(word.lower(), by_lower_case, n=1, cutoff=cutoff)
    return by_lower_case[found[0]] if found else None


def near_or_all(word: str, known: Collection[str], kind: str = "tool") -> str:
    """Return, in words, that there is none of a kind, and the one that is near; else all."""
    near, text = nearest(word, known), f"there is no {kind} {word!r}"
    if near is not None:
        return f"{text}; did you mean {near!r}?"
    return f"{text}; the {kind}s are: {', '.join(known) or 'none'}"
