"""The files of vocabularies."""

import pytest

from agents.outputs.vocabularies import (
    AliasTwiceError,
    Vocabulary,
    VocabularyError,
    read_vocabulary,
)

CSV = "﻿symbol, name ,other\nNVDA,Nvidia,\nFPT,FPT Corp,fpt\n\n"


def read(text: str, column: str = "symbol", *aliases: str) -> dict[str, str]:
    return read_vocabulary(text, is_csv=True, column=column, aliases=aliases)


def test_values_and_aliases_have_the_spelling_of_the_file():
    words = Vocabulary("v", read(CSV, "symbol", "name", "other"))
    assert [words.find(text) for text in ("nvda", " NVIDIA ", "fpt  corp", "fpt", "xyz")] == [
        "NVDA",
        "NVDA",
        "FPT",
        "FPT",
        None,
    ]


def test_a_text_has_a_value_in_each_line():
    found = read_vocabulary("Đà Nẵng\n\n  Hà Nội \n", is_csv=False, column=None, aliases=[])
    words = Vocabulary("v", found)
    assert words.find("đà nẵng") == "Đà Nẵng"
    # marks count
    assert words.find("ha noi") is None


@pytest.mark.parametrize(
    ("text", "column", "words", "key", "line"),
    [
        (CSV, "symbl", "no column 'symbl'", "column", 1),
        ("", "symbol", "no column", "column", 1),
        ("symbol\n\n", "symbol", "no value", "", 1),
        ('symbol\n"a\n', "symbol", "no CSV", "", 1),
        ("symbol\n" + "\n".join(map(str, range(200_001))), "symbol", "200,000", "", 200_002),
    ],
)
def test_a_wrong_file_says_where(text: str, column: str, words: str, key: str, line: int):
    with pytest.raises(VocabularyError, match=words) as raised:
        read(text, column)
    assert (raised.value.key, raised.value.line) == (key, line)


def test_a_column_has_a_near_name():
    with pytest.raises(VocabularyError) as raised:
        read(CSV, "symbol", "nam")
    assert (raised.value.key, raised.value.suggestion) == ("aliases", "name")


def test_an_alias_means_one_value():
    with pytest.raises(AliasTwiceError, match="'a' means X already, and Y here") as raised:
        read("symbol,name\nX,A\nY,a\n", "symbol", "name")
    assert raised.value.line == 3
    # nor is it another's value
    with pytest.raises(AliasTwiceError):
        read("symbol,name\nX,y\nY,\n", "symbol", "name")
