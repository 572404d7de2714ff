"""Scripts, by their characters."""

import re

# without width, that join or part nothing: soft hyphens, joiners, marks of direction, variants of a
# sign, tags
FORMAT = re.compile(
    "[\u00ad\u034f\u061c\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufe00-\ufe0f\ufeff"
    "\U000e0000-\U000e01ef]"
)
# without spaces between words: Han, Kana, Hangul, Thai, Lao, Khmer, Burmese
UNSPACED = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1100-\u11ff\u1780-\u17ff\u3040-\u30ff\u3130-\u318f\u3400-\u9fff"
    "\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff]"
)
# of which one is mostly a word, or half of several
HAN = re.compile("[\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]")
# of which one is often a word: Han, and the syllables of Hangul
ONE_IS_A_WORD = re.compile("[\u3400-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff]")
