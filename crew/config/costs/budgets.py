"""The budgets of a crew, as its files say them."""

from agents.costs.prices import nanos_of
from crew.budgets.rules import Act, Budget, BudgetLimits
from crew.config.crew_files import CrewFiles
from crew.config.keys.budgets import BudgetConfig, OtherModel, thousandths
from crew.config.keys.crew_file import CrewConfig
from crew.config.routing_plan import file_line


def budgets_of(files: CrewFiles) -> tuple[Budget, ...]:
    """Return the budgets of crew.yaml."""
    crew = files.crew
    if crew is None:
        return ()
    return tuple(
        budget_of(name, one, file_line(files.crew_document, ("budgets", name)))
        for name, one in crew.budgets.items()
    )


def budget_of(name: str, config: BudgetConfig, source: str) -> Budget:
    """Return a budget; `source`: where the files say it."""
    act: Act = "model" if isinstance(config.then, OtherModel) else config.then
    nanos = None if config.usd is None else nanos_of(config.usd)
    return Budget(
        name,
        config.scope,
        config.per or "total",
        BudgetLimits(nanos, config.tokens, config.calls),
        source,
        frozenset(config.agents),
        frozenset(config.models),
        tuple(sorted(map(thousandths, config.warn))),
        act,
        config.then.model if isinstance(config.then, OtherModel) else "",
        config.reserve,
        config.wait_seconds,
    )


def other_models(crew: CrewConfig, agent_id: str) -> list[str]:
    """Return the models that budgets may give to an agent in place of its own."""
    found = [
        one.then.model
        for one in crew.budgets.values()
        if isinstance(one.then, OtherModel) and (not one.agents or agent_id in one.agents)
    ]
    return [name for name in dict.fromkeys(found) if name in crew.models]
