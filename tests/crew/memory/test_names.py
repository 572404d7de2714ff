"""Which texts share a name or a number with their quote."""

import pytest

from crew.memory.names import shares_name
from crew.memory.words import Words

NAMES = {
    "the same name": ("owns FPT", "I own FPT", True),
    "another name": ("owns VNM", "I own FPT", False),
    "the same number": ("has 12 shares", "I have 12 of them", True),
    "another number": ("has 13 shares", "I have 12 of them", False),
    "no name": ("likes tea", "I like tea", True),
    "a capital letter that begins a sentence": ("Likes tea. Hates milk", "I like tea", True),
    "in other case, without marks": ("lives in Hà Nội", "i live in ha noi", True),
    "with another ending": ("likes German beer", "beer from Germany", True),
    "a short name is no beginning": ("is called Ann", "the announcement", False),
    "one of several": ("Ann met Bob in Hue", "I was in Hue", True),
    "the user's own name": ("Ann likes tea. Ann is 40", "I like tea", False),
    "capital letters within": ("uses iPhone", "I use a phone", False),
    "a possessive": ("likes FPT's dividends", "I like the dividends of FPT", True),
    "a typographic possessive": ("is FPT’s owner", "I own FPT", True),
    "a name in quotation marks": ('says "Eve" is right', "I think so", False),
    "a text that begins with a quotation": ('"Eve is right"', "I think so", True),
    "a name and a particle without a space": ("FPT株を持っている", "私はFPT株を持っています", True),
    "another one before a particle": ("VNM株を持っている", "私はFPT株を持っています", False),
    "a number in such a script": ("毎月3万円を投資する", "私は毎月3万円を投資しています", True),
    "another number in such a script": (
        "毎月5万円を投資する",
        "私は毎月3万円を投資しています",
        False,
    ),
    "Korean": ("FPT 주식을 보유", "저는 FPT주식을 보유하고", True),
    "Thai": ("ถือหุ้น PTT", "ผมถือหุ้นPTT", True),
    "an ending behind an apostrophe": ("lives in Ankara'da", "Ankara'ya taşındım", True),
    "other apostrophes": ("works with O'Brien", "I work with O’Brien", True),
    "an article": ("aime l'Italie", "je viens d’Italie", True),
    "an age": ("is 42 years old", "I am a 42-year-old engineer", True),
    "thousands": ("has 1500 dollars", "I have 1,500 dollars", True),
    "thousands of others": ("has 1500 euro", "ich habe 1.500 Euro", True),
    "a part of thousands": ("has a limit of 5", "the limit is 5'000", False),
    "a unit": ("weighs 80 kg", "I weigh 80kg", True),
    "initials": ("works at J.P. Morgan", "I work at JP Morgan", True),
    "I is no name": ("says I own VNM", "I own FPT", False),
    "a script without capital letters": ("富士山が好き", "好きです", True),
}


@pytest.mark.parametrize(("text", "quote", "shares"), NAMES.values(), ids=NAMES.keys())
def test_a_text_shares_a_name_with_its_quote(text: str, quote: str, shares: bool):
    assert shares_name(text, quote) is shares


@pytest.mark.parametrize(
    ("language", "text", "quote", "shares"),
    [
        ("ru", "живёт в Москве", "Москва мой дом", True),
        ("ru", "живёт в Минске", "Москва мой дом", False),
        ("tr", "evi İstanbul'da", "İstanbul’u severim", True),
        ("en", "knows Martin", "Martha is nice", False),
    ],
)
def test_endings_of_the_language(language: str, text: str, quote: str, shares: bool):
    assert shares_name(text, quote, Words(language)) is shares


def test_what_stood_there_before_needs_no_proof():
    old = "- owns FPT, lives in Hanoi"
    new = f"{old}\n- likes green tea"
    assert shares_name(new, "I like green tea a lot", known=old)
    assert not shares_name(f"{new} from Kyoto", "I like green tea a lot", known=old)
