"""Signals are found whatever their case, spaces and composition; bracketed with their brackets, others as whole words."""

import unicodedata
from typing import Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crew.routing.signals import Signal, find, normalize


@pytest.mark.parametrize(
    ("signal", "text", "found"),
    [
        ("[DONE]", "all [done] now", True),
        ("[DONE]", "all done now", False),
        ("[DONE]", "[ DONE ]", True),
        ("[KẾT THÚC]", "xong. [ kết  thúc ]", True),
        ("[KẾT THÚC]", unicodedata.normalize("NFD", "[Kết thúc]"), True),
        ("[KẾT THÚC]", "[KET THUC]", False),
        ("[A B]", "[A\n\tB]", True),
        ("[A B]", "[AB]", False),
        ("DONE", "Done.", True),
        ("DONE", "it is done", True),
        ("DONE", "undone", False),
        ("DONE", "done_it", False),
        ("DONE", "abandoned, done", True),
        ("ROUTE: x", "route:   X!", True),
        ("[GROSSE]", "[GROẞE]", True),
        ("नमस्त", "नमस्ते", False),
        ("[A]", "[[A]]", True),
        ("OK!", "ok!", True),
        ("", "anything", False),
        ("[X]", "", False),
    ],
)
def test_what_is_found(signal: str, text: str, found: bool):
    """The cases of the contract."""
    assert find([Signal.of(signal)], text) == ([0] if found else [])


def test_the_order_is_that_of_the_crew():
    """Not that of the text."""
    assert find([Signal.of("[B]"), Signal.of("[A]"), Signal.of("[C]")], "[A] then [B]") == [0, 1]


words = st.text(
    st.characters(codec="utf-8", exclude_characters="[]"), min_size=1, max_size=12
).filter(lambda text: normalize(text).strip() != "")


@given(
    words,
    words,
    words,
    st.sampled_from(["upper", "lower", "title", "swapcase"]),
    st.sampled_from(["NFC", "NFD"]),
)
def test_a_bracketed_signal_is_found_in_any_form(
    inside: str, before: str, after: str, change: str, form: Literal["NFC", "NFD"]
):
    """Any case that folds back, any composition, any spaces, anything around it."""
    signal = Signal.of(f"[{inside}]")
    changed = getattr(inside, change)()
    if normalize(changed) != normalize(inside):
        changed = inside
    text = unicodedata.normalize(form, f"{before} [ {changed} ] {after}")
    assert find([signal], text) == [0]


@given(words, words)
def test_normal_form_is_stable(one: str, other: str):
    """Twice is once; and it never loses a signal's own text."""
    assert normalize(normalize(one)) == normalize(one)
    assert Signal.of(f"[{one}]").occurs(normalize(f"{other}[{one}]"))


@given(
    st.text(alphabet="ab ", min_size=1, max_size=6).filter(str.strip),
    st.text(alphabet="ab -", max_size=30),
)
def test_plain_signals_are_whole_words(signal: str, text: str):
    """Exactly where the words of the signal stand as words of the text."""
    wanted, have = signal.split(), normalize(text).replace("-", " - ").split()
    expected = any(have[n : n + len(wanted)] == wanted for n in range(len(have)))
    assert bool(find([Signal.of(signal)], text)) == expected
