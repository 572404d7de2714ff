"""Which models need a price, wherever the files name them."""

from pathlib import Path
from typing import Any

from crew import check
from crew.config.costs.prices import used_models
from tests.support.crews import write_crew

PRICES = {"input": 1, "output": 2}
DAY = {"scope": "crew", "per": "day", "usd": 2}


def written(folder: Path, **crew: Any) -> Path:
    models = {"big": {"provider": "gw", "prices": PRICES}, **crew.pop("models", {})}
    keys: dict[str, Any] = {"providers": {"gw": {"base_url": "http://127.0.0.1:9/v1"}}}
    agents = {"a": {"model": "big", "provider": "gw", "is_terminal": True}}
    return write_crew(folder, agents, models=models, **keys, **crew)


def test_models_of_helpers_and_of_budgets(tmp_path: Path):
    """They are called, too: a budget in USD needs their prices, and lists show them."""
    crew: dict[str, Any] = {
        "conversations": {},
        "models": {"tiny": {"provider": "gw", "model": "tiny-model"}},
        "helpers": {"title": {"model": "tiny"}},
    }
    found = check(written(tmp_path, budgets={"day": DAY}, **crew))
    (problem,) = [one for one in found.problems if one.code == "unpriced-budget"]
    assert "gw/tiny-model" in problem.message
    assert "helper title" in problem.message
    listed = {one.model: (one.alias, one.agents) for one in used_models(found.files)}
    assert listed["tiny-model"] == ("tiny", ("helper-title",))
    crew["models"] = {"tiny": {"provider": "gw", "model": "tiny-model", "prices": PRICES}}
    del crew["helpers"]
    budgets = {"day": {**DAY, "then": {"model": "tiny"}}}
    listed = {
        one.model: (one.alias, one.agents)
        for one in used_models(check(written(tmp_path, budgets=budgets, **crew)).files)
    }
    assert listed["tiny-model"] == ("tiny", ("budget day",))


def test_a_helper_has_the_prices_of_the_entry_agent(tmp_path: Path):
    """It is made as that one: where that says what its tokens cost, nothing is missing."""
    own = {"input_token_price_per_million": 1, "output_token_price_per_million": 2}
    agents = {"a": {"model": "big", "provider": "gw", "is_terminal": True, "cost_limits": own}}
    folder = write_crew(
        tmp_path,
        agents,
        providers={"gw": {"base_url": "http://127.0.0.1:9/v1"}},
        conversations={},
        helpers={"title": {"model": "tiny"}},
        budgets={"day": DAY},
    )
    assert [one for one in check(folder).problems if one.code == "unpriced-budget"] == []


def test_two_steps_at_the_same_input(tmp_path: Path):
    """Are a mistake with its line; in another order they are none."""
    step = {"input": 100, "prices": PRICES}
    dear = {"input": 50, "prices": {"input": 5, "output": 9}}
    for above, count in (([step, step], 1), ([step, dear], 0)):
        models = {"big": {"provider": "gw", "prices": {**PRICES, "above": above}}}
        problems = check(written(tmp_path, models=models)).problems
        errors = [one for one in problems if one.severity == "error"]
        assert len(errors) == count, problems
        assert all("same input" in one.message for one in errors)
