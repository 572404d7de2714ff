"""Lists of prices that others keep: what is in no known form is said, never guessed."""

import json
from pathlib import Path
from typing import Any

import pytest

from agents.costs.usage import NO_USAGE
from agents.dialects.counts import counted_usage
from crew.config.costs.lists import NoList, list_in


def genai(prices: Any, **more: Any) -> list[dict[str, Any]]:
    return [{"id": "p", "models": [{"id": "m", "prices": prices} | more]}]


@pytest.mark.parametrize(
    "data",
    [
        {"m": {"input_cost_per_token": True}},
        {"m": {"input_cost_per_token": "1e-6", "output_cost_per_token": 1e-6}},
        {"m": {"input_cost_per_token": [1]}},
        [{"id": "p", "models": None}],
        [{"id": "p", "models": ["x"]}],
        genai({"input_mtok": "abc"}),
        genai({"input_mtok": {"base": 1}}),
        genai(["x"]),
        genai({}, id="n", match={"regex": "("}),
        genai([{"constraint": {"start_date": "no day"}, "prices": {"input_mtok": 1}}]),
    ],
    ids=str,
)
def test_a_list_in_no_known_form(data: Any, tmp_path: Path):
    path = tmp_path / "list.json"
    path.write_text(json.dumps(data))
    with pytest.raises(NoList, match=r"no form that is known|is no price"):
        list_in(path).find("p", "", "m")


@pytest.mark.parametrize(
    ("prices", "expected"),
    [
        ({"input_mtok": 1, "output_mtok": 2}, {"input": 1.0, "output": 2.0}),
        # what is not said is no 0
        ({"input_mtok": 1}, None),
        ({"input_mtok": 0, "output_mtok": 0}, {"free": True}),
        (
            {"input_mtok": 1, "output_mtok": 1, "requests_kcount": 12},
            {"input": 1.0, "output": 1.0, "request": 0.012},
        ),
        (
            [
                {"prices": {"input_mtok": 1, "output_mtok": 1}},
                {
                    "constraint": {"start_date": "2999-01-01"},
                    "prices": {"input_mtok": 50, "output_mtok": 50},
                },
            ],
            {"input": 1.0, "output": 1.0},
        ),
        # cheaper at night
        (
            [
                {"prices": {"input_mtok": 2, "output_mtok": 2}},
                {
                    "constraint": {"start_time": "00:30:00Z", "end_time": "08:30:00Z"},
                    "prices": {"input_mtok": 1, "output_mtok": 1},
                },
            ],
            {"input": 2.0, "output": 2.0},
        ),
    ],
    ids=str,
)
def test_the_prices_of_today(prices: Any, expected: Any, tmp_path: Path):
    """Of those that depend on the hour the dearest; what a request costs is a part of it."""
    path = tmp_path / "list.json"
    path.write_text(json.dumps(genai(prices)))
    assert list_in(path).find("p", "", "m") == expected


def test_a_model_of_vectors_writes_nothing(tmp_path: Path):
    path = tmp_path / "list.json"
    path.write_text(json.dumps(genai({"input_mtok": 1}, id="text-embedding-4")))
    assert list_in(path).find("p", "", "text-embedding-4") == {"input": 1.0, "output": 0.0}


@pytest.mark.parametrize(
    "usage", [(None, 5), (10, None), (None, None), (True, 5), (-1, 5), (10**12, 5)], ids=str
)
def test_half_a_usage_is_none(usage: tuple[Any, Any]):
    """The answer is counted by us then: a sum that is missing is not zero."""
    assert counted_usage(*usage) is NO_USAGE


@pytest.mark.parametrize(
    ("entry", "expected"),
    [
        # one of the two is not known, and no 0
        ({"input_cost_per_token": 1e-6}, None),
        ({"input_cost_per_token": None, "output_cost_per_token": 1e-6}, None),
        ({"input_cost_per_token": 1e-6, "mode": "embedding"}, {"input": 1.0, "output": 0.0}),
        ({"input_cost_per_token": 0.0, "output_cost_per_token": 0.0}, {"free": True}),
    ],
)
def test_what_litellm_does_not_say(entry: Any, expected: Any, tmp_path: Path):
    path = tmp_path / "list.json"
    path.write_text(json.dumps({"p/m": entry}))
    assert (list_in(path).find("p", "", "m") or None) == expected
