"""Which passages an answer cites, in the ways in which models write it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crew.journal.remembered.sources import cited_numbers

CITES: list[tuple[str, set[int]]] = [
    ("By the rule [1].", {1}),
    ("By the rule[1][3].", {1, 3}),
    ("By both [1, 3] and [2; 4].", {1, 2, 3, 4}),
    ("By all [1-3].", {1, 2, 3}),
    ("By all [1–3], [5].", {1, 2, 3, 5}),
    ("根据规则【1】和［2］。", {1, 2}),
    ("根据[1，2、3]", {1, 2, 3}),
    ("By the rule 【1†source】.", {1}),
    ("By the rule [^1], and [1 and 2].", {1, 2}),
    ("By [1, p. 3] and [2, pages 4].", {1, 2}),
    ("See [1](#passage).", {1}),
    ('{"reply": "By the rule [2].", "scores": [1, 3]}', {2}),
    # no citations
    ("Call it with `items[1]`.", set()),
    ("```python\nprint(items[2])\n```", set()),
    ("Sorted: [1, 2, x], [3 of 4], [10:32], [1-900]", set()),
    ("[9-2]", set()),
    ("[]", set()),
    ("[1]", {1}),
]


@pytest.mark.parametrize(("answer", "numbers"), CITES)
def test_what_is_cited(answer: str, numbers: set[int]):
    assert cited_numbers(answer) == numbers


@given(st.text())
def test_any_answer_is_read(answer: str):
    assert all(one >= 0 for one in cited_numbers(answer))


@given(st.lists(st.integers(1, 999), min_size=1, max_size=9))
def test_each_number_of_a_list_is_cited(numbers: list[int]):
    assert cited_numbers(f"So [{', '.join(map(str, numbers))}].") == set(numbers)
