"""The estimate of tokens: beside a real tokenizer, and corrected by what providers count."""

from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agents.model import ShownMessage
from agents.tokenizing.tokens import ESTIMATE, TokenRatios, count_tokens
from tests.agents.texts import TEXTS
from tools import ToolCall

bpe_openai = pytest.importorskip("bpe_openai", reason="bpe-openai is not installed")


@pytest.fixture(scope="module")
def o200k():
    return bpe_openai.get_encoding("o200k_base")


@pytest.mark.parametrize("kind", TEXTS)
def test_the_estimate_is_near_the_count(kind: str, o200k):
    """0.7 to 1.35 of it, for prose in ten languages, code, data, logs."""
    counted = len(o200k.encode(TEXTS[kind]))
    assert 0.7 <= count_tokens(TEXTS[kind]) / counted <= 1.35


@given(st.text())
def test_no_character_is_more_than_a_token(text: str):
    """So a short conversation need not be counted; and parts are about their whole."""
    assert 0 <= count_tokens(text) <= len(text) * ESTIMATE.max_per_character


def test_calls_count():
    """By their names and arguments, beside the text of the message."""
    call = ToolCall("c", "Ping", {"host": "db"})
    assert ShownMessage("assistant", "").tokens == 4
    called = ShownMessage("assistant", "", (call,))
    assert called.tokens == 4 + 1 + count_tokens('{"host":"db"}')


@pytest.mark.parametrize(("counted", "believed"), [(1500, 1.5), (10, 0.5), (90_000, 3.0)])
def test_providers_are_believed_from_the_third_answer_on(counted: int, believed: float):
    """Within bounds; each model at each provider by itself."""
    ratios, endpoint = TokenRatios(), ("far", "m")
    for answers in range(3):
        assert ratios.of(endpoint) == 1, answers
        ratios.learn(endpoint, counted, lambda: 1000)
    assert ratios.of(endpoint) == pytest.approx(believed)
    assert ratios.of(("near", "m")) == 1
    assert ratios.known == {endpoint: pytest.approx(believed)}


@given(st.lists(st.integers(0, 10**6), min_size=3))
def test_the_ratio_stays_within_its_bounds(counts: list[int]):
    """Whatever a provider says; nothing (0) is no count."""
    ratios = TokenRatios()
    for counted in counts:
        ratios.learn(("p", "m"), counted, lambda: 700)
    assert 0.5 <= ratios.of(("p", "m")) <= 3


def test_one_that_counts_otherwise_is_within_15_percent_after_three_answers(o200k):
    """Here o200k, over texts that lie farther off than that."""
    endpoint = ("far", "m")
    for kind in ("base64", "YAML", "ps aux"):
        fresh = TokenRatios()
        counted = len(o200k.encode(TEXTS[kind]))
        for _ in range(3):
            fresh.learn(endpoint, counted, partial(count_tokens, TEXTS[kind]))
        assert fresh.of(endpoint) * count_tokens(TEXTS[kind]) == pytest.approx(counted, rel=0.15)
