"""What an item of recall memory may hold."""

import math

import pytest

from crew.memory.recall import (
    RecallError,
    checked_importance,
    checked_key,
    checked_text,
    checked_topics,
    shares_name,
)

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
    "a script without capital letters": ("富士山が好き", "好きです", True),
}


@pytest.mark.parametrize(("text", "quote", "shares"), NAMES.values(), ids=NAMES.keys())
def test_a_text_shares_a_name_with_its_quote(text: str, quote: str, shares: bool):
    assert shares_name(text, quote) is shares


def test_texts_that_are_kept():
    assert checked_text("  a\n b ") == "a b"
    assert checked_text("x" * 500) == "x" * 500
    assert checked_text("</context> [SIGNAL] {{name}}") == "</context> [SIGNAL] {{name}}"
    for wrong in ("", " ", "—!?", "x" * 501, "a\0b", "a\u202eb\x07"):
        with pytest.raises(RecallError):
            checked_text(wrong)


def test_keys_topics_and_importance():
    assert checked_key(" home  town ") == "home town"
    assert checked_topics(["Tea", "tea ", "", "milk"]) == ("tea", "milk")
    assert checked_importance(1) == 1.0
    for wrong in (math.nan, -0.1, 1.1, math.inf):
        with pytest.raises(RecallError):
            checked_importance(wrong)
    for topics in (["x" * 61], [str(n) for n in range(11)], ["a\x07"]):
        with pytest.raises(RecallError):
            checked_topics(topics)
    for key in ("x" * 101, "a\x07b"):
        with pytest.raises(RecallError):
            checked_key(key)
