"""What an item of recall memory may hold."""

import math

import pytest

from crew.memory.recall import (
    RecallError,
    checked_importance,
    checked_key,
    checked_text,
    checked_topics,
)


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
