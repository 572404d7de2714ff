"""The words of a text, as recall memory and documents are searched by."""

import importlib
import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterator
from datetime import datetime
from functools import lru_cache
from itertools import groupby, pairwise

from tools.text.scripts import FORMAT, HAN, ONE_IS_A_WORD, UNSPACED

# of a word; a longer one is cut
MAX_WORD = 64
# different words of a query that are looked at, half of them at its end: a question may stand
# behind a long text
MAX_QUERY_WORDS = 512
# characters that are looked at, on each side
MAX_QUERY = 20_000
ASCII_WORD = re.compile(r"[a-z0-9]+")
# of Snowball, by the codes that languages have
LANGUAGES = {
    "ar": "arabic",
    "ca": "catalan",
    "cs": "czech",
    "da": "danish",
    "de": "german",
    "el": "greek",
    "en": "english",
    "eo": "esperanto",
    "es": "spanish",
    "et": "estonian",
    "eu": "basque",
    "fa": "persian",
    "fi": "finnish",
    "fr": "french",
    "ga": "irish",
    "hi": "hindi",
    "hu": "hungarian",
    "hy": "armenian",
    "id": "indonesian",
    "it": "italian",
    "lt": "lithuanian",
    "nb": "norwegian",
    "ne": "nepali",
    "nl": "dutch",
    "no": "norwegian",
    "pl": "polish",
    "pt": "portuguese",
    "ro": "romanian",
    "ru": "russian",
    "sr": "serbian",
    "sv": "swedish",
    "ta": "tamil",
    "tr": "turkish",
    "yi": "yiddish",
}
# letters that Unicode does not take apart
PLAIN = str.maketrans({"đ": "d", "ø": "o", "ł": "l", "ı": "i", "ħ": "h", "ŧ": "t"})


class Words:
    """Finds the words of texts in a language."""

    def __init__(self, language: str) -> None:
        """Of a language: `en`, `vi-VN`, or its English name; without stems where it has none."""
        name = re.split(r"[-_]", language.casefold())[0]
        self._stem = _stemmer(LANGUAGES.get(name, name))

    def terms(self, text: str) -> tuple[Counter[str], int]:
        """Return the words of a text by which it is found, and how many words it has.

        A word with marks stands there without them, too; and each Chinese character and Korean
        syllable, as a query may be one alone.
        """
        text = _folded(text)
        found: Counter[str] = Counter()
        length = 0
        for word in _words(text):
            length += 1
            found.update(self._forms(word))
        found |= Counter(ONE_IS_A_WORD.findall(text))
        return found, length

    def dated_terms(self, text: str, at: datetime) -> tuple[Counter[str], int]:
        """Return the words of a text, and the ones of its day."""
        return self.terms(f"{text} {at:%Y-%m-%d} {at:%B}")

    def query(self, text: str) -> list[str]:
        """Return the words that are looked for, each once."""
        if len(text) > 2 * MAX_QUERY:
            text = f"{text[:MAX_QUERY]} {text[-MAX_QUERY:]}"
        folded = _folded(text)
        terms = [one for word in _words(folded) for one in self._forms(word)]
        # a word of one character stands among others in a question: 我的猫叫什么 asks about 猫
        terms += HAN.findall(folded)
        found = list(dict.fromkeys(terms))
        if len(found) <= MAX_QUERY_WORDS:
            return found
        half = MAX_QUERY_WORDS // 2
        # what is asked about a text stands behind it, often in words of that text
        last = list(dict.fromkeys(reversed(terms)))[:half]
        return list(dict.fromkeys([*last, *found]))[:MAX_QUERY_WORDS]

    def _forms(self, word: str) -> tuple[str, ...]:
        word = word[:MAX_WORD]
        plain = without_marks(word)
        stem = self._stem(word)
        return (stem,) if plain == word else (stem, self._stem(plain))


def _folded(text: str) -> str:
    text = unicodedata.normalize("NFKC", text).casefold()
    if text.isascii():
        return text
    # casefold may take characters apart
    return FORMAT.sub("", unicodedata.normalize("NFC", text))


def _words(text: str) -> Iterator[str]:
    """Yield the words of a folded text, as they follow each other."""
    if text.isascii():
        yield from ASCII_WORD.findall(text)
        return
    for kind, run in groupby(text, _kind_of):
        word = "".join(run)
        if kind == "word":
            yield word
        elif kind == "unspaced":
            yield from _pairs(word)


def _kind_of(character: str) -> str:
    if UNSPACED.match(character) and not _is_digit(character):
        return "unspaced"
    is_of_word = character.isalnum() or unicodedata.category(character)[0] == "M"
    return "word" if is_of_word else ""


def _is_digit(character: str) -> bool:
    return unicodedata.category(character) == "Nd"


def _pairs(text: str) -> Iterator[str]:
    """Yield each two characters that stand side by side; one that stands alone by itself."""
    if len(text) == 1:
        yield text
    for first, second in pairwise(text):
        yield first + second


@lru_cache(50_000)
def without_marks(word: str) -> str:
    """Return a word without its marks, for who does not type them."""
    if word.isascii():
        return word
    apart = unicodedata.normalize("NFD", word)
    kept = "".join(one for one in apart if unicodedata.category(one) != "Mn")
    # of some scripts the marks are all there is of a vowel
    return unicodedata.normalize("NFC", kept.translate(PLAIN)) or word


def _stemmer(name: str) -> Callable[[str], str]:
    """Return what makes stems; it is of one thread, as the crew is."""
    # it takes 0.1 s, and only crews that remember need it
    snowball = importlib.import_module("snowballstemmer")
    if name not in snowball.algorithms():
        return str
    stem: Callable[[str], str] = snowball.stemmer(name).stemWord
    # slow: 0.1 ms for a word
    return lru_cache(20_000)(stem)
