"""How many tokens a text is: an estimate that needs no vocabulary, corrected by providers.

The pieces are those of o200k's pre-tokenizer, a little coarser (github.com/openai/tiktoken). A
model may have an exact tokenizer instead (see `tokenizers`).
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

# Beside its text a message costs some tokens of its own.
MESSAGE_TOKENS = 4
# about the most that providers count for an image, however large it is
IMAGE_TOKENS = 1600
LATIN = "a-z\u00c0-\u024f\u1e00-\u1eff"
PIECE = re.compile(
    # a word, or the part of one that a capital begins
    rf"([A-Z]*[{LATIN}]+|[A-Z]+)"
    # up to three digits; the space before them; the breaks of lines; an indentation
    r"|(\d{1,3}|[ ](?=\d)|\n+[^\S\n]*|[^\S\n]{2,})"
    rf"|([^\W\dA-Z_{LATIN}]+)"
    r"|([^\w\s]+|_+)"
)
# from here on a character is a syllable or a word
IDEOGRAPHS = "\u3040"
# a word of up to so many letters is one token
WORD_LETTERS = 7
# texts whose count is kept: those that are shown again and again
MAX_KEPT = 1024
# a provider that counts otherwise is believed within these bounds
MIN_RATIO, MAX_RATIO = 0.5, 3.0
ANSWERS_TO_BELIEVE = 3
# after so many answers, one in so many is looked at
MANY_ANSWERS = 16
# of the newest answer in the moving ratio
NEWEST_PART = 0.2


@lru_cache(MAX_KEPT)
def count_tokens(text: str) -> int:
    """Estimate the tokens of a text: 0.7 to 1.2 times the count of o200k for usual texts."""
    total = 0.0
    for piece in PIECE.finditer(text):
        size = piece.end() - piece.start()
        match piece.lastindex:
            case 1:
                total += 1 if size <= WORD_LETTERS else 1 + (size - WORD_LETTERS) / 5
            case 2:
                total += 1
            case 3:
                dense = sum(character >= IDEOGRAPHS for character in piece[0])
                total += 0.72 * dense + (size - dense) / 3.1
            case _:
                total += max(0.75, size / 2.2)
    return round(total)


@dataclass(frozen=True, slots=True)
class Tokenizer:
    """How the tokens are counted of what one model is sent."""

    # of a text
    count: Callable[[str], int]
    # no text is more tokens than so many for each of its characters
    max_per_character: float
    # the model's own: what its provider counts does not correct it
    is_exact: bool

    def count_message(self, text: str) -> int:
        """Count the tokens of a message that has only a text."""
        return MESSAGE_TOKENS + self.count(text)


ESTIMATE = Tokenizer(count_tokens, max_per_character=1.0, is_exact=False)


@dataclass(slots=True)
class Ratio:
    """Of one model at one provider."""

    # the moving ratio of counted by estimated tokens
    value: float = 0.0
    # that are in it, and that have come
    learned: int = 0
    answers: int = 0


class TokenRatios:
    """By how much providers count more tokens than are estimated, for each of their models."""

    def __init__(self) -> None:
        self._by_endpoint: dict[tuple[str, str], Ratio] = {}

    @property
    def known(self) -> dict[tuple[str, str], float]:
        """By (provider, model)."""
        return {endpoint: self.of(endpoint) for endpoint in self._by_endpoint}

    def of(self, endpoint: tuple[str, str]) -> float:
        """Return the ratio of counted to estimated tokens; 1 until there are some answers."""
        ratio = self._by_endpoint.get(endpoint)
        return ratio.value if ratio and ratio.learned >= ANSWERS_TO_BELIEVE else 1.0

    def learn(self, endpoint: tuple[str, str], counted: int, estimate: Callable[[], int]) -> None:
        """Learn from a provider's count of a request's tokens; `estimate` is called when needed."""
        ratio = self._by_endpoint.setdefault(endpoint, Ratio())
        ratio.answers += 1
        # an estimate takes longer than it is worth each time
        if counted <= 0 or (ratio.answers > MANY_ANSWERS and ratio.answers % MANY_ANSWERS):
            return
        newest = min(MAX_RATIO, max(MIN_RATIO, counted / max(1, estimate())))
        # the first few weigh the same
        part = max(NEWEST_PART, 1 / (ratio.learned + 1))
        ratio.value += (newest - ratio.value) * part
        ratio.learned += 1
