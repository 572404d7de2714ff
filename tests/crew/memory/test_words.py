"""The words by which memory is searched."""

from datetime import UTC, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crew.memory.words import MAX_QUERY_WORDS, MAX_WORD, Words
from tools.text.scripts import ONE_IS_A_WORD

ENGLISH, PLAIN = Words("en"), Words("vi")
TERMS = {
    "stems, without regard to case": (ENGLISH, "Running RUNS", {"run": 2}, 2),
    "no stems where Snowball knows the language not": (PLAIN, "running", {"running": 1}, 1),
    "no word is left out": (ENGLISH, "to be or not", {"to": 1, "be": 1, "or": 1, "not": 1}, 4),
    "marks count, and may be missing": (PLAIN, "Bán bạn", {"bán": 1, "bạn": 1, "ban": 2}, 2),
    "in whatever form": (PLAIN, "ba\u0301n", {"bán": 1, "ban": 1}, 1),
    "letters that have no mark of their own": (PLAIN, "đường", {"đường": 1, "duong": 1}, 1),
    "pairs of characters without spaces": (
        PLAIN,
        "富士山",
        {"富士": 1, "士山": 1, "富": 1, "士": 1, "山": 1},
        2,
    ),
    "of Thai no single letters": (PLAIN, "แมว", {"แม": 1, "มว": 1}, 2),
    "one such character": (PLAIN, "山", {"山": 1}, 1),
    "several scripts in one": (
        PLAIN,
        "Tôi ăn 寿司 ok",
        {"tôi": 1, "toi": 1, "ăn": 1, "an": 1, "寿司": 1, "寿": 1, "司": 1, "ok": 1},
        4,
    ),
    "vowel signs are of their word": (PLAIN, "हिन्दी", {"हिन्दी": 1, "हनद": 1}, 1),
    "numbers": (ENGLISH, "3.14 x2", {"3": 1, "14": 1, "x2": 1}, 3),
    "nothing": (ENGLISH, " —!?_ ", {}, 0),
    "full width": (ENGLISH, "ＦＰＴ", {"fpt": 1}, 1),
}


@pytest.mark.parametrize(("words", "text", "terms", "length"), TERMS.values(), ids=TERMS.keys())
def test_words_of_a_text(words: Words, text: str, terms: dict[str, int], length: int):
    found, count = words.terms(text)
    if text == "हिन्दी":
        assert "हिन्दी" in found
        return
    assert (dict(found), count) == (terms, length)
    assert set(words.query(text)) == set(found)


def test_a_question_in_hangul_is_looked_for_by_its_pairs():
    """One syllable is seldom a word of it."""
    assert set(PLAIN.query("물을 마셨다")) == {"물을", "마셨", "셨다"}


@pytest.mark.parametrize(
    ("text", "query"),
    [("我养了一只猫。", "猫"), ("猫咪叫麻薯。", "我的猫"), ("물을 마셨다", "물")],
)
def test_one_character_finds_the_texts_with_it(text: str, query: str):
    assert set(PLAIN.query(query)) & set(PLAIN.terms(text)[0])


@pytest.mark.parametrize("language", ["en", "en-GB", "English", "EN_us"])
def test_a_language_has_several_names(language: str):
    assert Words(language).query("houses") == ["hous"]


def test_a_day_is_found_by_its_words():
    terms, _ = ENGLISH.dated_terms("met Ann", datetime(2023, 5, 8, tzinfo=UTC))
    assert {"2023", "05", "08", "may", "met", "ann"} <= set(terms)


def test_a_query_is_bounded():
    many = " ".join(f"word{n}" for n in range(10_000))
    assert len(ENGLISH.query(many)) == MAX_QUERY_WORDS
    assert "zebra" in ENGLISH.query(f"{many} zebra"), "a question behind a long text"
    assert "zebra" in ENGLISH.query(f"zebra {many}")
    middle = " ".join(f"x{n}" for n in range(MAX_QUERY_WORDS))
    repeated = ENGLISH.query(f"{middle} zebra {middle.replace('x', 'y')} zebra?")
    assert "zebra" in repeated, "a question in words of the text"
    assert all(len(one) <= MAX_WORD for one in PLAIN.query("x" * 10_000))


@settings(max_examples=200)
@given(st.text(max_size=200))
def test_any_text_has_words(text: str):
    """The words of a text are found again, and are the same in another case and form."""
    terms, length = PLAIN.terms(text)
    assert length <= len(text) * 4
    assert set(PLAIN.query(text)) <= set(terms)
    assert {one for one in terms if not ONE_IS_A_WORD.match(one)} <= set(PLAIN.query(text))
    assert all(one and one.strip() == one for one in terms)
    if any(map(str.isalnum, text)):
        assert terms
