"""A text in pieces: nothing is lost, none is too large, and they are cut where a reader would."""

from itertools import pairwise

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from agents.tokenizing.tokens import count_tokens
from crew.documents.cuts import CutRule, TooManyPieces, cut_text

WORDS = st.sampled_from(
    [
        "stop",
        "loss.",
        "Rủi",
        "ro!",
        "規則",
        "一二三四五。",
        "\n\n",
        "\n",
        "# Rules\n",
        "## A\n",
        " ",
        "x" * 300,
    ]
)


@settings(max_examples=150, deadline=None)
@given(st.lists(WORDS, max_size=200), st.integers(20, 200), st.integers(0, 10))
@example(
    [*["stop"] * 6, "loss.", "規則", *["\n\n"] * 6, *["# Rules\n"] * 3, "## A\n", "規則"], 20, 0
)
@example(["stop", *["\n\n"] * 200, "loss."], 20, 10)
def test_every_character_is_in_a_piece(words: list[str], tokens: int, overlap: int):
    """White space aside; in order, with no more overlap than wanted, and of the right size."""
    text = " ".join(words)
    rule = CutRule(tokens, overlap)
    pieces = cut_text(text, [], rule)
    covered = [False] * len(text)
    for one in pieces:
        assert one.start < one.end
        assert not text[one.start].isspace()
        # an estimate of parts is a little less than that of the whole
        assert count_tokens(text[one.start : one.end]) <= 1.3 * tokens + 4
        covered[one.start : one.end] = [True] * (one.end - one.start)
    assert all(is_in or text[place].isspace() for place, is_in in enumerate(covered))
    starts = [one.start for one in pieces]
    assert starts == sorted(set(starts))
    for one, following in pairwise(pieces):
        shared = text[following.start : one.end]
        # the same is true of what two pieces share, which is cut by words
        assert count_tokens(shared) <= 1.3 * overlap + 4


def test_places_are_headings_or_marks():
    text = "# One\n\n" + "first words. " * 60 + "\n\n## Two\n\n" + "second words. " * 60
    pieces = cut_text(text, [], CutRule(100, 0))
    assert pieces[0].place == "One"
    two = next(one for one in pieces if one.place == "Two")
    assert text[two.start :].startswith("## Two")
    marked = cut_text(text, [(0, "page 1"), (text.index("## Two"), "page 2")], CutRule(100, 0))
    found = [one.place for one in marked]
    assert (found[0], found[-1]) == ("page 1", "page 2")
    assert set(found) <= {"page 1", "page 1 to 2", "page 2"}
    (whole,) = cut_text("one\n\ntwo", [(0, "page 1"), (5, "page 2")], CutRule(100, 0))
    assert whole.place == "page 1 to 2"


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("# Hours\n\nNine.\n\n# Refunds\n\nThirty days.", "Hours to Refunds"),
        # what is below a heading is a part of it
        ("# Rules\n\n## Hours\n\nNine.\n\n## Refunds\n\nThirty days.", "Rules"),
        ("## Hours\n\nNine.\n\n# Annex\n\n## Prices\n\nTen.", "Hours to Annex"),
        ("before\n\n# Hours\n\nNine.", ""),
        (
            "# Return policy\n\nTen.\n\n# Return shipping\n\nTen.",
            "Return policy to Return shipping",
        ),
        ("# Chapter 1\n\nTen.\n\n# Chapter 2\n\nTen.", "Chapter 1 to 2"),
        ("# Hours\n\nNine.\n\n# Hours\n\nTen.", "Hours"),
    ],
)
def test_a_piece_of_several_headings(text: str, place: str):
    """A citation does not name the heading before its words."""
    (piece,) = cut_text(text, [], CutRule(400, 50))
    assert piece.place == place


def test_the_end_of_one_begins_the_next():
    text = "\n\n".join(f"Paragraph {number} has some words of its own." for number in range(40))
    pieces = cut_text(text, [], CutRule(60, 15))
    assert all(two.start < one.end for one, two in pairwise(pieces))
    apart = cut_text(text, [], CutRule(60, 0))
    assert all(two.start >= one.end for one, two in pairwise(apart))


def test_there_may_be_too_many():
    try:
        cut_text("word " * 1000, [], CutRule(20, 0, most=10))
    except TooManyPieces:
        return
    raise AssertionError("more than 10 pieces")
