"""What tokens cost: exact, and rounded up once a call."""

from decimal import Decimal
from fractions import Fraction
from math import ceil

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agents.costs.prices import FREE, Prices, Rates, priced
from agents.costs.shape import PricesConfig
from agents.costs.usage import NO_USAGE, Usage
from agents.dialects.counts import counted_usage

prices = st.decimals(0, 1000, places=6, allow_nan=False)
tokens = st.integers(0, 10**7)


@st.composite
def usages(draw: st.DrawFn) -> Usage:
    """What providers may say, within its sums."""
    read, write, other = draw(tokens), draw(tokens), draw(tokens)
    thought, said = draw(tokens), draw(tokens)
    return Usage(
        read + write + other,
        thought + said,
        thinking_tokens=thought,
        cache_read_tokens=read,
        cache_write_tokens=write,
    )


@given(usages(), prices, prices, prices, prices, prices, prices)
def test_a_call_is_rounded_up_once(
    usage: Usage,
    inp: Decimal,
    out: Decimal,
    read: Decimal,
    write: Decimal,
    thought: Decimal,
    request: Decimal,
):
    """Each token counts once, by its own price, in whole nano-dollars."""
    rates = Rates(inp, out, read, write, thought, request)
    plain = usage.prompt_tokens - usage.cache_read_tokens - usage.cache_write_tokens
    exact = sum(
        (
            plain * Fraction(inp),
            usage.cache_read_tokens * Fraction(read),
            usage.cache_write_tokens * Fraction(write),
            (usage.completion_tokens - usage.thinking_tokens) * Fraction(out),
            usage.thinking_tokens * Fraction(thought),
        ),
        Fraction(0),
    )
    assert rates.nanos(usage) == ceil(exact * 1000 + Fraction(request) * 10**9)


@given(st.lists(st.tuples(tokens, tokens), max_size=30), prices, prices)
def test_sums_are_exact(calls: list[tuple[int, int]], inp: Decimal, out: Decimal):
    """To the nano-dollar, however many calls there are."""
    known = Prices(Rates(inp, out), "models")
    total = sum((priced(Usage(*one), known) for one in calls), NO_USAGE)
    nanos = sum(known.nanos(Usage(*one)) for one in calls if sum(one))
    assert round(total.cost_usd * 10**9) == nanos
    assert total.unpriced == 0


def test_much_input_has_other_prices():
    """All tokens of the call, from one token more on."""
    known = PricesConfig.model_validate(
        {
            "input": 1,
            "output": 2,
            "above": [
                {"input": 1000, "prices": {"input": 10, "output": 20}},
                {"input": 100, "prices": {"input": 3, "output": 4}},
            ],
        }
    ).prices("models")
    assert known.nanos(Usage(100, 10)) == (100 + 20) * 1000
    assert known.nanos(Usage(101, 10)) == (303 + 40) * 1000
    assert known.nanos(Usage(1001, 10)) == (10010 + 200) * 1000


def test_an_unknown_price_is_not_zero():
    """It is counted; what was never sent has no price to know."""
    assert priced(Usage(1, 1), None).unpriced == 1
    assert priced(NO_USAGE, None).unpriced == 0
    assert priced(Usage(1, 1), FREE) == Usage(1, 1)
    assert priced(NO_USAGE, Prices(Rates(request=Decimal(1)), "models")) == NO_USAGE
    both = priced(Usage(1, 1), None) + priced(Usage(1, 1), None)
    assert both.cost_document() == {"usd": 0.0, "unpriced": 2, "estimated": 0}


@pytest.mark.parametrize(
    "given",
    [
        {},
        {"input": 0},
        {"input": 0, "output": 0},
        {"input": 0, "output": 0, "cache_read": 0, "thinking": 0},
        {"free": True, "input": 1},
        {"input": "nan"},
        {"input": -1},
        {"input": "inf"},
        {"input": 1, "above": [{"input": 0}]},
    ],
    ids=str,
)
def test_prices_that_say_nothing_are_refused(given: dict[str, object]):
    """A price of 0 is said by `free`."""
    with pytest.raises(ValueError):
        PricesConfig.model_validate(given)


@pytest.mark.parametrize(
    ("prompt", "completion"),
    [
        (0, 0),
        (-1, 5),
        (5, -1),
        (None, None),
        (10**12, 5),
        ("many", 5),
        ([], 5),
        (float("nan"), 1),
        (float("inf"), 1),
        (True, 1),
        (10**400, 1),
        ("9" * 30, 1),
    ],
    ids=lambda one: str(one)[:20],
)
def test_an_impossible_usage_is_none(prompt: object, completion: object):
    """So that the answer is counted by us."""
    assert counted_usage(prompt, completion).total_tokens == 0


@pytest.mark.parametrize(
    ("parts", "expected"),
    [
        ({"cache_read": 99}, {"cache_read_tokens": 10}),
        ({"cache_read": 7, "cache_write": 7}, {"cache_read_tokens": 7, "cache_write_tokens": 3}),
        ({"thinking": 99}, {"thinking_tokens": 5}),
        ({"cache_read": -3, "thinking": "x"}, {}),
    ],
    ids=str,
)
def test_parts_stay_within_their_sums(parts: dict[str, object], expected: dict[str, int]):
    """No token counts twice, whatever a provider says."""
    assert counted_usage(10, "5", **parts) == Usage(10, 5, **expected)
